"""`onetake migrate --check`: a small suite under vcrpy's own recorder and under onetake, side by side."""

from __future__ import annotations

import json

import pytest
import yaml

from onetake import proving
from onetake.cli import migrate
from onetake.testing.project import Project

pytest.importorskip("vcr")

URL = "https://api.openai.com/v1/chat/completions"
SUITE = """
import json
import os
import httpx
import onetake
import pytest
import vcr

URL = "https://api.openai.com/v1/chat/completions"

def ask(text, **more):
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    return httpx.post(URL, json=body).json()["choices"][0]["message"]["content"]

@vcr.use_cassette("tapes/same.yaml")
def test_same():
    assert ask("hi") == "one"

@vcr.use_cassette("tapes/drifted.yaml")
def test_drifted():
    assert ask("hello", temperature=0) == "one"
    assert ask("there") == "two"

@vcr.use_cassette("tapes/new.yaml")
def test_no_cassette():
    ask("hi")

def test_swallows():
    with vcr.use_cassette("tapes/same.yaml", record_mode="new_episodes"):
        assert ask("hi") == "one"
        try:
            ask("hi")
        except Exception:
            pass

@pytest.mark.skip
def test_skipped(): pass

def test_plain(): pass

@pytest.mark.cassette(contract="items")
def test_contract(): pass

def test_own():
    assert os.environ["ONETAKE_MODE"] == "none"
    with onetake.use_cassette("tapes/own", mode="all"):
        pass
"""
CONTRACT = '[contracts.items]\nschema = "schemas/items.json"\nwatch = ["test_it.py"]\n'


def _interaction(text, said, *, status=200, url=URL):
    headers = {"content-type": ["application/json"]}
    message = {"role": "assistant", "content": said}
    answer = {"object": "chat.completion", "model": "m"}
    answer["choices"] = [{"index": 0, "finish_reason": "stop", "message": message}]
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return {
        "request": {"method": "POST", "uri": url, "body": json.dumps(body), "headers": headers},
        "response": {
            "status": {"code": status, "message": "x"},
            "headers": headers,
            "body": {"string": json.dumps(answer)},
        },
    }


def _tape(*interactions):
    return yaml.safe_dump({"version": 1, "interactions": list(interactions)})


@pytest.fixture
def project(tmp_path):
    files = {
        "test_it.py": SUITE,
        "onetake.toml": CONTRACT,
        "schemas/items.json": '{"type": "object"}',
        "tapes/same.yaml": _tape(_interaction("hi", "one")),
        "tapes/drifted.yaml": _tape(_interaction("hi", "one"), _interaction("there", "two")),
    }
    plugins = "-p no:xdist -p no:hypothesispytest -p no:respx -p no:asyncio -p no:anyio -p no:pytest_cov"
    return Project(tmp_path / "project", files, {"PYTEST_ADDOPTS": plugins})


def test_it_names_what_passed_only_because_the_body_was_ignored_and_writes_nothing_there(project):
    before = {name: project.read(name) for name in project.files()}
    done = project.python("-m", "onetake", "migrate", "--check", "--json", timeout=100)
    assert done.code == 1, done.err
    proof = json.loads(done.out)
    assert {name: proof[name] for name in ("tests", "passed_before", "passed_now", "cassettes", "interactions")} == {
        "tests": 8,
        "passed_before": 6,
        "passed_now": 5,
        "cassettes": 2,
        "interactions": {"imported": 3},
    }
    (neither,) = proof["failed_both"]
    assert (neither["test"], "no interaction is stored" in neither["why"]) == ("test_it.py::test_no_cassette", True)
    (drifted,) = proof["body_ignored"]
    assert (drifted["test"], drifted["before"], drifted["now"], drifted["why"]) == (
        *("test_it.py::test_drifted", "passed", "passed", ""),
    )
    (one,) = drifted["differing"]
    assert (one["kinds"], one["position"], one["imported_from"]) == (["prompt", "parameter"], 0, "tapes/drifted.yaml")
    assert [(each["path"], each["asked"], each["stored"]) for each in one["differences"]] == [
        ("body$.messages[0].content", '"hello"', '"hi"'),
        ("body$.temperature", "0", ""),
    ]
    (swallows,) = proof["other_outcome"]
    assert (swallows["test"], swallows["before"], swallows["now"]) == ("test_it.py::test_swallows", "passed", "failed")
    assert "all have been played" in swallows["why"]
    assert {name: project.read(name) for name in project.files()} == before


def test_in_words_and_what_was_imported_already_is_taken_as_it_is(project):
    assert project.python("-m", "onetake", "import", "vcr", "tapes").code == 0
    before = {name: project.read(name) for name in project.files()}
    done = project.python("-m", "onetake", "migrate", "--check", "--", "-k", "same or drifted", timeout=100)
    assert done.code == 1, done.err
    assert done.out.splitlines() == [
        "tests                     2",
        "under their own recorder  2 passed",
        "under onetake             2 passed",
        "cassettes                 2, 2 of them imported before",
        "interactions              3 there",
        "",
        "1 test passed only because the body was ignored",
        "test_it.py::test_drifted",
        f'  prompt, parameter: POST {URL} (m, 1 message, "hello")',
        '    body$.messages[0].content: asked "hello", stored "hi"',
        "    body$.temperature: only asked: 0",
        "",
        'next: match = "legacy" in the settings: these tests pass, and are counted',
    ]
    assert {name: project.read(name) for name in project.files()} == before


def test_the_next_step_names_all_without_which_the_suite_would_not_pass(capsys):
    brought = proving.Brought(2, 0, {"imported": 2, "loose": 1}, ("127.0.0.1:9",), ("length", "status:429"))
    migrate._print(proving.Proof((proving.Test("t", proving.Comparison.SAME, "passed", "passed"),), brought))
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert said[-5:] == [
        "interactions 2 imported, 1 loose",
        'settings to add hosts = ["127.0.0.1:9"]',
        'keep = ["length", "status:429"]',
        "",
        "next: add the settings above, then `onetake import vcr --keep-bodyless`; the suite passes as it is",
    ]


@pytest.mark.whole
def test_a_suite_that_passes_as_it_is_ends_with_0(project):
    done = project.python("-m", "onetake", "migrate", "--check", "--", "-k", "same")
    assert (done.code, done.out.splitlines()[-1]) == (0, "next: `onetake import vcr`; the suite passes as it is")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["migrate"], "say --check; `onetake import vcr PATH` takes the cassettes over"),
        (["migrate", "--check", "--", "--record-mode=all"], "migrate --check records nothing"),
        (
            ["migrate", "--check", "--", "nowhere.py"],
            "pytest ended with 4, so nothing can be compared: ERROR: file or directory not found: nowhere.py",
        ),
    ],
)
def test_what_cannot_be_compared_is_an_error(project, arguments, said):
    done = project.python("-m", "onetake", *arguments)
    assert done.code == 2
    assert said in done.err

"""Recording and replaying under pytest, from the first run to the last."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest

import onetake.adapters.httpx  # noqa: F401 - as above
from onetake.testing.project import Project
from onetake.testing.provider import openai_chat, text_reply

pytest_plugins = ("pytester",)

QUICK = "-p no:hypothesispytest -p no:respx -p no:xdist -p no:pytest_cov -p no:asyncio -p no:anyio"
ASKING = """
import json, os, urllib.request
import httpx

def ask(text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    answer = httpx.post(os.environ["PROVIDER"] + "/v1/chat/completions", json=body).json()
    return answer["choices"][0]["message"]["content"]
"""


@pytest.fixture
def project(tmp_path, provider):
    files = {"pytest.ini": "[pytest]\npythonpath = .\n", "asking.py": ASKING, "onetake.toml": ""}
    return Project(tmp_path / "project", files, {"PROVIDER": provider.url, "PYTEST_ADDOPTS": QUICK})


def asks(*texts: str, then: str = "pass", marker: str = "") -> str:
    """Return a test that asks texts in order and has the answers in `got`."""
    return (
        "import pytest\nfrom asking import ask\n"
        f"@pytest.mark.cassette({marker})\ndef test_it(cassette):\n"
        f"    got = [ask(text) for text in {list(texts)!r}]\n    {then}\n"
    )


def test_br_008_five_samples_of_one_request_come_back_in_order(inner, provider):
    provider.script(openai_chat(letter) for letter in "abcde")
    inner.write("test_it.py", asks(*["same"] * 5, then="assert got == list('abcde')"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    inner().assert_outcomes(passed=1)
    assert provider.count == len(inner.files("cassettes")) == 5


def test_br_033_the_prompt_decides_and_an_unseen_one_misses(inner, provider):
    inner.write("test_it.py", asks("A", "B"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    inner.write("test_it.py", asks("B", "A", then="assert got == ['answer 2 to: B', 'answer 1 to: A']"))
    inner().assert_outcomes(passed=1)
    inner.write("test_it.py", asks("C"))
    result = inner()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*nearest: cassettes/test_it/test_it/*", '*asked "C", stored "[AB]"*'])
    assert provider.count == 2


def test_br_047_049_a_request_asked_once_too_often_says_so_and_stays_at_home(inner, provider):
    inner.write("test_it.py", asks("x"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    inner.write("test_it.py", asks("x", "x"))
    result = inner()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*this request was asked twice and recorded once*", '*repeats = "same"*'])
    assert provider.count == 1


def test_br_050_several_answers_to_one_request_by_order_or_always_the_first(inner, provider):
    provider.script(openai_chat(letter) for letter in "ab")
    inner.write("test_it.py", asks("x", "x", then="assert got == ['a', 'b']"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    inner().assert_outcomes(passed=1)
    inner.write("test_it.py", asks("x", "x", "x", then="assert got == ['a'] * 3", marker='repeats="same"'))
    inner().assert_outcomes(passed=1)
    assert provider.count == 2


@pytest.mark.parametrize("mode", ["none", "once"])
def test_br_051_a_miss_never_goes_live_in_a_finished_cassette(inner, provider, mode):
    inner.write("test_it.py", asks("known"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    inner.write("test_it.py", asks("known", "unknown"))
    inner(f"--record-mode={mode}").assert_outcomes(failed=1)
    assert provider.count == 1


def test_br_143_two_equal_new_requests_are_two_calls_and_two_entries(inner, provider):
    inner.write("test_it.py", asks("old"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    inner.write(
        "test_it.py", asks("old", "new", "new", then="assert got[1:] == ['answer 2 to: new', 'answer 3 to: new']")
    )
    inner("--record-mode=new_episodes").assert_outcomes(passed=1)
    assert provider.count == len(inner.files("cassettes")) == 3
    inner().assert_outcomes(passed=1)


def test_br_144_recording_all_anew_replaces_and_leaves_no_stale_answer(inner, provider):
    provider.script(openai_chat(text) for text in ("old x", "old y", "old x again"))
    inner.write("test_it.py", asks("x", "y", "x"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    provider.script([openai_chat("new x")])
    inner.write("test_it.py", asks("x", then="assert got == ['new x']"))
    inner("--record-mode=all").assert_outcomes(passed=1)
    (entry,) = inner.files("cassettes")
    assert '"new x"' in (inner.path / entry).read_text()
    trash = inner.files(".onetake/trash/cassettes/test_it/test_it")
    assert sorted(
        word for name in trash for word in ("old y", "old x again") if word in (inner.path / name).read_text()
    ) == [
        "old x again",
        "old y",
    ]
    inner().assert_outcomes(passed=1)
    assert provider.count == 4


@pytest.mark.parametrize(
    ("mode", "marker", "then", "outcome"),
    [
        ("all", "", "assert False", "failed"),
        ("all", "'shared'", "pass", "passed"),
        ("new_episodes", "", "pass", "passed"),
    ],
)
def test_nothing_is_trashed_by_a_failing_test_in_a_shared_cassette_or_another_mode(inner, mode, marker, then, outcome):
    inner.write("test_it.py", asks("x", "y", marker=marker))
    inner("--record-mode=once").assert_outcomes(passed=1)
    before = inner.files("shared" if marker else "cassettes")
    inner.write("test_it.py", asks("x", then=then, marker=marker))
    inner(f"--record-mode={mode}").assert_outcomes(**{outcome: 1})
    assert inner.files("shared" if marker else "cassettes") == before
    assert inner.files(".onetake/trash") == []


def test_an_entry_whose_new_answer_was_an_error_is_not_trashed(inner, provider):
    inner.write("test_it.py", asks("x"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    before = inner.files("cassettes")
    provider.script([text_reply("down", 500)])
    inner.write("test_it.py", asks(then="pytest.raises(Exception, ask, 'x')"))
    inner("--record-mode=all").assert_outcomes(passed=1)
    assert inner.files("cassettes") == before


def test_br_113_an_answer_that_breaks_its_contract_is_no_entry_and_the_next_one_is(inner, provider):
    provider.script(openai_chat(json={"n": value}) for value in ("1", 1))
    inner.write("schema.json", '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}')
    inner.write(
        "test_it.py",
        "from pathlib import Path\nimport onetake\n"
        + asks(
            then="pytest.raises(onetake.ContractError, ask, 'x')\n    assert ask('x') == '{\"n\": 1}' or ask",
            marker="contract=Path('schema.json')",
        ),
    )
    result = inner("--record-mode=once", "-s")
    result.assert_outcomes(passed=1)
    result.stderr.fnmatch_lines(["*answer refused (violation, contract schema)*", "*$.n: expected*"])
    (entry,) = [name for name in inner.files("cassettes") if "_schemas" not in name]
    assert '"n": 1' in (inner.path / entry).read_text()
    assert len([name for name in inner.files(".onetake/rejects") if "_schemas" not in name]) == 1


def test_br_114_an_answer_cut_by_length_is_no_good_entry_under_a_contract(inner, provider):
    provider.script([openai_chat('{"n": ', finish="length")])
    inner.write("schema.json", '{"type": "object"}')
    inner.write(
        "test_it.py",
        "from pathlib import Path\nimport onetake\n"
        + asks(
            then="with pytest.raises(onetake.ContractError) as caught: ask('x')\n"
            "    assert caught.value.kind == 'length'",
            marker="contract=Path('schema.json')",
        ),
    )
    inner("--record-mode=once").assert_outcomes(passed=1)
    assert [name for name in inner.files("cassettes") if "_schemas" not in name] == []


SECRET = "sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz1B4dE7gH0jK3mN6pQ9sT2v"


def _asks_with_a_secret(inner, secret):
    inner.write("secret.txt", secret)
    inner.write(
        "test_it.py",
        """
        import logging, pathlib
        import httpx
        from asking import URL, body

        def test_it(cassette):
            secret = pathlib.Path(__file__).with_name("secret.txt").read_text()
            headers = {"authorization": f"Bearer {secret}"}
            text = f"mail ada@example.com the key {secret}"
            answer = httpx.post(URL, json=body(text), headers=headers, params={"api_key": secret})
            assert answer.status_code == 200
        """,
    )


def test_br_098_a_request_with_a_secret_finds_its_entry_and_so_does_one_with_another_secret(inner, provider):
    _asks_with_a_secret(inner, SECRET)
    inner("--record-mode=once").assert_outcomes(passed=1)
    assert not any(SECRET[8:14] in path.read_text() for path in (inner.path / "cassettes").rglob("*.json"))
    inner().assert_outcomes(passed=1)
    _asks_with_a_secret(inner, SECRET[:8] + SECRET[8:].swapcase())
    inner().assert_outcomes(passed=1)
    assert provider.count == 1


@pytest.mark.parametrize("mode", ["once", "none"])
def test_br_112_no_piece_of_a_secret_is_said(inner, monkeypatch, caplog, mode):
    monkeypatch.setenv("ONETAKE_DEBUG", "1")
    _asks_with_a_secret(inner, SECRET)
    # The client's own log line names the whole URL; it is not ours to mend.
    result = inner(
        f"--record-mode={mode}", "-s", "-vv", "--log-level=DEBUG", "-o", "log_cli=true", "--log-disable=httpx"
    )
    said = result.stdout.str() + result.stderr.str()
    pieces = {SECRET[at : at + 6] for at in range(8, len(SECRET) - 6)}
    assert not [piece for piece in pieces if piece in said]
    assert ("no interaction is stored" in said) == (mode == "none")


KILLED = """
import os, sys
import onetake
from asking import ask

with onetake.use_cassette("labels"):
    for number in range(20):
        ask(f"line {number}")
        if number == 11 and "kill" in sys.argv:
            os.kill(os.getpid(), 9)
    if "new" in sys.argv:
        ask("another line")
"""


@pytest.mark.whole
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_program_keeps_what_it_has_and_the_next_run_asks_exactly_the_rest(project, provider):
    project.write({"app.py": KILLED})
    assert project.python("app.py", "kill").code == -9
    assert (provider.count, len(project.files("labels"))) == (12, 12)
    assert any(name.startswith(".onetake/making/labels/") for name in project.files())
    done = project.python("app.py")
    assert (done.code, done.err) == (0, "")
    assert (provider.count, len(project.files("labels"))) == (20, 20)
    assert project.files(".onetake") == [".onetake/.gitignore"]
    done = project.python("app.py", "new")
    assert done.code != 0
    assert "no interaction is stored for this request" in done.err
    assert provider.count == 20


def test_a_fresh_clone_of_a_half_made_cassette_never_goes_live(project, provider):
    project.write({"app.py": KILLED.replace("os.kill(os.getpid(), 9)", "os._exit(3)")})
    assert project.python("app.py", "kill").code == 3
    for name in project.files(".onetake"):
        (project.folder / name).unlink()
    done = project.python("app.py")
    assert "no interaction is stored for this request" in done.err
    assert provider.count == 12


@pytest.mark.whole
def test_a_program_that_fails_may_go_on_too(project, provider):
    project.write({"app.py": KILLED.replace("os.kill(os.getpid(), 9)", "raise SystemExit(5)")})
    assert project.python("app.py", "kill").code == 5
    assert project.python("app.py").code == 0
    assert provider.count == 20


@pytest.mark.whole
def test_in_ci_a_program_is_sealed_unless_it_says_otherwise(project, provider):
    project.write({"app.py": KILLED})
    assert project.python("app.py", env={"CI": "true"}).code != 0
    assert provider.count == 0
    assert project.python("app.py", env={"CI": "false"}).code == 0
    assert provider.count == 20


POOL = """
import multiprocessing
import pytest
import onetake
from asking import ask

def test_it(cassette):
    with multiprocessing.get_context("fork").Pool(1) as pool, cassette.expect_refusal():
        with pytest.raises(onetake.InteractionNotFound):
            pool.apply_async(ask, ("hi",)).get(30)
        with pytest.raises(onetake.InteractionNotFound):
            ask("hi")
"""


@pytest.mark.whole
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_pool_does_not_hang_on_a_refusal(project, provider):
    project.write({"test_it.py": POOL})
    done = project.pytest("-q")
    assert done.code == 0, done.out
    assert provider.count == 0


@pytest.mark.slow
@pytest.mark.whole
def test_two_workers_record_and_replay_each_test_in_its_own_cassette(project, provider):
    project.env["PYTEST_ADDOPTS"] = QUICK.replace("-p no:xdist", "-n 2")
    project.write(
        {
            "test_it.py": "import pytest\nfrom asking import ask\n"
            "@pytest.mark.cassette\n@pytest.mark.parametrize('n', range(8))\n"
            "def test_it(n):\n    assert ask(f'n {n}').endswith(f'n {n}')\n"
        }
    )
    done = project.pytest("-q", "--record-mode=once")
    assert "8 passed" in done.out
    assert provider.count == len(project.files("cassettes")) == 8
    assert "8 passed" in project.pytest("-q").out
    assert provider.count == 8


def _other_plugin(folder: Path, name: str, words: str) -> None:
    """Install a made-up distribution whose pytest plugin defines `--record-mode` as well."""
    module = f"plugin_of_{name}"
    (folder / f"{module}.py").write_text(
        "def pytest_addoption(parser):\n"
        f"    parser.getgroup('other').addoption('--record-mode', choices={words.split()!r}, default=None)\n"
    )
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[pytest11]\n{name} = {module}\n")


def _beside(project: Project, folder: Path) -> None:
    before = os.environ.get("PYTHONPATH")
    project.env["PYTHONPATH"] = os.pathsep.join([str(folder), *([before] if before else [])])


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.parametrize("name", ["recording", pytest.param("cassetter", marks=pytest.mark.whole)])
def test_another_plugins_record_mode_is_read_and_none_is_added(project, provider, tmp_path, name):
    other = tmp_path / "other"
    other.mkdir()
    _other_plugin(other, name, "none once verify rewrite")
    _beside(project, other)
    project.write({"test_it.py": asks("x")})
    for arguments, outcome in [
        (("--record-mode=verify",), "1 failed"),
        (("--record-mode=once",), "1 passed"),
        ((), "1 passed"),
        (("--record-mode=none",), "1 passed"),
        (("-p", f"no:{name}", "--record-mode=new_episodes"), "1 passed"),
    ]:
        done = project.pytest("-q", *arguments)
        assert outcome in done.out, (arguments, done.out, done.err)
    assert provider.count == 1


@pytest.mark.slow
def test_beside_pytest_recording_itself(project, provider):
    """Set ONETAKE_PYTEST_RECORDING to a folder that pytest-recording and vcrpy are installed in."""
    folder = os.environ.get("ONETAKE_PYTEST_RECORDING")
    if not folder:
        pytest.skip("ONETAKE_PYTEST_RECORDING names no folder with pytest-recording and vcrpy")
    assert any(found.name == "pytest-recording" for found in metadata.distributions(path=[folder]))
    _beside(project, Path(folder))
    project.write({"test_it.py": asks("x")})
    for arguments, outcome in [
        (("--record-mode=none",), "1 failed"),
        (("--record-mode=once",), "1 passed"),
        (("--record-mode=none",), "1 passed"),
        (("--record-mode=rewrite",), "1 passed"),
        ((), "1 passed"),
        (("-p", "no:recording", "--record-mode=none"), "1 passed"),
        (("-p", "no:recording", "--record-mode=new_episodes"), "1 passed"),
    ]:
        done = project.pytest("-q", *arguments)
        assert outcome in done.out, (arguments, done.out, done.err)
    assert provider.count == 2

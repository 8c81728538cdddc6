"""What a session hands on to other processes, and what comes back."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading

import httpx
import pytest

import onetake
from onetake import active, settings_start, starting
from onetake.model import Mode
from onetake.options import Options
from onetake.session_run import SessionRun
from onetake.settings import Settings
from onetake.testing.project import Project

FORKS = 50 if os.environ.get("ONETAKE_SWEEP") == "whole" else 15
_SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
_ASK = """
import os, sys, httpx
URL = os.environ["PROVIDER"] + "/v1/chat/completions"
for text in sys.argv[1:]:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    print(httpx.post(URL, json=body).json()["choices"][0]["message"]["content"])
"""


@pytest.fixture
def cassette(tmp_path):
    """A cassette's folder in a project of its own."""
    (tmp_path / "onetake.toml").touch()
    before = settings_start.set_start(tmp_path)
    yield tmp_path / "c"
    settings_start.set_start(before)


def ask(client, provider, text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return client.post(provider.url + "/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]


def seed():
    return json.loads(os.environ[starting.VARIABLE])


def test_the_environment_says_what_the_session_goes_by_and_nothing_afterwards(cassette, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "mine")
    monkeypatch.delenv(starting.VARIABLE, raising=False)
    rules = {"ignore": ["$.user"], "replace": [{"pattern": "a", "with": "b"}]}
    options = {"repeats": "same", "keep": ["length"], "hosts": ["h:1"], "ignore": ["i"], "max_age": {"days": 3}}
    with onetake.use_cassette(cassette, mode="none", key=rules, **options):
        found = seed()
        assert os.environ["PYTHONPATH"].split(os.pathsep) == [starting.HOOK, "mine"]
    assert (found["name"], found["mode"], found["repeats"]) == (str(cassette), "none", "same")
    assert (found["keep"], found["hosts"], found["ignore"]) == (["length"], ["h:1"], ["i"])
    assert (found["key"]["ignore"], found["key"]["replace"]) == (["$.user"], [{"pattern": "a", "with": "b"}])
    assert found["max_age"] == {"days": 3, "then": "warn"}
    assert starting.VARIABLE not in os.environ
    assert os.environ["PYTHONPATH"] == "mine"


def test_nested_sessions_hand_on_the_innermost_and_one_that_is_off_none(cassette, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with onetake.use_cassette(cassette, mode="none"):
        outer = os.environ[starting.VARIABLE]
        with onetake.use_cassette(cassette.with_name("inner"), mode="none"):
            assert seed()["name"].endswith("inner")
            with onetake.use_cassette(cassette, mode="off"):
                assert starting.VARIABLE not in os.environ
                assert starting.VARIABLE not in starting.carry({"A": "1", starting.VARIABLE: "stale"})
        assert os.environ[starting.VARIABLE] == outer
    assert starting.VARIABLE not in os.environ
    assert "PYTHONPATH" not in os.environ


@pytest.mark.parametrize(
    ("contract", "mode", "travelling"),
    [
        (onetake.Contract(_SCHEMA, name="label"), "once", 1),
        (onetake.Contract(_SCHEMA, name="label", on=lambda request: True), "none", 0),
        (onetake.Contract(int), "none", 1),
        (onetake.Contract({"enum": ["x" * 40_000]}, name="long"), "none", 0),
    ],
    ids=["schema", "callable", "type", "too-long"],
)
def test_a_child_records_only_under_contracts_that_travel_whole(cassette, contract, mode, travelling):
    with onetake.use_cassette(cassette, mode="once", contract=contract):
        found = seed()
    assert (found["mode"], len(found["contracts"])) == (mode, travelling)
    assert ("cannot judge the contract" in found.get("unrecorded", "")) == (mode == "none")
    for one in found["contracts"]:
        assert onetake.Contract(**one).digest == contract.digest


def test_an_environment_of_bytes_and_one_that_is_none_of_ours_are_carried(cassette, monkeypatch):
    monkeypatch.setenv(starting.RUN, f"{os.getpid()} folder")
    with onetake.use_cassette(cassette, mode="none"):
        carried = starting.carry({b"PYTHONPATH": b"mine", b"A": b"1"})
        assert starting.carry(None) is None  # the process's own says it already
        assert starting.carry(7) == 7  # the program's own mistake, to be told by what it is given to
    assert carried["PYTHONPATH"].split(os.pathsep) == [starting.HOOK, "mine"]
    assert carried[b"A"] == b"1"
    assert starting.carry({"PYTHONPATH": starting.HOOK, starting.VARIABLE: "{}"}) == {
        starting.RUN: f"{os.getpid()} folder",
        "PYTHONPATH": "",
    }


@pytest.mark.parametrize(
    ("option", "value", "mend"),
    [
        ("ignore", [f"h{number}.example.com/{'x' * 100}" for number in range(400)], "say it in the settings instead"),
        ("hosts", [f"h{number}.{'x' * 60}.example.com" for number in range(600)], "say it in the settings instead"),
    ],
)
def test_an_option_that_no_environment_holds_is_named_before_anything_is_asked(cassette, option, value, mend):
    before = dict(os.environ)
    with pytest.raises(onetake.UsageError, match=f"^{option}: too long for the environment.*: {mend}$"):
        onetake.use_cassette(cassette, mode="none", **{option: value}).__enter__()
    assert dict(os.environ) == before


def test_a_test_with_an_endless_id_is_told_to_shorten_it(tmp_path):
    options = Options("c", "none")
    with pytest.raises(onetake.UsageError, match=r"^test: too long .* give the test a shorter id$"):
        SessionRun(options, Settings(tmp_path), Mode.NONE, "test_x.py::test[" + "x y " * 10_000 + "]")


def test_a_session_is_handed_on_as_soon_as_it_is_open(cassette, monkeypatch):
    monkeypatch.delenv(starting.VARIABLE, raising=False)
    seen = []
    entered = active.enter

    def enter(*args, **kwargs):
        scope = entered(*args, **kwargs)
        # What a thread that starts a process just now hands on.
        thread = threading.Thread(target=lambda: seen.append(starting.carry(None) or {}))
        thread.start()
        thread.join()
        return scope

    monkeypatch.setattr(active, "enter", enter)
    with onetake.use_cassette(cassette, mode="none"):
        assert seen[0].get(starting.VARIABLE) == os.environ[starting.VARIABLE]


def test_children_record_into_the_cassette_of_a_recording_session(cassette, tmp_path, provider):
    project = Project(tmp_path, {"ask.py": _ASK})
    os_env = {"PROVIDER": provider.url}
    with onetake.use_cassette(cassette, mode="once") as session:
        subprocess.run([sys.executable, tmp_path / "ask.py", "one", "one", "two"], env=os_env, check=True)
        assert len(session.entries) == 3
    assert provider.count == 3
    with onetake.use_cassette(cassette, mode="none"):
        done = subprocess.run(
            [sys.executable, tmp_path / "ask.py", "two", "one", "one"], env=os_env, capture_output=True, text=True
        )
    assert done.stdout.split("\n") == ["answer 3 to: two", "answer 1 to: one", "answer 2 to: one", ""], done.stderr
    assert provider.count == 3
    assert not [name for name in project.files() if "children" in name]


@pytest.mark.slow
def test_what_a_childs_test_recorded_goes_into_the_cassette_when_the_test_has_passed(tmp_path, provider):
    source = """
import subprocess, sys, pytest

@pytest.mark.cassette
def test_app():
    done = subprocess.run([sys.executable, "ask.py", "one", "one"], check=True, capture_output=True, text=True)
    assert done.stdout == "answer 1 to: one\\nanswer 2 to: one\\n"
"""
    files = {"onetake.toml": "", "ask.py": _ASK, "test_app.py": source}
    project = Project(tmp_path, files, env={"PROVIDER": provider.url})
    assert project.pytest("--record-mode=once").code == 0
    assert len(project.files("cassettes")) == 2
    assert project.pytest().code == 0
    assert provider.count == 2


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_other_threads_are_at_work_never_hangs(cassette, provider, monkeypatch):
    client, stop = httpx.Client(), threading.Event()
    with onetake.use_cassette(cassette, mode="once", repeats="same"):
        ask(client, provider, "known")

    def hammer():
        while not stop.is_set():
            for text in ("known", "unknown"):
                with contextlib.suppress(onetake.Refusal):
                    ask(client, provider, text)

    before = provider.count
    with open(os.devnull, "w") as nowhere, monkeypatch.context() as patch:  # noqa: PTH123
        patch.setattr(sys, "stderr", nowhere)
        with onetake.use_cassette(cassette, mode="none", repeats="same") as session, session.expect_refusal():
            threads = [threading.Thread(target=hammer) for _ in range(2)]
            for thread in threads:
                thread.start()
            codes = [_forked(client, provider) for _ in range(FORKS)]
            stop.set()
            for thread in threads:
                thread.join()
    assert codes == [3] * FORKS
    assert provider.count == before


def _forked(client, provider):
    """Return the exit code of a forked child that asks both; -9 for one that hung."""
    ends, held_by_the_child = os.pipe()
    pid = os.fork()
    if not pid:
        code = 0
        try:
            code += ask(client, provider, "known") == "answer 1 to: known"
            ask(client, provider, "unknown")
        except onetake.Refusal:
            code += 2
        finally:
            os._exit(code)
    os.close(held_by_the_child)
    # The pipe ends with the child.
    if not select.select([ends], [], [], 30)[0]:
        os.kill(pid, 9)
    os.close(ends)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

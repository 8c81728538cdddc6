"""Where a test's entries wait: one process at a time holds a place, and none answers from what is not over."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest

from onetake import placing
from onetake.errors import InteractionNotFound
from onetake.model import Mode
from onetake.options import Options
from onetake.session_run import SessionRun
from onetake.settings import Settings

RUNNING = """
import os, sys
from pathlib import Path

import httpx

from onetake.model import Mode
from onetake.options import Options
from onetake.session_run import SessionRun
from onetake.settings import Settings

root, url = Path(sys.argv[1]), sys.argv[2]
run = SessionRun(Options("c", "once"), Settings(root), Mode.NONE, "test_x.py::test", owned=True)
run.open()
httpx.post(url, json={"model": "m", "messages": [{"role": "user", "content": "one"}]})
print(run.pending_place, flush=True)
sys.stdin.readline()
run.close()
if sys.argv[3] == "passed":
    run.keep(alone=False)
run.let_go()
print("over", flush=True)
"""


@pytest.fixture
def elsewhere(tmp_path, provider):
    """Run the test in another process until told to end; yields its pending place."""

    @contextmanager
    def running(result="failed"):
        env = {name: value for name, value in os.environ.items() if not name.startswith(("ONETAKE_", "PYTEST_", "CI"))}
        words = [sys.executable, "-c", RUNNING, str(tmp_path), provider.url + "/v1/chat/completions", result]
        with subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            yield other.stdout.readline().strip()
            assert other.communicate("\n")[0] == "over\n"

    return running


@contextmanager
def the_test(tmp_path, mode="once"):
    run = SessionRun(Options("c", mode), Settings(tmp_path), Mode.NONE, "test_x.py::test", owned=True)
    run.open()
    try:
        yield run
    finally:
        run.close()
        run.let_go()


def ask(provider):
    body = {"model": "m", "messages": [{"role": "user", "content": "one"}]}
    done = httpx.post(provider.url + "/v1/chat/completions", json=body)
    return done.json()["choices"][0]["message"]["content"]


def test_what_a_run_of_the_same_test_has_waiting_elsewhere_answers_only_once_that_is_over(
    elsewhere, tmp_path, provider
):
    with elsewhere() as their_place:
        with the_test(tmp_path) as here:
            assert ask(provider) == "answer 2 to: one"
            assert (their_place, here.pending_place) == (".onetake/pending/c", ".onetake/pending/c/~2")
            here.keep(alone=False)
        assert len(list((tmp_path / "c").glob("*.json"))) == 1
        assert len(list((tmp_path / their_place).glob("*.json"))) == 1
        assert not (tmp_path / here.pending_place).exists()
    (entry,) = (tmp_path / "c").glob("*.json")
    assert "answer 2 to: one" in entry.read_text()
    entry.unlink()
    with the_test(tmp_path) as here:
        assert ask(provider) == "answer 1 to: one"
        assert (here.pending_place, len(here.account.resumed)) == (their_place, 1)
    assert provider.count == 2
    assert not (tmp_path / ".onetake" / "holding").exists()


def test_a_sealed_session_takes_no_place(tmp_path, provider):
    with the_test(tmp_path, "none"):
        with pytest.raises(InteractionNotFound):
            ask(provider)
        assert not (tmp_path / ".onetake" / "holding").exists()


def test_who_holds_a_place_is_seen_from_another_process_and_from_its_own(elsewhere, tmp_path):
    assert not placing.is_anyone_there(tmp_path)
    with elsewhere():
        assert placing.is_anyone_there(tmp_path)
    assert not placing.is_anyone_there(tmp_path)
    place = placing.hold(tmp_path, tmp_path / "c", "part")
    assert placing.is_anyone_there(tmp_path)
    place.let_go()
    (tmp_path / ".onetake" / "holding").mkdir()
    (tmp_path / ".onetake" / "holding" / "killed.lock").touch()
    assert not placing.is_anyone_there(tmp_path)
    assert not (tmp_path / ".onetake" / "holding").exists(), "what a killed process left is taken away"


def test_what_cannot_be_locked_is_used_as_it_is(tmp_path):
    (tmp_path / ".onetake").write_bytes(b"in the way")
    place = placing.hold(tmp_path, tmp_path / "c", "part")
    assert place.part == "part"
    place.let_go()


def test_the_sessions_of_one_process_share_a_place_and_the_last_one_leaves_it(tmp_path):
    first, second = (placing.hold(tmp_path, tmp_path / "c", "part") for _ in range(2))
    assert (first.part, second.part) == ("part", "part")
    first.let_go()
    first.let_go()
    assert list((tmp_path / ".onetake" / "holding").iterdir())
    second.let_go()
    assert not (tmp_path / ".onetake" / "holding").exists()


def test_of_two_runs_of_a_test_that_both_pass_the_answer_that_is_stored_first_stays_for_both(
    elsewhere, tmp_path, provider
):
    with elsewhere("passed"), the_test(tmp_path) as here:
        assert ask(provider) == "answer 2 to: one"
        here.keep(alone=False)
    (entry,) = (tmp_path / "c").glob("*.json")
    assert "answer 2 to: one" in entry.read_text()
    assert not list((tmp_path / ".onetake" / "pending").rglob("*.json"))


def test_a_session_outside_of_tests_is_seen_from_its_first_entry_on(tmp_path, provider):
    run = SessionRun(Options("c", "new_episodes"), Settings(tmp_path), Mode.NONE)
    run.open()
    try:
        assert not placing.is_recorded_outside(tmp_path)
        for asked in ("one", "two"):
            content = {"model": "m", "messages": [{"role": "user", "content": asked}]}
            httpx.post(provider.url + "/v1/chat/completions", json=content)
            assert placing.is_recorded_outside(tmp_path)
            assert not placing.is_anyone_there(tmp_path)  # who waits for tests alone is not kept
    finally:
        run.close()
    assert not placing.is_recorded_outside(tmp_path)
    assert not (tmp_path / ".onetake" / "recording").exists()


def test_a_session_that_only_replays_is_in_nobodys_way(tmp_path, provider):
    for mode in ("once", "none"):
        run = SessionRun(Options("c", mode), Settings(tmp_path), Mode.NONE)
        run.open()
        try:
            content = {"model": "m", "messages": [{"role": "user", "content": "one"}]}
            httpx.post(provider.url + "/v1/chat/completions", json=content)
            assert placing.is_recorded_outside(tmp_path) is (mode == "once")
        finally:
            run.close()

"""The same request, asked by several processes at once."""

from __future__ import annotations

import pytest

from onetake.claims import Claims
from onetake.steps import Live, Replay, Wait
from onetake.stores.directory import DirectoryStore

HOLDER = """
import sys
from pathlib import Path
from onetake.claims import Claims
print(Claims(Path(sys.argv[1])).take(sys.argv[2]), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def pair(tmp_path, direct):
    """Two sessions on one cassette, each as another process has it: they share nothing but files."""

    def session():
        store = DirectoryStore(tmp_path / "calls")
        return direct(store, repeats="same", names=lambda: Claims(tmp_path / "calls.lock"))

    return session(), session()


def test_who_asks_second_waits_and_gets_the_answer_of_the_first(pair):
    first, second = pair
    live = first.ask("q")
    waits = second.ask("q")
    assert isinstance(waits, Wait)
    assert second.ask("q", who="another").future is waits.future
    assert isinstance(second.ask("another question"), Live)
    first.answer(live, "a")
    waits.future.result(10)
    assert second.call("q") == "a"
    assert (len(first.engine.recorded), second.engine.recorded, second.engine.outrun) == (1, [], [])


def test_where_the_first_gets_no_answer_the_second_asks(pair):
    first, second = pair
    live = first.ask("q")
    waits = second.ask("q")
    first.engine.abandon(live)
    waits.future.result(10)
    assert second.call("q", "b") == "b"
    assert first.call("q") == "b"


def test_what_was_stored_since_it_was_looked_for_is_not_asked_again(tmp_path, pair, direct):
    first, _ = pair

    def names():
        first.call("q", "a")
        return Claims(tmp_path / "calls.lock")

    late = direct(DirectoryStore(tmp_path / "calls"), repeats="same", names=names)
    assert isinstance(late.ask("q"), Replay)
    assert Claims(tmp_path / "calls.lock").take(first.engine.recorded[0].key)


def test_who_may_not_wait_asks_too_and_the_answer_that_is_not_stored_is_counted(pair):
    first, second = pair
    live, beside = first.ask("q"), second.ask("q", may_wait=False)
    assert isinstance(beside, Live)
    first.answer(live, "a")
    second.answer(beside, "b")
    assert second.call("q") == "a"
    assert (len(first.engine.recorded), second.engine.recorded, len(second.engine.outrun)) == (1, [], 1)


def test_a_key_that_a_killed_process_held_is_asked(pair, tmp_path, start):
    _, session = pair
    probe = session.ask("q")
    session.engine.abandon(probe)
    other = start(HOLDER, tmp_path / "calls.lock", probe.asked.key)
    assert other.stdout.readline() == "True\n"
    waits = session.ask("q")
    assert isinstance(waits, Wait)
    other.kill()
    waits.future.result(10)
    assert session.call("q", "a") == "a"


def test_a_session_that_has_ended_is_waited_for_no_more(pair):
    first, second = pair
    first.ask("q")
    waits = second.ask("q")
    first.engine.flights.end_all()
    waits.future.result(10)
    assert isinstance(second.ask("q"), Live)


def test_where_no_lock_file_can_be_made_each_asks(tmp_path, direct):
    (tmp_path / "file").touch()
    session = direct(repeats="same", names=lambda: Claims(tmp_path / "file" / "calls.lock"))
    assert session.call("q", "a") == "a"

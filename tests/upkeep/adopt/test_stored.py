"""Which stored requests may give their answers away."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from onetake.format import dump_entry
from onetake.missed import missed_in
from onetake.stores.naming import parse_name
from onetake.upkeep import limits
from onetake.upkeep.adopt.planning import plan
from onetake.usage import CassetteUsage, UsageRun, write_run

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs a timer that sends signals")


@pytest.fixture
def no_timer():
    """Stop the timer by which pytest limits a test, for the length of one."""
    before = signal.setitimer(signal.ITIMER_REAL, 0)
    yield
    signal.setitimer(signal.ITIMER_REAL, *before)


def shown(found):
    return [(group.reason, len(group.misses), len(group.adoptions), group.refused) for group in found.groups]


def test_what_the_run_replayed_is_neither_adopted_nor_taken_for_another(folder, direct, answer):
    folder.record(*((text, answer) for text in ("Sort this", "Sort that")))
    folder.miss("Sort this", direct.chat("Sort that", store=False), direct.chat("Sort those"))
    assert shown(plan(folder.root)) == [("body$.store: added false", 1, 1, "")]
    (left,) = plan(folder.root).unexplained
    assert "nothing that is stored here" in left.why
    assert left.mend == "pytest --record-mode=new_episodes tests/test_a.py::test_b"


def test_an_entry_whose_request_was_changed_gives_nothing_away(folder, direct, answer):
    (path,) = folder.record(("one", answer))
    folder.edit(path, '"content": "one"', '"content": "two"')
    folder.miss(direct.chat("two", store=False))
    assert (plan(folder.root).groups, len(plan(folder.root).unexplained)) == ((), 1)


def test_damaged_entries_and_misses_are_in_nobodys_way(folder, upgraded, direct, answer):
    found = upgraded("one", "two")
    cassette = folder.root / "cassettes/test_a/test_b"
    (cassette / f"chat-{'0' * 16}.json").write_bytes(b"{")
    (cassette / f"chat-{'1' * 16}.json").symlink_to("nowhere")
    assert shown(plan(folder.root)) == shown(found)


def test_what_other_tests_of_the_run_used_is_taken_for_no_other_request(folder, direct, answer):
    (path,) = folder.record(("Sort this list of words", answer), folder="cassettes/shared", test="t.py::a")
    folder.miss("Sort this list of names", folder="cassettes/shared", test="t.py::b")
    (missed,) = missed_in(folder.root)
    used = {"cassettes/shared": CassetteUsage(used=frozenset({parse_name(path.name)}))}
    write_run(folder.root, UsageRun(missed.at, cassettes=used))  # a good one, before it
    assert len(plan(folder.root).groups) == 1
    write_run(folder.root, UsageRun(missed.at, why="tests failed", cassettes=used))
    assert (plan(folder.root).groups, len(plan(folder.root).unexplained)) == ((), 1)


@pytest.mark.parametrize(("hours", "groups"), [(1, 0), (-1, 1)])
def test_what_is_younger_than_the_miss_is_told_by_moments(folder, direct, answer, hours, groups):
    (path,) = folder.record(("one", answer))
    folder.miss(direct.chat("one", store=False))
    came = datetime.now(timezone(timedelta(hours=-12 if hours > 0 else 12))) + timedelta(hours=hours)
    folder.rewrite(path, recorded_at=came.isoformat())
    assert len(plan(folder.root).groups) == groups


def test_one_entry_answers_one_miss_only(folder, direct, answer):
    folder.record(("Sort this list of words", answer))
    folder.miss("Sort this list of names", "Sort this list of verbs")
    found = plan(folder.root)
    assert [len(group.adoptions) for group in found.groups] == [1]
    assert len(found.unexplained) == 1


@posix
def test_an_entry_whose_own_rules_never_end_is_named_and_left(folder, direct, answer, monkeypatch, no_timer):
    monkeypatch.setattr(limits, "SECONDS", 0.5)
    good, bad = folder.record(("one", answer)), folder.record((f"{'a' * 60}!", answer), folder="cassettes/other")
    entry = folder.load(bad[0])
    rules = {"replace": [{"pattern": "(a+)+$", "with": "x"}]}
    exploding = replace(entry, key_spec=replace(entry.key_spec, rules=rules))
    path = good[0].parent / bad[0].name
    path.write_bytes(dump_entry(exploding)[0])
    folder.miss(direct.chat("one", store=False))
    found = plan(folder.root)
    assert found.left == ((path, "it took more than 0.5 seconds"),)
    assert [len(group.adoptions) for group in found.groups] == [1]

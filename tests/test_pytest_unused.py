"""What is unused, from plain facts, and how it is said."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from onetake.pytest_unused import Facts, Unused, UsageReport, facts_of, find_unused, identity, merged
from onetake.usage import Used

A, B = (("a" * 16, 0), ("b" * 16, 0))


@pytest.fixture
def tape(tmp_path):
    """A cassette of two entries, which a test of test_it.py owns; only their names count here."""
    folder = tmp_path / "cassettes" / "test_it" / "test_x"
    folder.mkdir(parents=True)
    for key, _ in (A, B):
        (folder / f"chat-{key}.json").touch()
    return folder


def used(folder, *slots, known=True):
    return Used(folder.parents[2], folder, frozenset(slots), known)


def found(tape, sessions, outside=(), left_out=None, **facts):
    root = tape.parents[2]
    here = Facts(modules={os.path.realpath(root / "test_it.py")}, **facts)
    unused = find_unused(merged(sessions, outside), here, {root: root / "test_b.py"} if left_out else {}, root)
    return [(one.folder, set(one.entries), one.of) for one in unused]


def test_what_no_session_used(tape):
    assert found(tape, [used(tape, A)]) == [(tape, {B}, 2)]
    assert found(tape, [used(tape, A), used(tape, B)]) == []
    assert found(tape, [used(tape, A)], left_out=True) == [(tape, {B}, 2)], "it is the test's own"


def test_one_folder_by_two_paths(tape, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tape.parent)
    assert found(tape, [used(tape, A), used(link / "test_x", B)]) == []
    assert identity(tape / "missing") == identity(link / "test_x" / "missing")


@pytest.mark.parametrize("facts", [{"spared": {"itself"}}, {"sessions": "unknown"}])
def test_what_is_not_known_is_spared(tape, facts):
    if "spared" in facts:
        assert found(tape, [used(tape, A)], spared={str(tape)}) == []
    else:
        assert found(tape, [used(tape, A), used(tape, known=False)]) == []


def test_what_others_may_share(tape, tmp_path):
    shared = tmp_path / "cassettes" / "shared" / "of" / "all"
    shared.parent.mkdir(parents=True)
    tape.rename(shared)
    one = Used(tmp_path, shared, frozenset({A}), known=True)
    assert found(tape, [one]) == [(shared, {B}, 2)]
    assert found(tape, [one], left_out=True) == []
    assert found(tape, [one], partly={"/some/test_module.py"}) == []
    assert found(tape, [one], spared={"/some/cassette"}) == [(shared, {B}, 2)]
    assert found(tape, [], [one]) == [(shared, {B}, 2)]
    assert found(tape, [], [one], spared={"/some/cassette"}) == []


def test_what_cannot_be_read_is_nobodys_to_call_abandoned(tape):
    assert found(tape, []) == []


def test_facts_are_taken_together_and_go_through_plain_types():
    one = Facts({"a"}, {"b"}, {"c"}, {"d"}, {"g"}, 3, True)
    one.add(Facts({"e"}, set(), {"f"}, set(), {"h"}, 2, False))
    assert one == Facts({"a", "e"}, {"b"}, {"c", "f"}, {"d"}, {"g", "h"}, 3, False)
    assert facts_of(json.loads(json.dumps(one.as_plain()))) == one


def test_it_is_said_from_where_pytest_was_started(tmp_path):
    names = {("a" * 16, number): f"chat-{number}.json" for number in range(5)}
    unused = Unused(tmp_path, tmp_path / "tape", names, 7, owned=True)
    gone = Unused(tmp_path, tmp_path / "old", {A: "x.json"}, 1, "test_it.py::test_old", abandoned=True)
    report = UsageReport("fail", unused=(unused, gone), start=tmp_path / "tests")
    assert report.fails
    assert report.failing == ["--unused=fail: this fails the run"]
    assert report.lines() == [
        "6 unused entries: all tests ran and passed, and none asked for what these hold:",
        "  ../tape/ (5 of 7): chat-0.json, chat-1.json, chat-2.json, and 2 more",
        "  ../old/ (all 1): no test opens it any more; recorded by test_it.py::test_old",
        "  to mend: `onetake prune --orphans --yes` moves them to the trash; or `pytest --record-mode=all TEST` asks"
        " anew and keeps, in a test's own cassette, what it uses",
    ]
    assert report.as_json() == {
        "unused": [
            {"cassette": "../tape", "entries": list(names.values()), "of": 7, "recorded_by": None},
            {"cassette": "../old", "entries": ["x.json"], "of": 1, "recorded_by": "test_it.py::test_old"},
        ]
    }


def test_mode_all_is_offered_only_where_it_retires_what_a_test_did_not_ask_for(tmp_path):
    shared = Unused(tmp_path, tmp_path / "shared", {A: "x.json"}, 2, "test_it.py::test_one")
    own = replace(shared, folder=tmp_path / "own", owned=True)
    gone = replace(shared, folder=tmp_path / "gone", test="", abandoned=True)
    assert UsageReport(unused=(shared, gone), start=tmp_path).lines()[1:] == [
        "  shared/ (1 of 2): x.json",
        "  gone/ (all 2): no test opens it any more; recorded by several tests",
        "  to mend: `onetake prune --orphans --yes` moves them to the trash",
    ]
    assert "--record-mode=all" in UsageReport(unused=(shared, own), start=tmp_path).lines()[-1]
    assert [one["recorded_by"] for one in UsageReport(unused=(shared, gone), start=tmp_path).as_json()["unused"]] == [
        "test_it.py::test_one",
        None,
    ]


def test_a_cassette_that_anything_else_opened_is_no_tests_own(tmp_path):
    used = Used(tmp_path, tmp_path / "tape", frozenset({A}), known=True, owned=True)
    assert [one.owned for one in merged([used, used], []).values()] == [True]
    assert [one.owned for one in merged([used, replace(used, owned=False)], []).values()] == [False]
    assert [one.owned for one in merged([used], [replace(used, owned=False)]).values()] == [False]


def test_many_cassettes_are_said_on_a_screen(tmp_path):
    unused = tuple(Unused(tmp_path, tmp_path / f"tape{number}", {A: "x.json"}, 2) for number in range(12))
    lines = UsageReport(unused=unused, start=tmp_path).lines()
    assert len(lines) == 13
    assert lines[10:12] == ["  tape9/ (1 of 2): x.json", "  and those of 2 more cassettes"]


@pytest.mark.parametrize("word", ["warn", "fail"])
def test_what_is_not_known_is_said_where_it_was_asked_for(word):
    part = UsageReport(word, why="not all tests passed")
    held = UsageReport(word, held_back="test_b.py was not collected")
    nothing = [[], []] if word == "warn" else [[part_line], [held_line]]
    assert [part.lines(), held.lines()] == nothing
    assert not part.fails
    assert part.as_json() == {"unused": [], "why": "not all tests passed"}


part_line = "--unused=fail: nothing is said of unused entries: not all tests passed"
held_line = "--unused=fail: nothing is said of the unused entries of some cassettes: test_b.py was not collected"

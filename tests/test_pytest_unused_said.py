"""How it is said what is unused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onetake import modes
from onetake.pytest_unused import Unused
from onetake.pytest_unused_said import UsageReport

A, B = (("a" * 16, 0), ("b" * 16, 0))


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


def test_mode_all_is_offered_only_where_it_retires_what_a_test_did_not_ask_for(tmp_path, monkeypatch):
    monkeypatch.setattr(modes, "_pytest", "pytest --onetake-vcr")
    shared = Unused(tmp_path, tmp_path / "shared", {A: "x.json"}, 2, "test_it.py::test_one")
    own = replace(shared, folder=tmp_path / "own", owned=True)
    gone = replace(shared, folder=tmp_path / "gone", test="", abandoned=True)
    assert UsageReport(unused=(shared, gone), start=tmp_path).lines()[1:] == [
        "  shared/ (1 of 2): x.json",
        "  gone/ (all 2): no test opens it any more; recorded by several tests",
        "  to mend: `onetake prune --orphans --yes` moves them to the trash",
    ]
    assert (
        "`pytest --onetake-vcr --record-mode=all TEST`" in UsageReport(unused=(shared, own), start=tmp_path).lines()[-1]
    )
    assert [one["recorded_by"] for one in UsageReport(unused=(shared, gone), start=tmp_path).as_json()["unused"]] == [
        "test_it.py::test_one",
        None,
    ]


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


def test_of_a_store_that_is_one_file_the_way_round_is_said(tmp_path):
    (tmp_path / "calls.db").touch()
    unused = Unused(tmp_path, tmp_path / "calls.db", {A: "chat-a.json"}, 2)
    assert UsageReport(unused=(unused,), start=tmp_path).lines()[1:] == [
        "  calls.db/ (1 of 2): chat-a.json",
        "  to mend: `onetake prune --orphans --yes` moves them to the trash, those of a store in one file after"
        " `onetake store unpack`",
    ]

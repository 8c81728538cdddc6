"""A plan is done as far as it still holds: beside a test that records, another prune, and a run that ends."""

from __future__ import annotations

import pytest

from onetake import placing
from onetake.upkeep.prune.planning import Wanted, plan
from onetake.upkeep.prune.prunable import Reason
from onetake.upkeep.prune.removing import prune

FOLDER = "cassettes/test_a/test_b"
EVERYTHING = Wanted(frozenset({Reason.ORPHAN, Reason.SIDECAR}))


@pytest.fixture
def two(folder, answer):
    """Two entries that a run of all tests left without use: their files."""
    paths = folder.record(("one", answer), ("two", answer))
    folder.ran(paths)
    return paths


def files(folder):
    return {path.relative_to(folder.root).as_posix() for path in (folder.root / "cassettes").rglob("*.json")}


def test_what_the_plan_says_goes_to_the_trash(folder, two):
    before = files(folder)
    made = plan(folder.root, EVERYTHING)
    done = prune(made)
    assert (done.entries, [one.path for one in made.sidecars]) == (made.entries, done.sidecars)
    assert (done.left, done.busy, done.emptied) == ([], {}, [])
    assert (files(folder), len(before)) == (set(), 3)
    trash = folder.root / ".onetake" / "trash"
    assert {path.relative_to(trash).as_posix() for path in trash.rglob("*.json")} == before
    again = plan(folder.root, Wanted(frozenset({Reason.TRASH})))
    assert len(prune(again).emptied) == 3
    assert not trash.exists()


def test_what_was_recorded_anew_or_pinned_meanwhile_stays(folder, two):
    made = plan(folder.root, EVERYTHING)
    folder.rewrite(two[0], pinned={"at": "now"})
    done = prune(made)
    assert {one.path: one.why for one in done.left} == {two[0]: "it has changed meanwhile"}
    assert [one.path for one in done.entries] == [two[1]]
    assert done.sidecars == [], "an entry that stayed names it"


def test_a_run_that_ended_meanwhile_may_have_used_it(folder, two):
    made = plan(folder.root, EVERYTHING)
    folder.ran(used=two, why="tests were selected (-k)")
    done = prune(made)
    assert done.entries == []
    assert "a run of tests has ended meanwhile" in done.busy[folder.root]
    assert len(files(folder)) == 3


def test_beside_a_test_that_records_nothing_is_touched(folder, two):
    place = placing.hold(folder.root, folder.root / FOLDER, "")
    try:
        done = prune(plan(folder.root, EVERYTHING))
        assert (done.entries, done.busy) == ([], {folder.root: "a test that records is at work there"})
        assert len(files(folder)) == 3
    finally:
        place.let_go()
    assert len(prune(plan(folder.root, EVERYTHING)).entries) == 2


def test_a_cassette_whose_making_begins_meanwhile_is_left(folder, two):
    made = plan(folder.root, EVERYTHING)
    marker = folder.root / ".onetake" / "making" / FOLDER / "begun"
    marker.parent.mkdir(parents=True)
    marker.touch()
    done = prune(made)
    assert {one.path for one in done.left} == set(two)
    assert len(files(folder)) == 3


def test_two_prunes_at_once_lose_nothing(folder, two):
    first, second = plan(folder.root, EVERYTHING), plan(folder.root, EVERYTHING)
    data = {path.name: path.read_bytes() for path in two}
    prune(first)
    done = prune(second)
    assert {one.path: one.why for one in done.left} == dict.fromkeys(two, "it is gone")
    trash = folder.root / ".onetake" / "trash" / FOLDER
    assert {path.name: path.read_bytes() for path in trash.glob("*.json")} == data


def test_a_limit_is_kept_by_what_lay_in_the_trash_and_by_entries(folder, two):
    old = folder.root / ".onetake" / "trash" / "old.json"
    old.parent.mkdir(parents=True)
    old.write_bytes(b"x" * 100)
    done = prune(plan(folder.root, Wanted(frozenset(), most=1)))
    assert [one.path for one in done.emptied] == [old]
    assert len(done.entries) == 2
    assert not old.exists()
    assert len(list((folder.root / ".onetake" / "trash" / FOLDER).glob("*.json"))) == 2, "what goes there now stays"

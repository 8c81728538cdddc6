"""Entries that no test asks for any more, by the runs on record, and what took their place."""

from __future__ import annotations

import json

import pytest

from onetake.key import Keyer
from onetake.making import Making
from onetake.upkeep.prune.planning import Wanted
from onetake.upkeep.prune.planning import plan as planned
from onetake.upkeep.prune.prunable import Reason
from onetake.upkeep.runs import Runs
from onetake.upkeep.statuses import status

BEFORE = "2026-01-01T00:00:00Z"
TEST = "tests/test_a.py::test_b"


@pytest.fixture
def orphans(folder):
    """Return a function that says of which entry what took its place: name to (key or None, what changed)."""

    def find():
        found = [one for one in status(folder.root).entries if one.advice == "orphan"]
        return {
            one.path.name: (one.successor.key, one.successor.changed) if one.successor else (None, ()) for one in found
        }

    return find


def prompt(n, word="Sort"):
    return f"{word} ticket {n * 7919}: the printer in room {n * 104729} burns"


@pytest.fixture
def edited(folder, answer):
    """Two entries, and the same two recorded again after an edit of the prompt, which a whole run used alone."""
    folder.record((prompt(1), answer), (prompt(2), answer))
    old = sorted((folder.root / "cassettes/test_a/test_b").glob("*.json"))
    for path in old:
        folder.rewrite(path, recorded_at=BEFORE)
    both = folder.record((prompt(1, "Sort out"), answer), (prompt(2, "Sort out"), answer))
    new = [path for path in both if path not in old]
    folder.ran(unused=old, used=new)
    return old, new


def test_each_is_followed_by_the_newer_one_that_is_most_like_it(folder, edited, orphans):
    old, new = edited
    said = {folder.load(path).key: str(folder.load(path).request.body) for path in new}
    found = orphans()
    assert set(found) == {path.name for path in old}
    for path in old:
        key, changed = found[path.name]
        assert changed == ("the prompt changed",)
        assert folder.load(path).request.body.split(b"ticket ")[1] in said[key].encode()
    assert status(folder.root).knowledge == ""


def test_the_message_says_which_key_and_where(folder, edited):
    old, _ = edited
    one = next(one for one in folder.findings() if one.path == old[0])
    why, place, changed, where = one.message.split("\n")
    assert (one.code, one.severity, changed) == ("orphan", "info", "the prompt changed")
    assert why == f"no test asks for it: the run of all tests that ended {Runs(folder.root).at} left it without use"
    assert place.endswith(".json) took its place")
    assert where.startswith('body$.messages[0].content: was "Sort ticket') and 'is "Sort out ticket' in where
    assert one.mend.startswith("onetake prune ") and one.mend.endswith(" --orphans")


@pytest.mark.parametrize(
    ("before", "after"),
    [("2026-01-01T10:00:00+09:00", "2026-01-01T05:00:00Z"), ("2026-01-01T01:00:00", "2026-01-01T02:00:00Z")],
)
def test_what_is_newer_is_told_by_moments_however_they_are_written(folder, edited, orphans, before, after):
    old, new = edited
    for path in old:
        folder.rewrite(path, recorded_at=before)
    for path in new:
        folder.rewrite(path, recorded_at=after)
    folder.ran(unused=old, used=new)
    assert {key for key, _ in orphans().values()} == {folder.load(path).key for path in new}
    going = planned(folder.root, Wanted(frozenset({Reason.SUPERSEDED}))).entries
    assert {one.path for one in going} == set(old), "it is newer, and not of the same moment"
    for path in new:
        folder.rewrite(path, recorded_at="2025-12-31T23:00:00-01:00")
    assert set(orphans().values()) == {(None, ())}, "what is older took no place"


def test_what_a_run_used_together_with_it_did_not_take_its_place(folder, edited, orphans):
    old, new = edited
    folder.ran(used=[*old, *new], at=BEFORE)
    newest = folder.ran(unused=old, used=new)
    assert newest.exists()
    assert set(orphans().values()) == {(None, ())}


def test_an_older_one_did_not_take_its_place(folder, edited, orphans):
    _, new = edited
    for path in new:
        folder.rewrite(path, recorded_at="2025-01-01T00:00:00Z")
    assert set(orphans().values()) == {(None, ())}


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (None, "no run of tests is on record"),
        ({"why": "not all tests passed"}, "the newest run is no proof (not all tests passed)"),
        ({"why": "tests were selected (-k)"}, "the newest run is no proof (tests were selected (-k))"),
        ({"known": False}, "no run of all tests on record knows what was used of cassettes/test_a/test_b"),
        ({"folder": "other"}, "no run of all tests on record knows what was used of cassettes/test_a/test_b"),
    ],
)
def test_br_155_nobody_is_called_an_orphan_where_runs_do_not_tell(folder, orphans, run, why):
    files = folder.record()
    if run is not None:
        unused = files if "why" in run else []
        folder.ran(unused=unused, **run)
    assert orphans() == {}
    assert status(folder.root).knowledge.startswith(why)
    assert folder.codes() == []


def test_what_was_recorded_after_the_run_is_no_orphan(folder, orphans):
    files = folder.record()
    folder.ran(unused=files, at=BEFORE)
    assert orphans() == {}


def test_a_request_that_a_test_missed_takes_the_place_of_its_nearest(folder, answer, direct, orphans):
    first, second = prompt(1), prompt(2)
    files = folder.record((first, answer), (second, answer))
    asked = direct.chat(second, seed=7)
    folder.miss(asked)
    assert orphans() == {}, "no run says what else was asked"
    folder.ran(why="not all tests passed")
    (old,) = [path for path in files if second.encode() in folder.load(path).request.body]
    ((name, (key, changed)),) = orphans().items()
    assert (name, changed) == (old.name, ("field seed added",))
    assert key == Keyer().key(asked)
    (one,) = [one for one in status(folder.root).entries if one.advice == "orphan"]
    assert one.successor.path is None
    assert f"\n{key[:16]} is asked for now, and is not stored\n" in one.reason
    assert "took its place" not in one.reason
    assert one.reason.startswith(f"{TEST} did not ask for it when it last ran, but missed another request")
    assert one.command == f"pytest --record-mode=new_episodes {TEST}"


def test_what_a_run_asked_for_since_the_miss_keeps_its_place(folder, answer, direct, orphans):
    files = folder.record((prompt(1), answer))
    folder.miss(direct.chat(prompt(1), seed=7))
    folder.ran(used=files, why="not all tests passed")
    assert orphans() == {}


def test_what_another_test_recorded_or_what_is_unlike_keeps_its_place(folder, answer, direct, orphans):
    folder.record((prompt(1), answer), test="tests/test_a.py::other")
    folder.miss(direct.chat(prompt(1), seed=7), "What is two and two?")
    folder.ran(why="not all tests passed")
    assert orphans() == {}


def test_each_miss_takes_one_place(folder, answer, orphans):
    folder.record((prompt(1), answer))
    folder.miss(prompt(1, "Sort out"), prompt(1, "Sort all"))
    folder.ran(why="not all tests passed")
    assert len(orphans()) == 1


def test_what_was_adopted_for_another_request_is_an_orphan_once_a_run_of_all_tests_left_it(
    folder, answer, direct, orphans
):
    (old,) = folder.record((prompt(1), answer))
    _, new = sorted(folder.record((direct.chat(prompt(1), seed=7), answer)), key=lambda path: path != old)
    folder.rewrite(new, adopted={"from": folder.load(old).key, "at": folder.load(new).provenance["recorded_at"]})
    assert orphans() == {}, "no run is on record"
    folder.ran(used=[new], why="tests were selected (-k)")
    assert orphans() == {}, "another test may ask for it"
    folder.ran(used=[new], unused=[old])
    assert orphans() == {old.name: (folder.load(new).key, ("field seed added",))}
    folder.ran(used=[old], why="not all tests passed")
    assert orphans() == {}


@pytest.mark.parametrize(
    ("keep", "why"),
    [
        (lambda folder, old: folder.rewrite(old, pinned={"reason": "mine"}), "pinned: mine"),
        (lambda folder, old: folder.settings(top='pinned = ["cassettes"]'), "pinned by the settings: 'cassettes'"),
        (lambda folder, old: making(folder), "its cassette is being made"),
    ],
)
def test_what_a_prune_would_not_take_is_no_work_for_it(folder, edited, keep, why):
    old, _ = edited
    keep(folder, old[0])
    one = next(one for one in folder.findings() if one.path == old[0])
    assert (one.code, one.mend) == ("orphan", "nothing: it stays, and no prune takes it")
    assert one.message.split("\n")[1].startswith(f"it stays: {why}")
    plan = planned(folder.root, Wanted(frozenset({Reason.ORPHAN})))
    assert old[0] in {left.path for left in plan.left}


def making(folder):
    Making(folder.root, folder.root / "cassettes/test_a/test_b", was_empty=True).mark()


def test_what_status_tells_to_prune_is_what_prune_takes(folder, edited):
    old, _ = edited
    folder.rewrite(old[0], pinned={"reason": "mine"})
    told = {one.path for one in status(folder.root).entries if one.command.startswith("onetake prune ")}
    for reason in (Reason.ORPHAN, Reason.SUPERSEDED):
        assert {one.path for one in planned(folder.root, Wanted(frozenset({reason}))).entries} == told == {old[1]}


def test_a_pattern_that_never_ends_is_not_run_to_compare(folder, answer):
    folder.record((f"Sort {'a' * 40}!", answer))
    folder.miss(f"Sort {'a' * 40}!!")
    (book,) = (folder.root / ".onetake/missed").rglob("*.jsonl")
    rules = {"replace": [{"pattern": "(a+)+$", "with": "x"}]}
    lines = [json.loads(line) for line in book.read_bytes().splitlines()]
    for line in (line for line in lines if "key_spec" in line):
        line["key_spec"]["rules"] = rules
    book.write_text("".join(json.dumps(line) + "\n" for line in lines))
    folder.ran(why="not all tests passed")
    (one,) = status(folder.root).entries
    assert (one.advice, one.successor.changed) == ("orphan", ("the prompt changed",))


def test_a_line_of_a_book_that_cannot_be_read_is_told(folder):
    files = folder.record()
    folder.miss("another")
    (book,) = (folder.root / ".onetake/missed").rglob("*.jsonl")
    book.write_bytes(b"{\n" + book.read_bytes())
    folder.ran(used=files)
    place = book.relative_to(folder.root).as_posix()
    assert status(folder.root).knowledge == f"a line of {place} cannot be read, and is left out"


@pytest.mark.parametrize("adopted", [7, {}, {"from": 7, "at": []}, {"from": "../../x"}, {"from": "ab" * 32, "at": {}}])
def test_a_damaged_adoption_makes_no_orphan(folder, orphans, adopted):
    (path,) = folder.record()
    folder.rewrite(path, adopted=adopted)
    assert orphans() == {}


def test_what_is_broken_is_neither_an_orphan_nor_what_took_a_place(folder, edited, orphans):
    old, new = edited
    for path in new:
        folder.edit(path, "Sort out", "Sort in")
    folder.edit(old[0], "Sort", "Sart")
    assert orphans() == {old[1].name: (None, ())}


def test_the_use_of_a_folder_without_entries_need_not_be_known(folder):
    files = folder.record()
    folder.ran(used=files)
    (folder.root / "left" / "_schemas").mkdir(parents=True)
    (folder.root / "left" / "_schemas" / f"{'ab' * 32}.json").write_bytes(b"{}")
    assert status(folder.root).knowledge == ""


def test_br_153_what_is_stored_and_not_played_is_reported(folder, answer, orphans):
    files = folder.record((prompt(1), answer), (prompt(2), answer), ("another", answer))
    folder.ran(unused=files[:1], used=files[1:])
    assert list(orphans()) == [files[0].name]
    assert [one.path for one in planned(folder.root, Wanted(frozenset({Reason.ORPHAN}))).entries] == files[:1]

"""What may be pruned, by reason; what keeps an entry; and what a limit takes."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from onetake.aside import AsideStore
from onetake.errors import UsageError
from onetake.upkeep.prune.planning import Wanted, plan
from onetake.upkeep.prune.prunable import Reason

FOLDER = "cassettes/test_a/test_b"


def wanted(*reasons, **more):
    return Wanted(frozenset(reasons), **more)


def found(folder, *reasons, start="", **more):
    """Return what would go, by file name: its reasons; and what stays, with what keeps it."""
    made = plan(folder.root / start, wanted(*reasons, **more))
    going = {one.path.name: [reason.value for reason in one.why] for one in made.entries}
    return going, {one.path.name: one.why for one in made.left}


@pytest.fixture
def two(folder, answer):
    """An entry that is used, and one that is not: the files of both."""
    used, unused = folder.record(("one", answer), ("two", answer))
    for path in (used, unused):
        folder.rewrite(path, recorded_at="2026-01-01T00:00:00Z")
    return used, unused


def test_an_orphan_goes_where_a_whole_run_left_it(folder, two):
    used, unused = two
    folder.ran([unused], [used])
    assert found(folder, Reason.ORPHAN) == ({unused.name: ["orphan"]}, {})
    (entry,) = plan(folder.root, wanted(Reason.ORPHAN)).entries
    assert (entry.size, entry.at, entry.folder) == (
        unused.stat().st_size,
        datetime(2026, 1, 1, tzinfo=UTC),
        folder.root / FOLDER,
    )


@pytest.mark.parametrize("why", ["tests were selected (-k)", "not all tests passed", "not all tests ran"])
def test_br_155_a_run_that_is_not_whole_and_green_is_no_evidence(folder, two, why):
    used, unused = two
    folder.ran([unused], [used], why=why)
    made = plan(folder.root, wanted(Reason.ORPHAN, Reason.SUPERSEDED))
    assert (made.entries, list(made.unproved)) == ([], [folder.root])
    assert why in made.unproved[folder.root]


def test_br_155_another_variant_that_ran_later_keeps_what_it_used(folder, two):
    used, unused = two
    folder.ran([unused], [used])
    folder.ran(used=[unused], why="tests were selected (-k)")
    assert found(folder, Reason.ORPHAN) == ({}, {})


def test_br_155_what_a_skipped_test_may_use_is_not_said_to_be_unused(folder, two):
    folder.ran((), two[:1])
    assert found(folder, Reason.ORPHAN) == ({}, {})


def test_br_155_what_came_after_the_run_was_not_tried(folder, two):
    used, unused = two
    folder.ran([unused], [used], at="2025-01-01T00:00:00Z")
    assert found(folder, Reason.ORPHAN) == ({}, {})


def test_superseded_is_an_orphan_in_whose_place_another_is_used(folder, answer, two):
    used, unused = two
    folder.ran([unused], [used])
    assert found(folder, Reason.SUPERSEDED) == ({}, {}), "nothing is newer"
    folder.rewrite(used, recorded_at="2026-01-02T00:00:00Z")
    assert found(folder, Reason.SUPERSEDED, Reason.ORPHAN)[0] == {unused.name: ["orphan", "superseded"]}
    folder.rewrite(used, test="tests/test_a.py::another")
    assert found(folder, Reason.SUPERSEDED) == ({}, {})
    folder.rewrite(used, adopted={"from": folder.load(unused).key, "at": "2026-01-02T00:00:00Z"})
    assert found(folder, Reason.SUPERSEDED)[0] == {unused.name: ["superseded"]}


def test_stale_is_of_today(folder, two, items):
    assert found(folder, Reason.STALE) == ({}, {})
    folder.settings("schema_version = 2")
    assert found(folder, Reason.STALE)[0] == {path.name: ["stale"] for path in two}
    folder.settings()
    items["required"].append("more")
    items["properties"]["more"] = {"type": "string"}
    folder.schema(items)
    made = plan(folder.root, wanted(Reason.STALE))
    assert {one.why[Reason.STALE].split(":")[0] for one in made.entries} == {"breaks-contract"}
    assert len(made.entries) == 2


def test_br_178_age_counts_from_recording_and_from_nothing_else(folder, two):
    old, new = two
    now = datetime.now(UTC)
    said = [(now - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ") for days in (91, 89)]
    folder.rewrite(old, recorded_at=said[0], adopted={"at": said[1]}, vouched={"at": said[1]})
    folder.rewrite(new, recorded_at=said[1])
    folder.ran(used=two), folder.ran(used=two)
    assert found(folder, Reason.OLD, older_than=timedelta(days=90)) == ({old.name: ["older-than"]}, {})
    assert found(folder, Reason.OLD, older_than=timedelta(weeks=14)) == ({}, {})
    assert found(folder, Reason.OLD, older_than=timedelta(0))[0].keys() == {old.name, new.name}
    folder.rewrite(old, recorded_at="long ago")
    assert found(folder, Reason.OLD, older_than=timedelta(hours=1))[0] == {new.name: ["older-than"]}


def test_reasons_add_up(folder, two):
    used, unused = two
    folder.ran([unused], [used])
    folder.settings("schema_version = 2")
    going, _ = found(folder, Reason.ORPHAN, Reason.STALE, Reason.OLD, older_than=timedelta(days=1))
    assert going == {used.name: ["stale", "older-than"], unused.name: ["orphan", "stale", "older-than"]}


def test_what_is_pinned_stays_for_every_reason(folder, two):
    used, unused = two
    folder.ran([unused], [used])
    folder.settings("schema_version = 2", top=f'pinned = ["{FOLDER}/*{used.name[-12:]}", "nothing"]')
    folder.rewrite(unused, pinned={"reason": "golden"})
    made = plan(folder.root, wanted(Reason.ORPHAN, Reason.STALE, Reason.OLD, older_than=timedelta(1), most=1))
    assert made.entries == []
    assert {one.path.name: one.why for one in made.left} == {
        used.name: f"pinned by the settings: '{FOLDER}/*{used.name[-12:]}'",
        unused.name: "pinned: golden",
    }
    assert made.pins == {folder.root: ["nothing"]}
    assert plan(folder.root / FOLDER, wanted(Reason.STALE)).pins == {}, "of a part nobody can tell"


def other_project(folder, name="other"):
    (folder.root / name).mkdir()
    (folder.root / name / "onetake.toml").touch()
    return name


@pytest.mark.parametrize("reason", [Reason.ORPHAN, Reason.STALE, Reason.OLD])
def test_what_the_tests_of_another_settings_folder_use_is_shared(folder, two, reason):
    used, unused = two
    folder.ran([unused], [used])
    folder.settings("schema_version = 2")
    name = other_project(folder)
    folder.ran(used=[unused], root=name, why="tests were selected (-k)")
    going, left = found(folder, reason, older_than=timedelta(1))
    assert left == {unused.name: "shared: a run of the tests of other used it"}
    assert unused.name not in going


def test_what_another_one_may_have_used_is_shared(folder, two):
    used, unused = two
    folder.ran([unused], [used])
    folder.ran(root=other_project(folder), known=False)
    assert found(folder, Reason.ORPHAN) == ({}, {unused.name: "shared: a run of the tests of other may have used it"})


def test_age_takes_nothing_of_which_child_processes_may_know(folder, two):
    folder.ran(used=two[:1], known=False)
    going, left = found(folder, Reason.OLD, older_than=timedelta(1))
    assert going == {}
    assert set(left.values()) == {"shared: what child processes used of its cassette is not known"}


def test_a_cassette_that_is_being_made_is_left(folder, two):
    used, unused = two
    folder.ran([unused], [used])
    marker = folder.root / ".onetake" / "making" / FOLDER / "begun"
    marker.parent.mkdir(parents=True)
    marker.touch()
    going, left = found(folder, Reason.ORPHAN)
    assert (going, list(left)) == ({}, [unused.name])
    assert "is being made" in left[unused.name]


def test_what_cannot_be_read_or_has_another_name_never_goes(folder, two):
    torn, other = two
    folder.settings("schema_version = 2")
    torn.write_bytes(torn.read_bytes()[:-10])
    other.rename(other.with_name("a-copy.json"))
    assert found(folder, Reason.STALE, Reason.OLD, older_than=timedelta(1)) == ({}, {})


@pytest.fixture
def reject(folder, direct):
    """Make a reject of a cassette; returns its file."""

    def make(text="x", place=FOLDER):
        store = AsideStore(folder.root, "rejects", folder.root / place)
        folder.record((text, "no JSON"), folder=place, rejects=store, on_reject="pass")
        (slot,) = [one for one in store.names() if one not in seen]
        seen.append(slot)
        return folder.root / ".onetake" / "rejects" / place / Path(store.locate(*slot)).name

    seen = []
    return make


def test_rejects_go_with_their_sidecars_and_those_of_a_part_alone(folder, two, reject):
    first, second = reject("x"), reject("y", "cassettes/test_a/test_c")
    made = plan(folder.root, wanted(Reason.REJECT))
    assert {one.path: one.why[Reason.REJECT] for one in made.entries} == dict.fromkeys(
        (first, second), "reject:violation: it is never replayed"
    )
    assert {one.path.parent.parent for one in made.sidecars} == {first.parent, second.parent}
    assert found(folder, Reason.REJECT, start=FOLDER) == ({first.name: ["reject"]}, {})
    assert found(folder, Reason.STALE) == ({}, {})
    first.write_bytes(b"{")
    assert found(folder, Reason.REJECT) == ({second.name: ["reject"]}, {first.name: "it cannot be read"})


def test_sidecars_go_once_nothing_names_them(folder, two):
    used, unused = two
    folder.ran([unused], [used])
    assert plan(folder.root, wanted(Reason.ORPHAN)).sidecars == []
    folder.ran(two)
    (schema,) = plan(folder.root, wanted(Reason.ORPHAN)).sidecars
    assert (schema.path.parent.name, schema.size) == ("_schemas", schema.path.stat().st_size)
    assert plan(folder.root, wanted(Reason.TRASH)).sidecars == []
    folder.ran(used=two)
    assert plan(folder.root, wanted(Reason.SIDECAR)).sidecars == []
    used.unlink(), unused.unlink()
    assert [one.path for one in plan(folder.root, wanted(Reason.SIDECAR)).sidecars] == [schema.path]


@pytest.mark.parametrize("most", [None, 1])
def test_a_pinned_reject_stays_whoever_pinned_it(folder, reject, most):
    own, by_path, by_key, going = (reject(word) for word in ("own", "path", "key", "going"))
    folder.rewrite(own, pinned={"at": "2026-01-01T00:00:00Z", "reason": "for a talk"})
    words = [by_path.relative_to(folder.root).as_posix(), folder.load(by_key).key[:12]]
    folder.settings(top=f"pinned = {words}")
    went, left = found(folder, *([] if most else [Reason.REJECT]), most=most)
    assert went == {going.name: ["reject"]}
    assert (left[own.name], left[by_path.name], left[by_key.name]) == (
        "pinned: for a talk",
        f"pinned by the settings: {words[0]!r}",
        f"pinned by the settings: {words[1]!r}",
    )


EACH = [{reason} for reason in (Reason.REJECT, Reason.SIDECAR, Reason.TRASH, Reason.STALE)] + [set()]


@pytest.mark.parametrize("reasons", EACH, ids=str)
def test_a_word_that_pins_nothing_is_told_whatever_is_wanted(folder, two, reject, reasons):
    pinned = reject("pinned")
    words = [f"{FOLDER}/*", folder.load(two[0]).key, pinned.relative_to(folder.root).as_posix()]
    most = None if reasons else 1
    folder.settings(top=f"pinned = {words}")
    assert plan(folder.root, wanted(*reasons, most=most)).pins == {}
    folder.settings(top=f"pinned = {[*words, 'cassettes/typo']}")
    assert plan(folder.root, wanted(*reasons, most=most)).pins == {folder.root: ["cassettes/typo"]}
    assert plan(folder.root / FOLDER, wanted(*reasons, most=most)).pins == {}, "it may name what lies elsewhere"


def in_trash(folder, name, size, days):
    path = folder.root / ".onetake" / "trash" / FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (1_700_000_000 + days * 86400,) * 2)
    return path


def test_a_limit_takes_trash_then_rejects_then_orphans_then_what_is_stale(folder, answer, reject):
    used, *orphans, stale = folder.record(("a", answer), ("b", answer), ("c", answer), ("d", answer))
    for number, path in enumerate((used, *orphans, stale)):
        folder.rewrite(path, recorded_at=f"2026-01-0{9 - number}T00:00:00Z")
    folder.ran(orphans, [used, stale])
    folder.rewrite(stale, pinned=None)
    folder.edit(stale, '"schema_version": 1', '"schema_version": 7')
    rejected = reject()
    older, old = in_trash(folder, "older", 500, 1), in_trash(folder, "old", 500, 2)
    size = {path: path.stat().st_size for path in (used, stale, *orphans, rejected, older, old)}
    whole = plan(folder.root, wanted(most=10**9))
    assert (whole.entries, whole.emptied, whole.over) == ([], [], 0)
    sides = list(folder.root.rglob("_schemas/*.json"))
    assert whole.kept == sum(size.values()) + sum(path.stat().st_size for path in sides)

    def taken(less):
        made = plan(folder.root, wanted(most=whole.kept - less))
        return [one.path for _, one in made.emptied], [one.path for one in made.entries], made.over

    assert taken(1) == ([older], [], 0)
    assert taken(501) == ([older, old], [], 0)
    assert taken(1001) == ([older, old], [rejected], 0)
    oldest_first = list(reversed(orphans))
    with_it = sum(path.stat().st_size for path in sides if ".onetake" in path.parts)
    so_far = 1000 + size[rejected] + with_it
    assert taken(so_far + 1) == ([older, old], [rejected, oldest_first[0]], 0)
    everything = plan(folder.root, wanted(most=1))
    assert [one.path for one in everything.entries] == [rejected, *oldest_first, stale]
    assert everything.over == size[used] + min(path.stat().st_size for path in sides) - 1


def test_a_limit_takes_no_orphans_that_nothing_proves(folder, two):
    made = plan(folder.root, wanted(most=1))
    assert (made.entries, list(made.unproved)) == ([], [folder.root])
    assert made.over == made.kept - 1


def test_settings_that_are_wrong_are_told(folder, two):
    folder.settings(top='pinned = "x"')
    with pytest.raises(UsageError, match="pinned"):
        plan(folder.root, wanted(Reason.SIDECAR))


def test_br_142_to_look_changes_nothing(folder, two, reject):
    reject()
    folder.ran(two)
    folder.settings("schema_version = 2")
    before = {path: path.read_bytes() for path in folder.root.rglob("*") if path.is_file()}
    plan(folder.root, wanted(*Reason, older_than=timedelta(1), most=1))
    assert {path: path.read_bytes() for path in folder.root.rglob("*") if path.is_file()} == before

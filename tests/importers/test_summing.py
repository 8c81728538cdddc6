"""Totals grow file by file."""

from __future__ import annotations

from pathlib import Path

from onetake.importers.counting import Groups
from onetake.importers.importing import Imported, Row
from onetake.importers.judging import Outcome
from onetake.importers.summing import Totals

A, B = Path("x/a.yaml"), Path("y/b.yaml")


def row(outcome):
    return Row(A, 0, outcome, "")


def test_totals_are_those_of_all_files():
    totals = Totals(dry_run=False)
    rows = (row(Outcome.IMPORTED), row(Outcome.LOOSE), row(Outcome.LOOSE))
    totals.add(
        Imported(
            A, "vcrpy", 3, rows, Groups(1, 2, 3, 4, 5, 6), {"jwt": 2}, 1, 10, 9, ("h:1",), ("cut",), root=Path("r")
        )
    )
    assert totals.are_all_in
    assert (totals.were_there, totals.new, dict(totals.loose)) == (2, 1, {Path("r"): 2})
    totals.add(Imported(B, "go-vcr", rows=(row(Outcome.FOREIGN),)))
    totals.add(Imported(B, "vcrpy", 1, (row(Outcome.REFUSED),), Groups(1), {"jwt": 1}, hosts=("h:2",), never_played=1))
    assert not totals.are_all_in
    assert (totals.hosts, totals.keep) == ({"h:1", "h:2"}, {"cut"})
    assert totals.folders == {A.parent: A, B.parent: B}
    assert totals.as_json() == {
        "files": 3,
        "interactions": 4,
        "distinct": 2,
        "imported": 1,
        "loose": 2,
        "refused": 1,
        "would_not_record": 0,
        "foreign": 1,
        "url_only_groups": 2,
        "repeated_groups": 3,
        "repeated_other_answers": 4,
        "repeated_other_statuses": 5,
        "credential_groups": 6,
        "never_played": 1,
        "written": 1,
        "answer_bytes": {"read": 10, "stored": 9},
        "secrets": {"jwt": 3},
        "dry_run": False,
    }


def test_a_dry_run_has_written_nothing():
    totals = Totals(dry_run=True)
    totals.add(Imported(A, "vcrpy", 1, (row(Outcome.IMPORTED),), written=1))
    assert (totals.new, totals.as_json()["written"]) == (1, 0)

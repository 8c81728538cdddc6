"""Which entries another one has taken the place of, by the runs on record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onetake.model import Entry, KeySpec, Request, Response
from onetake.stores.naming import parse_name
from onetake.succession import Come, come, passed_in, passed_over
from onetake.usage import CassetteUsage, UsageRun, write_run
from onetake.validity import UNKNOWN, when

REQUEST = Request("POST", "https://api.openai.com/v1/chat/completions", (), b"{}")
OLD, NEW = ("a" * 16, 0), ("b" * 16, 0)
USED_OLD, USED_NEW = CassetteUsage(used=frozenset({OLD})), CassetteUsage(used=frozenset({NEW}))
LEFT_OLD = CassetteUsage(used=frozenset({NEW}), unused=frozenset({OLD}))


@pytest.fixture
def entry():
    """An entry that a test recorded."""
    said = {"recorded_at": "2026-01-01T00:00:00Z", "test": "t.py::a"}
    return Entry("good", REQUEST, Response(200, (), b"{}"), "c" * 64, 0, KeySpec("k1", "s1", {}), provenance=said)


@pytest.mark.parametrize(
    ("runs", "is_passed"),
    [
        ([("2026-01-02", USED_OLD), ("2026-01-04", USED_NEW)], True),  # a newer one is used instead
        ([("2026-01-02", LEFT_OLD)], True),  # a whole and green run left it
        ([("2026-01-04", USED_NEW)], False),  # the run may have stopped before it
        ([("2026-01-02", USED_OLD)], False),
        ([("2026-01-02", USED_OLD), ("2026-01-04", USED_NEW), ("2026-01-05", USED_OLD)], False),
        ([("2026-01-02", LEFT_OLD), ("2026-01-04", USED_OLD)], False),
        ([("2025-01-02", LEFT_OLD)], False),  # it came after that run
        ([], False),
    ],
)
def test_an_entry_is_passed_over_where_runs_used_another_in_its_place(runs, is_passed):
    entries = [Come(OLD, "t.py::a", when("2026-01-01")), Come(NEW, "t.py::a", when("2026-01-03"))]
    assert passed_over(entries, runs) == ({OLD} if is_passed else set())


@pytest.mark.parametrize(
    ("at", "is_passed"), [("2026-01-02T10:00:00+09:00", True), ("2026-01-02T04:00:00-09:00", False)]
)
def test_moments_count_and_not_how_they_are_written(at, is_passed):
    runs = [("2026-01-01T00:00:00Z", USED_OLD), ("2026-01-02T08:00:00Z", LEFT_OLD)]
    assert passed_over([Come(OLD, "", when(at))], runs) == ({OLD} if is_passed else set())


@pytest.mark.parametrize("tests", [("t.py::a", "t.py::b"), ("", "")])
def test_what_others_recorded_later_takes_no_place(tests):
    entries = [Come(OLD, tests[0], when("2026-01-01")), Come(NEW, tests[1], when("2026-01-03"))]
    assert passed_over(entries, [("2026-01-02", USED_OLD), ("2026-01-04", USED_NEW)]) == set()


def test_what_one_session_recorded_one_after_the_other_is_all_in_use():
    entries = [Come(OLD, "t.py::a", when("2026-01-01")), Come(NEW, "t.py::a", when("2026-01-02"))]
    recorded = CassetteUsage(used=frozenset({OLD, NEW}))
    assert passed_over(entries, [("2026-01-03", recorded), ("2026-01-04", USED_NEW)]) == set()


def test_an_entry_came_when_it_was_recorded_or_adopted(entry):
    assert come(entry) == Come((entry.key[:16], entry.ordinal), "t.py::a", when("2026-01-01"))
    adopted = replace(entry, provenance={**entry.provenance, "adopted": {"at": "2026-01-09"}})
    assert come(adopted).at == when("2026-01-09")
    assert come(replace(entry, provenance={"adopted": {"at": 5}})).at == UNKNOWN


def test_the_ledgers_of_a_project_are_read(tmp_path, entry):
    slot = parse_name(f"x-{entry.key[:16]}.json")
    assert passed_in(tmp_path / "tape", tmp_path, [entry]) == set()
    left = {"tape": CassetteUsage(unused=frozenset({slot}))}
    write_run(tmp_path, UsageRun("2026-01-02T00:00:00Z", cassettes=left))
    assert passed_in(tmp_path / "tape", tmp_path, [entry]) == {slot}
    assert passed_in(tmp_path / "other", tmp_path, [entry]) == set()

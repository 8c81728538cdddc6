"""The rules and the days that an entry stores, and rules as sets."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from onetake.model import Entry, KeySpec, Request, Response
from onetake.options import joined
from onetake.settings import KeyRules, key_rules
from onetake.upkeep.stored_rules import days_of, without

ALL = {
    "ignore": ["$.a", "$.b"],
    "ids": ["$.c"],
    "volatile": ["today"],
    "replace": [{"pattern": 'x"y', "with": "\\1"}],
    "headers": ["x-a"],
    "origins": {"https://a": "b"},
}


def entry_at(recorded_at):
    return Entry(
        "good", Request("GET", "https://x"), Response(200), "0" * 64, 0, KeySpec("k1", "s1"), provenance=recorded_at
    )


@pytest.mark.parametrize("recorded_at", [{}, {"recorded_at": "soon"}, {"recorded_at": 7}])
def test_an_entry_without_a_time_has_no_day(recorded_at):
    assert days_of(entry_at(recorded_at)) == ()


def test_an_entry_has_the_days_of_its_recording_in_utc_and_here():
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    wanted = tuple(sorted({date(2026, 3, 1), noon.astimezone().date()}))
    assert days_of(entry_at({"recorded_at": "2026-03-01T12:00:00Z"})) == wanted
    assert days_of(entry_at({"recorded_at": "2026-03-01T12:00:00"})) == wanted
    assert date(1, 1, 1) in days_of(entry_at({"recorded_at": "0001-01-01T00:00:00Z"}))


@pytest.mark.parametrize("name", ALL)
def test_rules_are_taken_from_rules(name):
    whole, one = key_rules(ALL), key_rules({name: ALL[name]})
    rest = without(whole, one)
    assert without(one, whole) == KeyRules()
    assert without(rest, one) == rest
    assert getattr(rest, name) in ((), {})
    assert joined(one, rest) != rest

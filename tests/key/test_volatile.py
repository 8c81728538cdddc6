from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from onetake.key.volatile import PLACEHOLDER, numeric_spellings, replace, today, worded_spellings

SUNDAY = date(2026, 11, 29)
FIFTH = date(2026, 1, 5)


@pytest.mark.parametrize(
    "spelling",
    [
        "2026-11-29",
        "2026/11/29",
        "2026.11.29",
        "20261129",
        "29 November 2026",
        "29 Nov 2026",
        "29th of November 2026",
        "29-Nov-2026",
        "November 29, 2026",
        "November 29th, 2026",
        "November 29 2026",
        "Nov 29, 2026",
        "Nov. 29, 2026",
        "Sunday, November 29, 2026",
        "Sunday, 29 November 2026",
        "Sun, 29 Nov 2026",
        "Sun Nov 29 2026",
        "Sunday 2026-11-29",
        "2026-11-29 (Sunday)",
        "2026-11-29, Sunday",
        "11/29/2026",
        "29/11/2026",
        "29.11.2026",
        "29-11-2026",
        "2026年11月29日",
    ],
)
def test_each_spelling_becomes_the_placeholder_and_its_neighbours_stay(spelling):
    assert replace(f"Today is {spelling}. Go", (SUNDAY,)) == f"Today is {PLACEHOLDER}. Go"
    assert replace(f"({spelling})", (SUNDAY,)) == f"({PLACEHOLDER})"


@pytest.mark.parametrize(
    "spelling",
    ["2026-01-05", "2026-1-5", "1/5/2026", "01/05/2026", "5.1.2026", "05.01.2026", "January 05, 2026", "5 Jan 2026"],
)
def test_leading_zeros_may_be_there_or_not(spelling):
    assert replace(f"on {spelling}", (FIFTH,)) == f"on {PLACEHOLDER}"


def test_the_date_of_a_time_stamp_goes_and_its_time_stays():
    assert replace("at 2026-11-29T10:15:00Z and 20261129T101500Z", (SUNDAY,)) == (
        f"at {PLACEHOLDER}T10:15:00Z and {PLACEHOLDER}T101500Z"
    )


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-28 and 2026-11-30",
        "November 28, 2026",
        "12026-11-29",
        "2026-11-291",
        "120261129",
        "202611290",
        "1.29.11.2026",
        "29.11.2026.1",
        "logs/2026/11/29/07",
        "xNov 29, 2026",
        "129 Nov 2026",
        "2025-11-29",
        "Sunday",
        "29 November",
        "Saturday",
    ],
)
def test_nothing_else_is_touched(text):
    assert replace(text, (SUNDAY,)) == text


def test_a_wrong_weekday_stays_beside_the_date():
    assert replace("Monday, November 29, 2026", (SUNDAY,)) == f"Monday, {PLACEHOLDER}"


def test_two_days_are_one_placeholder():
    assert replace("2026-11-29 2026-01-05 2026-11-30", (FIFTH, SUNDAY)) == f"{PLACEHOLDER} {PLACEHOLDER} 2026-11-30"


@pytest.mark.parametrize(
    ("day", "ordinal"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"), (21, "21st")],
)
def test_english_ordinals(day, ordinal):
    assert f"May {ordinal}, 2026" in worded_spellings(date(2026, 5, day))


def test_no_spelling_is_listed_twice():
    for day in (SUNDAY, FIFTH, date(2026, 5, 5)):
        for listed in (numeric_spellings(day), worded_spellings(day)):
            assert len(listed) == len(set(listed))


def test_today_is_here_and_in_utc():
    before = {datetime.now().astimezone().date(), datetime.now(UTC).date()}
    days = today()
    after = {datetime.now().astimezone().date(), datetime.now(UTC).date()}
    assert set(days) in (before, after)
    assert list(days) == sorted(days)

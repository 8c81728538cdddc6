"""The spellings of a day that `volatile = ["today"]` takes out of a request: a closed list, in English or digits."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from functools import lru_cache

PLACEHOLDER = "[onetake:today]"
"""Stands for the date in the keyed request."""

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def today() -> tuple[date, ...]:
    """Return the current day here and in UTC, sorted: one day, or two where they differ."""
    return tuple(sorted({datetime.now().astimezone().date(), datetime.now(UTC).date()}))


def replace(text: str, days: tuple[date, ...]) -> str:
    """Put the placeholder in the place of every spelling of the *days*, with a weekday that stands beside it.

    A digit beside a spelling, or beyond a `-`, `/` or `.` beside it, makes it a part of something longer, which stays:
    `2026-11-291`, `1.29.11.2026`, a path `2026/11/29/07`. A letter beside a month's name does so too.
    """
    if not any(str(day.year) in text for day in days):  # every spelling holds the year
        return text
    return _pattern(days).sub(PLACEHOLDER, text)


def numeric_spellings(day: date) -> list[str]:
    """List the spellings in digits, each with and without leading zeros: `2026-11-29`, `29.11.2026`, …"""
    found = []
    for month, number in ((f"{day.month:02}", f"{day.day:02}"), (str(day.month), str(day.day))):
        found += [f"{day.year}{mark}{month}{mark}{number}" for mark in "-/."]
        found += [f"{number}{mark}{month}{mark}{day.year}" for mark in "-/."]
        found += [f"{month}{mark}{number}{mark}{day.year}" for mark in "-/"]
        found.append(f"{day.year}年{month}月{number}日")
    return list(dict.fromkeys(found))


def worded_spellings(day: date) -> list[str]:
    """List the spellings with the month's name, in full or three letters: `November 29, 2026`, `29 Nov 2026`, …"""
    name = _MONTHS[day.month - 1]
    found = []
    for month in (name, name[:3], f"{name[:3]}."):
        for number in (f"{day.day:02}", str(day.day), f"{day.day}{_ordinal(day.day)}"):
            found += [f"{month} {number}, {day.year}", f"{month} {number} {day.year}"]
            found += [f"{number} {month} {day.year}", f"{number} {month}, {day.year}", f"{number}-{month}-{day.year}"]
            found.append(f"{number} of {month} {day.year}")
    return list(dict.fromkeys(found))


@lru_cache(maxsize=64)
def _pattern(days: tuple[date, ...]) -> re.Pattern[str]:
    return re.compile("|".join(_day_pattern(day) for day in days))


def _day_pattern(day: date) -> str:
    full = _WEEKDAYS[day.weekday()]
    weekday = f"(?:{full}|{full[:3]})"
    digits = "|".join(map(re.escape, numeric_spellings(day)))
    # A spelling may start with a digit or a letter: "29 Nov 2026", "Nov 29, 2026".
    words = "|".join(map(re.escape, worded_spellings(day)))
    dated = rf"(?:(?<![0-9A-Za-z])(?:{words})|(?<![0-9])(?<![0-9][-/.])(?:{digits}))(?![0-9])(?![-/.][0-9])"
    beside = rf"(?: \({weekday}\)|, {full}(?![A-Za-z]))?"
    return rf"(?:(?<![0-9A-Za-z]){weekday},? )?{dated}{beside}|(?<![0-9]){day:%Y%m%d}(?![0-9])"


def _ordinal(number: int) -> str:
    if number in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")

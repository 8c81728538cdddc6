"""Which entries another one has taken the place of, by the runs on record: they are no longer what a test asks for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from onetake.aside import place_of
from onetake.model import Entry
from onetake.stores.naming import Slot
from onetake.usage import CassetteUsage, UsageRun, ledgers_in, read_run
from onetake.validity import UNKNOWN, when

_RUNS = 5
"""Runs on record that are read to tell of a miss which entries were in use; a ledger of 10,000 takes some 50 ms."""


class Come(NamedTuple):
    """An entry, as far as it matters who came after it.

    Args:
        slot: What it is found by.
        test: The test that recorded it, or for which it was adopted; empty where none did.
        at: When it came to where it is; `UNKNOWN` where it does not say so.
    """

    slot: Slot
    test: str
    at: datetime


def come(entry: Entry) -> Come:
    """Return what matters here of an entry."""
    adopted = entry.provenance.get("adopted")
    at = adopted.get("at") if isinstance(adopted, dict) else entry.provenance.get("recorded_at")
    test = str(entry.provenance.get("test") or "")
    return Come((entry.key[:16], entry.ordinal), test, when(at))


def passed_over(entries: Iterable[Come], runs: Iterable[tuple[str, CassetteUsage]]) -> frozenset[Slot]:
    """Return the entries that runs passed over, and none has used since.

    A run that was whole and green left it without use; or runs used it, and then what the same test recorded after.
    Where no run is on record that used it, a later entry alone proves nothing: a test may have stopped before it.

    Args:
        entries: Those of one cassette.
        runs: What each run did with it, and when that run ended, RFC 3339 in UTC; in any order.
    """
    used: dict[Slot, datetime] = {}
    left: dict[Slot, datetime] = {}
    for at, usage in runs:
        _note(used, usage.used, when(at))
        _note(left, usage.unused, when(at))
    known = list(entries)
    newest = _newest_in_use(known, used)

    def is_passed(one: Come) -> bool:
        last = max(used.get(one.slot, UNKNOWN), one.at)
        return last < left.get(one.slot, UNKNOWN) or (one.slot in used and last < newest.get(one.test, UNKNOWN))

    return frozenset(one.slot for one in known if is_passed(one))


def passed_in(folder: Path, root: Path, entries: Iterable[Entry]) -> frozenset[Slot]:
    """Return which entries of a cassette the newest runs on record passed over; each ledger is read once a process.

    Args:
        folder: The cassette's.
        root: The settings' folder.
        entries: Those that are looked at.
    """
    real = Path(os.path.realpath(root))
    place = place_of(Path(os.path.realpath(folder)), real)
    runs = (_read(path) for path in ledgers_in(real)[:_RUNS])
    return passed_over(map(come, entries), ((run.at, one) for run in runs if run and (one := run.cassettes.get(place))))


@lru_cache(maxsize=_RUNS)
def _read(path: Path) -> UsageRun | None:
    return read_run(path)


def _note(found: dict[Slot, datetime], slots: Iterable[Slot], at: datetime) -> None:
    for slot in slots:
        found[slot] = max(found.get(slot, UNKNOWN), at)


def _newest_in_use(entries: Iterable[Come], used: Mapping[Slot, datetime]) -> dict[str, datetime]:
    """Return of each test when the newest of its entries came that a run used."""
    newest: dict[str, datetime] = {}
    for one in entries:
        if one.test and used.get(one.slot, UNKNOWN) >= one.at:
            newest[one.test] = max(newest.get(one.test, UNKNOWN), one.at)
    return newest

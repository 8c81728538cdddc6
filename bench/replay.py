"""Replay through httpx: a call, and opening a cassette with its first call, at several sizes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.peers import Case, Way, ways
from bench.timing import ratio, rounds, settled, timed

CASES = (
    (10, 2_000, "long"),
    (300, 2_000, "long"),
    (2_000, 2_000, "long"),
    (100_000, 2_000, "long"),
    (10, 20_000, "long"),
    (300, 20_000, "long"),
    (2_000, 20_000, "long"),
    (300, 20_000, "many"),
)
"""Entries, bytes of a request body, and its shape."""

_MOST = {"vcrpy": 2_000 * 2_000, "cassetter": 2_000 * 20_000}
"""Entries × bytes above which a peer takes minutes, so it is left out."""
_CANNOT = {("cassetter", 300, "many")}
"""Refused by the peer itself: its YAML reader takes at most 250,000 nodes."""
_SLOW = {"vcrpy": 10}
"""Entries above which a peer's call takes tens of milliseconds or more: ten calls in one round say enough."""


def measure(folder: Path, *, calls: int, count: int, entries: int | None = None) -> list[dict[str, Any]]:
    """Measure every case.

    Args:
        folder: Where cassettes may be written.
        calls: Calls a figure, at least.
        count: Rounds.
        entries: Only the cases of so many entries; a number that no case has stands for a case of its own at 2 KB.
    """
    cases = [case for case in CASES if entries in (None, case[0])] or [(entries or 0, 2_000, "long")]
    return [_measured(Case(folder, *case), calls, count) for case in cases]


def _measured(case: Case, calls: int, count: int) -> dict[str, Any]:
    usable = {name: way for name, way in ways().items() if _can(name, case)}
    for way in usable.values():
        way.write(case)
    slow = {name for name in usable if case.entries > _SLOW.get(name, 10**9)}
    openings: dict[str, list[float]] = {name: [] for name in usable}

    def run(name: str) -> list[float]:
        seconds: list[float] = []
        while len(seconds) < calls / count:
            seconds += _session(case, usable[name], openings[name], calls // count + 1)
        return seconds

    found = rounds({name: partial(run, name) for name in usable if name not in slow}, count)
    for name in slow:
        with settled():
            found[name] = [median(_session(case, usable[name], openings[name], 11))] * count
    return {
        "entries": case.entries,
        "body": case.size,
        "shape": case.shape,
        "call_us": {name: round(median(seconds) * 1e6, 1) for name, seconds in found.items()},
        "times_bare": {name: round(ratio(found, name, "bare"), 2) for name in found},
        "open_ms": {name: round(median(seconds) * 1e3, 2) for name, seconds in openings.items()},
    }


def _can(name: str, case: Case) -> bool:
    within = case.entries * case.size <= _MOST.get(name, 10**9)
    return within and (name, case.entries, case.shape) not in _CANNOT


def _session(case: Case, way: Way, openings: list[float], calls: int) -> list[float]:
    """Open a cassette, make calls, and return the seconds of each but the first, which counts as opening."""
    first, *rest = case.some(calls, seed=len(openings))
    began = perf_counter()
    with way.open(case) as ask:
        ask(first)
        openings.append(perf_counter() - began)
        return [timed(partial(ask, number)) for number in rest]

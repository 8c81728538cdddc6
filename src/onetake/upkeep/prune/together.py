"""The answers to one request go together: a replay that gives them out in order stops at the first that is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from onetake.stores.naming import parse_name
from onetake.upkeep.prune.prunable import BY_RUNS, Left, Prunable

Present = Mapping[Path, Mapping[str, set[int]]]
"""By cassette and first 16 hex digits of the key: the ordinals of the answers that lie there."""

_WHY = "other answers to its request stay, and a replay that gives them out in order needs all of them"


def group_of(one: Prunable) -> tuple[Path, str]:
    """Return what the answers to one request of a cassette share."""
    return one.folder, _slot(one)[0]


def together(entries: Iterable[Prunable], present: Present) -> tuple[list[Prunable], list[Left]]:
    """Say which of the entries that are to go may: those of which no answer to the same request stays.

    Answers that a run of all tests left without use may go alone where none behind them stays.

    Args:
        entries: Those that are to go, each with all its reasons.
        present: What lies in their cassettes; a folder that is not named there holds what is never replayed.

    Returns:
        Those that may go, and the others.
    """
    whole = list(entries)
    groups: dict[tuple[Path, str], dict[int, Prunable]] = defaultdict(dict)
    for one in whole:
        groups[group_of(one)][_slot(one)[1]] = one
    staying: set[Path] = set()
    for (folder, key), going in groups.items():
        there = present.get(folder, {}).get(key, set())
        if there - going.keys():
            tail = _unused_tail(there, going)
            staying |= {one.path for number, one in going.items() if number not in tail}
    left = [Left(one.path, _WHY) for one in whole if one.path in staying]
    return [one for one in whole if one.path not in staying], left


def _unused_tail(there: set[int], going: Mapping[int, Prunable]) -> set[int]:
    tail: set[int] = set()
    for number in sorted(there, reverse=True):
        if number not in going or BY_RUNS.isdisjoint(going[number].why):
            break
        tail.add(number)
    return tail


def _slot(one: Prunable) -> tuple[str, int]:
    return parse_name(one.path.name) or (one.path.name, 0)

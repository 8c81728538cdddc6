"""Find what two sequences share in the same order, so that one item put in between does not shift all that follow."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

_FEW = 8
"""A token that is there more often is only looked for near its own place, or equal items would cost their square."""
_NEAR = 16

_Chain = tuple[int, int, "_Chain | None"]


def common_places(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Return a longest common subsequence of two sequences.

    Args:
        a: Tokens; equal tokens stand for equal items.
        b: Tokens.

    Returns:
        Pairs of places `(in a, in b)`, both rising. It may fall short of the longest where one token is there over
        8 times and has moved by over 16 places.

    Source: Hunt and Szymanski 1977, whose cost follows the number of matches; few tokens of real requests repeat.
    """
    places: dict[str, list[int]] = {}
    for j, token in enumerate(b):
        places.setdefault(token, []).append(j)
    ends: list[int] = []
    chains: list[_Chain] = []
    for i, token in enumerate(a):
        for j in reversed(_near(places.get(token, []), i)):
            length = bisect_left(ends, j)
            chain: _Chain = (i, j, chains[length - 1] if length else None)
            ends[length : length + 1] = [j]
            chains[length : length + 1] = [chain]
    return _unwind(chains[-1] if chains else None)


def _near(places: list[int], at: int) -> list[int]:
    if len(places) <= _FEW:
        return places
    return places[bisect_left(places, at - _NEAR) : bisect_right(places, at + _NEAR)]


def _unwind(chain: _Chain | None) -> list[tuple[int, int]]:
    found = []
    while chain is not None:
        i, j, chain = chain
        found.append((i, j))
    return found[::-1]

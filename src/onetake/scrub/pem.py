"""Private keys in PEM and PGP armour, walked mark by mark, so that many marks cost no more than few."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from onetake.scrub.shapes import PRIVATE_KEY

_LEAST, _MOST = 24, 16384
"""Characters between the marks."""
_NOT_WITHIN = re.compile(r"[^A-Za-z0-9+/=\s:,.()-]")


def private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the private keys of a text are; one that was cut off reaches to the end of the text."""
    marks = list(PRIVATE_KEY.pattern.finditer(text)) if "PRIVATE KEY" in text else []
    ends: dict[str, list[re.Match[str]]] = {}
    for mark in marks:
        if mark["is"] == "END":
            ends.setdefault(mark["of"], []).append(mark)
    done = broken = 0
    for mark in marks:
        first = mark.end()
        if mark["is"] != "BEGIN" or mark.start() < done:
            continue
        if broken < first:
            other = _NOT_WITHIN.search(text, first)
            broken = other.start() if other else len(text) + 1
        end = _end(ends.get(mark["of"], []), first, len(text))
        if end and end <= broken:
            done = end
            if PRIVATE_KEY.accept(text[mark.start() : end]):
                yield mark.start(), end


def _end(ends: list[re.Match[str]], first: int, length: int) -> int | None:
    at = bisect_left(ends, first + _LEAST, key=lambda mark: mark.start())
    if at < len(ends) and ends[at].start() - first <= _MOST:
        return ends[at].end()
    return length if _LEAST <= length - first <= _MOST else None

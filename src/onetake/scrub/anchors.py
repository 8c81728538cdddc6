"""Where in a text a shape may stand: at its literal, in a long word. Found at the speed of the C library."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onetake.scrub.shapes import SHAPES

_SHORTEST = 16
"""Characters without a break that every shape but the private key has; shorter words are not looked at."""
_CONTEXT = 12
"""Characters before a long word that may belong to its shape: `Bearer`."""

_WORD_CHARS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/.=%~")
_WORD = bytes(ord("x") if code in _WORD_CHARS else ord(" ") for code in range(256))
_LONG = b"x" * _SHORTEST
_ESCAPE = re.compile(r"\\(?:[bfnrt]|u[0-9A-Fa-f]{4})\Z")


def _by_start() -> dict[bytes, list[int]]:
    """Return the numbers of the shapes by what begins their literals, up to the last `-`, `_`, `.` or `=` if any."""
    found: dict[bytes, list[int]] = {}
    for number, shape in enumerate(SHAPES):
        for literal in shape.literals:
            start = re.match(r".*[-_.=]|.*", literal)
            found.setdefault(start[0].encode() if start else b"", []).append(number)
    return found


_BY_START = _by_start()
_MARKS = b"-_.="
_UNMARKED = [start for start in _BY_START if start[-1] not in _MARKS]
_BY_TAIL: dict[bytes, list[bytes]] = {}
for _start in _BY_START:
    if _start[-1] in _MARKS:
        _BY_TAIL.setdefault(_start[-3:], []).append(_start)
# Marks are rare, so a search for them that looks back is much faster than one for the literals, and base64 has none.
_MARK = re.compile(b"[-_.=](?<=" + b"|".join(map(re.escape, sorted(_BY_TAIL))) + b")")


def long_words(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the long words of a text in Latin-1 are, each with some characters before it."""
    # Two passes of the C library find the few long words of a text; regular expressions took fifty times as long.
    mapped = raw.translate(_WORD)
    start = mapped.find(_LONG)
    while start >= 0:
        end = mapped.find(b" ", start)
        end = len(mapped) if end < 0 else end
        yield max(0, start - _CONTEXT), end
        start = mapped.find(_LONG, end)


def distinct_words(text: str) -> set[bytes]:
    """Return the long words of a text, each once: a stream says the same words with every event."""
    raw = text.encode("latin-1", "replace")
    return {raw[start:end] for start, end in long_words(raw)}


def anchors(low: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """Return each literal in a text in lower case as (number of its shape, where it begins), by number."""
    found: list[tuple[int, int]] = []
    for each in _UNMARKED:
        at = low.find(each, start, end)
        while at >= 0:
            found += [(number, at) for number in _BY_START[each]]
            at = low.find(each, at + 1, end)
    for mark in _MARK.finditer(low, start, end):
        for each in _BY_TAIL[low[mark.end() - 3 : mark.end()]]:
            if low.endswith(each, 0, mark.end()):
                found += [(number, mark.end() - len(each)) for number in _BY_START[each]]
    return sorted(found)


def may_hold_shape(words: str) -> bool:
    """Tell quickly whether one of the words may be or hold a secret, also where an escape is its left boundary."""
    low = words.encode("latin-1", "replace").lower()
    for number, at in anchors(low, 0, len(low)):
        pattern = SHAPES[number].pattern
        if not SHAPES[number].is_anchored or pattern.match(words, at) or _ESCAPE.search(words, max(0, at - 6), at):
            return True
    return False

"""The words that changed from one text to another, so that the same can be done to texts like it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from onetake.printable import shared_prefix, shared_suffix

_WORDS_AROUND = 12
"""Words that may be taken along, so that what is replaced stands only once in its text."""
_MOST = 4_000_000
"""Pairs of words that are compared, about a second; texts with more that differ are changed in one piece."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


class NoFitError(Exception):
    """An operation does not fit a request: what it changes is not there, or is there already."""


def pieces(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Yield which words became which, each with as many of its neighbours as make it unique in the old text.

    Args:
        old: The one text.
        new: The other.
    """
    import difflib

    head = shared_prefix(old, new)
    tail = shared_suffix(old[head:], new[head:])
    a, b = _WORD.findall(old), _WORD.findall(new)
    # Outside of what differs, words are paired by place: a long text with one change needs no search.
    first, last = _words_within(a, b, head, tail)
    middle_a, middle_b = a[first : len(a) - last], b[first : len(b) - last]
    blocks = difflib.SequenceMatcher(None, middle_a, middle_b, autojunk=False).get_opcodes()
    for tag, a0, a1, b0, b1 in blocks if len(middle_a) * len(middle_b) <= _MOST else ():
        if tag != "equal":
            yield _unique(old, a, b, (first + a0, first + a1), (first + b0, first + b1))


def _words_within(a: list[str], b: list[str], head: int, tail: int) -> tuple[int, int]:
    def whole(words: Iterator[str], room: int) -> int:
        count = 0
        for word in words:
            room -= len(word)
            if room < 0:
                break
            count += 1
        return count

    first = min(whole(iter(a), head), whole(iter(b), head))
    last = min(whole(reversed(a), tail), whole(reversed(b), tail))
    return first, last


def _unique(old: str, a: list[str], b: list[str], was: tuple[int, int], now: tuple[int, int]) -> tuple[str, str]:
    (a0, a1), (b0, b1) = was, now
    for turn in range(2 * _WORDS_AROUND):
        piece = "".join(a[a0:a1])
        if piece.strip() and _finds(piece, old) == 1:
            break
        if turn % 2 == 0 and a0 and b0 and a[a0 - 1] == b[b0 - 1]:
            a0, b0 = a0 - 1, b0 - 1
        elif a1 < len(a) and b1 < len(b) and a[a1] == b[b1]:
            a1, b1 = a1 + 1, b1 + 1
    return "".join(a[a0:a1]), "".join(b[b0:b1])


def _finds(piece: str, text: str) -> int:
    return len(_pattern(piece).findall(text))


def _pattern(piece: str) -> re.Pattern[str]:
    """Match a piece of a text that begins and ends where words do."""
    start, end = (r"\b" if re.fullmatch(r"\w", sign) else "" for sign in (piece[:1], piece[-1:]))
    return re.compile(start + re.escape(piece) + end)


def reworded(text: str, changes: Iterable[tuple[str, str]]) -> str:
    """Return a text after changes of its words.

    Args:
        text: It.
        changes: Which words become which, one after the other.

    Raises:
        NoFitError: Words that are to be changed do not stand in it, or not only once.
    """
    for before, after in changes:
        found = list(_pattern(before).finditer(text)) if before else []
        if len(found) != 1:
            raise NoFitError
        text = text[: found[0].start()] + after + text[found[0].end() :]
    return text

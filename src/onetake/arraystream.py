"""Streams that are one JSON array: where its elements lie in the bytes.

Gemini streams so where it is not asked for server-sent events: `[{…}`, then `,\\r\\n{…}` for each further chunk, `]`.
"""

from __future__ import annotations

import re

_START = re.compile(
    rb'\s*+\[\s*+\{\s*+"(?:candidates|promptFeedback|usageMetadata|modelVersion|responseId|createTime)"\s*+:'
)
_MARK = re.compile(rb'["\\{}\[\]]')


def starts_array(data: bytes) -> bool:
    """Tell whether bytes begin such a stream.

    An array as such is a plain answer of many APIs. What tells the stream is the first name in its first element: that
    of a field of Gemini's responses.
    """
    return _START.match(data) is not None


class Elements:
    """Finds the elements of an array, objects or arrays, while its bytes come in; any chunk borders give the same."""

    def __init__(self) -> None:
        self._depth = self._at = self._start = 0
        self._in_string = False
        self._escaped = -1

    def feed(self, chunk: bytes) -> list[tuple[int, int]]:
        """Return where the elements that *chunk* completes start and end, counted from the first byte ever fed."""
        found = []
        for mark in _MARK.finditer(chunk):
            byte, place = mark[0], self._at + mark.start()
            if self._in_string:
                self._string(byte, place)
            elif byte == b'"':
                self._in_string = True
            elif byte in b"{[":
                self._depth += 1
                if self._depth == 2:
                    self._start = place
            elif byte in b"}]" and self._depth:
                self._depth -= 1
                if self._depth == 1:
                    found.append((self._start, place + 1))
        self._at += len(chunk)
        return found

    def _string(self, byte: bytes, place: int) -> None:
        if place == self._escaped:
            return
        if byte == b"\\":
            self._escaped = place + 1
        elif byte == b'"':
            self._in_string = False

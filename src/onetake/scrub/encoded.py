"""Text within bytes, and within base64. What is no text there (media, ciphertext) is passed over at once."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

_SHORTEST = 12
"""Characters of text in a row; less cannot hold a secret, and chance gives hardly any as long."""
_IS_TEXT = frozenset(b"\t\n\r") | frozenset(range(32, 127))
_KINDS = bytes(ord("x") if code in _IS_TEXT else ord(" ") if code else ord("0") for code in range(256))
_ROW = b"x" * _SHORTEST
_END_OF_ROW = re.compile(b"[^x]")
# ASCII in UTF-16, little or big endian, wherever it begins.
_WIDE_ROW = b"x0" * (_SHORTEST - 1) + b"x"
_END_OF_WIDE_ROW = re.compile(b"(?:x0)+x?")

_RUN = re.compile("[A-Za-z0-9+/_-]{22,}={0,2}")
_SHORTEST_RUN = 24
_STANDARD = bytes.maketrans(b"-_", b"+/")


def texts(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield every stretch of ASCII in bytes, also in UTF-16: (where it begins, the text)."""
    kinds = data.translate(_KINDS)
    start = kinds.find(_ROW)
    while start >= 0:
        found = _END_OF_ROW.search(kinds, start)
        end = found.start() if found else len(kinds)
        yield start, data[start:end].decode("ascii")
        start = kinds.find(_ROW, end)
    start = kinds.find(_WIDE_ROW)
    while start >= 0:
        row = _END_OF_WIDE_ROW.match(kinds, start)
        end = row.end() if row else len(kinds)
        yield start, data[start:end:2].decode("ascii")
        start = kinds.find(_WIDE_ROW, end)


def base64_texts(text: str) -> Iterator[tuple[re.Match[str], list[tuple[int, int, str]]]]:
    """Yield every long run of base64 that holds text.

    Returns:
        The run, and what it holds: (where it begins in the decoded bytes, how many these are, the text). A run may begin
        behind letters that only look like it, so each of the four places where it may begin is tried.
    """
    for run in _RUN.finditer(text):
        if run.end() - run.start() < _SHORTEST_RUN:
            continue
        letters = run.group().rstrip("=").encode().translate(_STANDARD)
        held = []
        for skip in range(4):
            decoded = _decoded(letters[skip:])
            held += [(start, len(decoded), found) for start, found in texts(decoded)]
        if held:
            yield run, held


def _decoded(letters: bytes) -> bytes:
    letters = letters[:-1] if len(letters) % 4 == 1 else letters
    return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))

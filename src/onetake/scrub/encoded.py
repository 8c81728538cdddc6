"""Text within bytes, and within base64. What is no text there (media, ciphertext) is passed over at once."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

_SHORTEST = 12
"""Characters of text in a row; less cannot hold a secret, and chance gives hardly any as long."""
_IS_TEXT = frozenset(b"\t\n\r") | frozenset(range(32, 127))
_KINDS = bytes(ord("x") if code in _IS_TEXT else ord(" ") if code else ord("0") for code in range(256))
_ROW = b"x" * _SHORTEST, re.compile(b"x+"), 1
# ASCII in UTF-16, little or big endian, wherever it begins: every other byte is 0.
_WIDE_ROW = b"x0" * (_SHORTEST - 1) + b"x", re.compile(b"(?:x0)+x?"), 2
_GAP = '"'
"""Between two stretches: belongs to no secret, nor to what may stand before one."""

_RUN = re.compile("[A-Za-z0-9+/_-]{22,}={0,2}")
_SHORTEST_RUN = 24
_LONG_RUN = 1024
_STANDARD = bytes.maketrans(b"-_", b"+/")
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ASCII_WITHIN = re.compile(
    b"(?:[%b][%b][%b][A-Za-z0-9+/]){4}"
    % tuple(bytes(letter for value, letter in enumerate(_LETTERS) if not value & bit) for bit in (32, 8, 2))
)
"""Base64 of 12 bytes under 128: each byte's upper bit is one bit of one letter."""


def text_within(data: bytes) -> str:
    """Return all stretches of ASCII in bytes, also those in UTF-16, one after the other with a `"` between them."""
    kinds = data.translate(_KINDS)
    found: list[bytes] = []
    for least, row, step in (_ROW, _WIDE_ROW):
        start = kinds.find(least)
        while start >= 0:
            whole = row.match(kinds, start)
            end = whole.end() if whole else start + len(least)
            found.append(data[start:end:step])
            start = kinds.find(least, end)
    return _GAP.join([stretch.decode("ascii") for stretch in found])


def base64_texts(text: str) -> Iterator[tuple[re.Match[str], int, str]]:
    """Yield the text in every long run of base64: (the run, how many bytes it decodes to, the text within them).

    A run may begin behind letters that only look like it, so each of the four places where it may begin is tried.
    """
    for run in _RUN.finditer(text):
        if run.end() - run.start() < _SHORTEST_RUN:
            continue
        letters = run.group().rstrip("=").encode().translate(_STANDARD)
        # For a short run a look at the letters costs less than to decode it four times.
        if len(letters) < _LONG_RUN and not _ASCII_WITHIN.search(letters):
            continue
        for skip in range(4):
            decoded = _decoded(letters[skip:])
            within = text_within(decoded)
            if within:
                yield run, len(decoded), within


def _decoded(letters: bytes) -> bytes:
    letters = letters[:-1] if len(letters) % 4 == 1 else letters
    return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))

"""Sizes as people write them and read them."""

from __future__ import annotations

import re

from onetake.errors import UsageError

_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
_SIZE = re.compile(r"([0-9]{1,12}(?:[.][0-9]{1,6})?) ?([KMG]?I?B?)", re.IGNORECASE)
_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def parse(word: str, option: str) -> int:
    """Return the bytes that a word of the command line means.

    Args:
        word: A number with a unit, or without one for bytes.
        option: Whose word it is, for the message.

    Raises:
        UsageError: It is no size.
    """
    found = _SIZE.fullmatch(word.strip())
    # `k` alone is `KB`.
    unit = f"{found[2].upper().removesuffix('B')}B" if found else ""
    if found is None or unit not in _BYTES:
        raise UsageError(f"{option} {word}: must be a size, as in 200MB, 1.5GB or 500000")
    return int(float(found[1]) * _BYTES[unit])


def shown(number: int) -> str:
    """Write a number of bytes: `21.3 MB`."""
    return next((f"{number / unit:.1f} {name}" for unit, name in _UNITS if number >= unit), f"{number} B")

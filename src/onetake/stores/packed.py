"""Bytes as a row of a store holds them: compressed, and with a digest of their name and themselves."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

_PLAIN, _ZLIB = 0, 1
_LEVEL = 1


def packed(data: bytes, name: Sequence[Any]) -> tuple[int, bytes, bytes]:
    """Return codec, digest and body of what is stored: compressed where that makes it smaller.

    Args:
        data: The bytes.
        name: What they are found by: an entry's slot, or the name of a sidecar alone.
    """
    small = zlib.compress(data, _LEVEL)
    codec, body = (_ZLIB, small) if len(small) < len(data) else (_PLAIN, bytes(data))
    return codec, digest(data, name), body


def unpacked(row: Sequence[Any], name: Sequence[Any]) -> bytes:
    """Return the bytes that were packed under a name.

    Args:
        row: Codec, digest and body as they are stored.
        name: As for `packed`.

    Raises:
        ValueError: They are not those; says why.
    """
    codec, said, body = row
    try:
        data = zlib.decompress(body) if codec == _ZLIB else bytes(memoryview(body))
    except (zlib.error, TypeError) as error:
        raise ValueError(error) from None
    if digest(data, name) != said:
        raise ValueError("its name and bytes do not have the digest that was stored with them")
    return data


def digest(data: bytes, name: Sequence[Any]) -> bytes:
    """Return the SHA-256 of a name and the bytes under it: it tells a row that is found in the place of another."""
    whole = sha256("-".join(map(str, name)).encode() + b"\n")
    whole.update(data)
    return whole.digest()

"""Content-encodings, undone: gzip, deflate, br and zstd."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Protocol

MAX_BYTES = 256 * 1024 * 1024
"""A body that decodes to more is not decoded: a few bytes of a bomb would fill the memory."""


class _NotSoEncodedError(ValueError):
    """The bytes are not, or not wholly, in the encoding that they are said to have; or they decode to too much."""


class _Inflater(Protocol):
    """What zlib's and zstandard's decompression objects have in common."""

    def decompress(self, data: bytes, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


def undo(body: bytes, encoding: str) -> bytes | None:
    """Undo the content-encoding of a body.

    Args:
        body: As it lies on the wire, after transfer decoding.
        encoding: The value of `content-encoding`, in any case: one name, or a comma list, which is undone from its end.

    Returns:
        The decoded body, at most 256 MiB; *body* itself where nothing is encoded or it is empty; None where the bytes
        are not (or not wholly) so encoded, the name is unknown, or its decoder (`brotli`, `zstandard`) is not
        installed.
    """
    if not body:
        return body
    names = [name.strip() for name in encoding.lower().split(",")]
    try:
        for name in reversed(names):
            if name not in ("", "identity"):
                body = _join(_DECODERS[name](body))
    except (KeyError, ImportError, _NotSoEncodedError):
        return None
    return body


def knows(encoding: str) -> bool:
    """Tell whether `undo` has a decoder for each name of a content-encoding.

    Args:
        encoding: As `undo` takes it.
    """
    names = [name for part in encoding.lower().split(",") if (name := part.strip()) not in ("", "identity")]
    return all(name in _DECODERS and find_spec(_MODULES.get(name, "zlib")) for name in names)


def _join(pieces: Iterable[bytes]) -> bytes:
    kept: list[bytes] = []
    size = 0
    for piece in pieces:
        kept.append(piece)
        size += len(piece)
        if size > MAX_BYTES:
            raise _NotSoEncodedError
    return b"".join(kept)


def _gzip(body: bytes) -> Iterator[bytes]:
    return _inflate(lambda: zlib.decompressobj(wbits=31), body, 65536, zlib.error)


def _deflate(body: bytes) -> Iterator[bytes]:
    """Undo `deflate`: zlib's wrapping as RFC 9110 says, else the bare stream that some senders write.

    Source: RFC 1950: a wrapped stream has 8 in the low half of its first byte, and its first two are a multiple of 31.
    """
    wrapped = body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    return _inflate(lambda: zlib.decompressobj(wbits=15 if wrapped else -15), body, 65536, zlib.error)


def _zstd(body: bytes) -> Iterator[bytes]:
    import zstandard

    # A block of four bytes may hold 128 KiB, hence the small step.
    return _inflate(lambda: zstandard.ZstdDecompressor().decompressobj(), body, 1024, zstandard.ZstdError)


def _inflate(new: Callable[[], _Inflater], body: bytes, step: int, fault: type[Exception]) -> Iterator[bytes]:
    """Decode streams that lie behind each other, *step* bytes at a time so that a bomb is seen early."""
    at = 0
    try:
        while at < len(body):
            decoder = new()
            while not decoder.eof:
                if at >= len(body):
                    raise _NotSoEncodedError
                yield decoder.decompress(body[at : at + step])
                at += step
            at = min(at, len(body)) - len(decoder.unused_data)
    except fault:
        raise _NotSoEncodedError from None


def _brotli(body: bytes) -> Iterator[bytes]:
    import brotli

    decoder = brotli.Decompressor()
    try:
        for at in range(0, len(body), 64):  # a few bytes may hold 16 MiB
            yield decoder.process(body[at : at + 64])
    except brotli.error:
        raise _NotSoEncodedError from None
    if not decoder.is_finished():
        raise _NotSoEncodedError


_DECODERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
_MODULES = {"br": "brotli", "zstd": "zstandard"}

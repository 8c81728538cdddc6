"""The wire under the scripted provider: what arrives, what goes back, and every way in which that can go wrong."""

from __future__ import annotations

import json
import os
import socket
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from email.utils import formatdate
from http import HTTPStatus
from threading import Event
from typing import Any, BinaryIO, Literal, Protocol

from onetake.errors import UsageError
from onetake.model import Headers, header

_LONGEST_LINE = 1 << 20
_LINGER_ZERO = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived.

    Args:
        number: 1 for the provider's first request, 0 before it was counted.
        method: Upper case.
        path: With its query, as sent.
        headers: In wire order, names as sent.
        body: After transfer decoding; a content-encoding is left on.
        at: When it had arrived whole, in seconds of `time.monotonic()`.
    """

    number: int
    method: str
    path: str
    headers: Headers
    body: bytes
    at: float

    def header(self, name: str) -> str | None:
        """Return the first value of a header, in any case, or None."""
        return header(self.headers, name)

    @property
    def key(self) -> str:
        """The API key it carried (`authorization`, `x-api-key`), empty without one."""
        bearer = self.header("authorization") or ""
        return self.header("x-api-key") or bearer.removeprefix("Bearer ")

    def json(self) -> Any:
        """Return the body as JSON; raises `ValueError` where it is none."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    """What the provider sends back; `dataclasses.replace` makes a variant of one.

    Args:
        status: 200 to 599.
        headers: Besides those that frame the body and `date`, which are added when it is sent.
        pieces: The body; each piece is sent at once and, when chunked, as one chunk.
        framing: `length` (Content-Length), `chunked`, or `close` (the body ends with the connection).
        encoding: `gzip`, `deflate`, `br` or `zstd`: compress the body, flushed after every piece.
        delay: Seconds to wait before each piece, 0 or more.
        hold: Wait for this event before the piece `hold_before`; 0 is before the status line.
        hold_before: Index of a piece, 0 or more.
        cut_after: Send only this many bytes of the (compressed) body, announce all of it, then close cleanly.
        reset: With `cut_after`: reset the connection instead of closing it cleanly.
    """

    status: int = 200
    headers: Headers = ()
    pieces: tuple[bytes, ...] = ()
    framing: Literal["length", "chunked", "close"] = "length"
    encoding: Literal["", "gzip", "deflate", "br", "zstd"] = ""
    delay: float = 0.0
    hold: Event | None = None
    hold_before: int = 0
    cut_after: int | None = None
    reset: bool = False

    @property
    def body(self) -> bytes:
        """The whole body, not compressed."""
        return b"".join(self.pieces)

    def in_pieces(self, size: int) -> Reply:
        """Return this reply, chunked, with its body in pieces of *size* bytes (1 or more), whatever they split."""
        body = self.body
        return replace(self, pieces=tuple(body[i : i + size] for i in range(0, len(body), size)), framing="chunked")


class _Compressor(Protocol):
    def __call__(self, piece: bytes, last: bool) -> bytes: ...


def _deflating(wbits: int) -> _Compressor:
    compressor = zlib.compressobj(wbits=wbits)
    return lambda piece, last: (
        compressor.compress(piece) + compressor.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)
    )


def _brotli() -> _Compressor:
    import brotli

    compressor = brotli.Compressor()
    return lambda piece, last: bytes(compressor.process(piece) + (compressor.finish() if last else compressor.flush()))


def _zstd() -> _Compressor:
    import zstandard

    compressor = zstandard.ZstdCompressor().compressobj()
    return lambda piece, last: (
        compressor.compress(piece)
        + compressor.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH if last else zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    )


_COMPRESSORS: dict[str, Callable[[], _Compressor]] = {
    "gzip": lambda: _deflating(31),
    "deflate": lambda: _deflating(15),
    "br": _brotli,
    "zstd": _zstd,
}


def _compressed(reply: Reply) -> tuple[bytes, ...]:
    if not reply.encoding:
        return reply.pieces
    try:
        compress = _COMPRESSORS[reply.encoding]()
    except ImportError as error:
        raise UsageError(f"encoding {reply.encoding!r} needs the package {error.name}") from error
    last = len(reply.pieces) - 1
    return tuple(compress(piece, i == last) for i, piece in enumerate(reply.pieces))


def receive(stream: BinaryIO, send: Callable[[bytes], object]) -> Received | None:
    """Read one request.

    Args:
        stream: The connection, for reading.
        send: Writes to the connection (for `100 Continue`).

    Returns:
        The request, not numbered yet; None where the client closed.

    Raises:
        ValueError: What arrived is no HTTP.
        OSError: The connection broke.
    """
    line = stream.readline(_LONGEST_LINE)
    if not line:
        return None
    method, path, version = line.decode("latin-1").split()
    if not version.startswith("HTTP/1."):
        raise ValueError(f"no HTTP/1: {line!r}")
    headers = tuple(_read_headers(stream))
    if (header(headers, "expect") or "").lower() == "100-continue":
        send(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in (header(headers, "transfer-encoding") or "").lower():
        body: bytes | None = _read_chunked(stream)
    else:
        body = _read_exactly(stream, int(header(headers, "content-length") or 0))
    if body is None:
        return None
    return Received(0, method.upper(), path, headers, body, time.monotonic())


def _read_headers(stream: BinaryIO) -> Iterator[tuple[str, str]]:
    while line := stream.readline(_LONGEST_LINE).strip(b"\r\n"):
        name, _, value = line.decode("latin-1").partition(":")
        yield name, value.strip()


def _read_exactly(stream: BinaryIO, size: int) -> bytes | None:
    body = stream.read(size)
    return body if len(body) == size else None


def _read_chunked(stream: BinaryIO) -> bytes | None:
    chunks = []
    while size := int(stream.readline(_LONGEST_LINE).partition(b";")[0] or b"0", 16):
        chunk = _read_exactly(stream, size)
        if chunk is None:
            return None
        chunks.append(chunk)
        stream.readline(_LONGEST_LINE)
    for _ in _read_headers(stream):  # trailers
        pass
    return b"".join(chunks)


def send(connection: socket.socket, reply: Reply, method: str, closed: Event) -> bool:
    """Send a reply, with its waits and its faults.

    Args:
        connection: Where to.
        reply: What.
        method: The request's; a HEAD gets no body.
        closed: Set when the provider closes: ends every wait.

    Returns:
        True if the connection can carry another request.
    """
    bodiless = method == "HEAD" or reply.status in (204, 304)
    pieces = _compressed(reply)
    unsent = _head(reply, sum(map(len, pieces)))
    if bodiless or not pieces:
        _wait(reply, 0, closed)
    left = reply.cut_after
    for i, piece in enumerate(() if bodiless else pieces):
        _wait(reply, i, closed)
        kept = piece if left is None else piece[:left]
        connection.sendall(unsent + (_chunk(kept) if reply.framing == "chunked" else kept))
        unsent = b""
        if left is not None:
            left -= len(kept)
            if left == 0:
                if reply.reset:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
                return False
    if reply.framing == "chunked" and not bodiless:
        unsent += b"0\r\n\r\n"
    connection.sendall(unsent)
    return reply.framing != "close" and not closed.is_set()


def _head(reply: Reply, size: int) -> bytes:
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "Unassigned"
    framing = {
        "length": ("content-length", str(size)),
        "chunked": ("transfer-encoding", "chunked"),
        "close": ("connection", "close"),
    }[reply.framing]
    encoding = (("content-encoding", reply.encoding),) if reply.encoding else ()
    headers = (("date", formatdate(usegmt=True)), *reply.headers, *encoding, framing)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 {reply.status} {phrase}\r\n{lines}\r\n".encode("latin-1")


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""


def _wait(reply: Reply, index: int, closed: Event) -> None:
    if reply.delay:
        closed.wait(reply.delay)
    if reply.hold is not None and index == reply.hold_before:
        while not reply.hold.wait(0.02) and not closed.is_set():
            continue

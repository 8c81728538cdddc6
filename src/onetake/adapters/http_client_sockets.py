"""What stands in for the sockets of http.client: while nothing is connected, and for what a replay reads."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from http.client import IncompleteRead, responses
from typing import Any

from onetake.engine import Engine
from onetake.events import pieces
from onetake.misses import left_early
from onetake.model import Cut, Entry, Response


class Unconnected:
    """Stands in for a connection's socket while nothing is connected; keeps what is set on it for the real one."""

    def __init__(self, timeout: Any) -> None:
        self._timeout = self._before = timeout if isinstance(timeout, int | float) else None
        self._options: list[tuple[Any, ...]] = []

    def settimeout(self, timeout: float | None) -> None:
        """Keep a time limit, in seconds."""
        self._timeout = timeout

    def gettimeout(self) -> float | None:
        """Return the time limit."""
        return self._timeout

    def setblocking(self, blocking: bool) -> None:
        """Keep a time limit of none, or of nothing."""
        self._timeout = None if blocking else 0.0

    def setsockopt(self, *option: Any) -> None:
        """Keep a socket option."""
        self._options.append(option)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _unconnected(self, *_: Any) -> Any:
        """Raise what a socket that was never connected raises.

        Raises:
            OSError: `ENOTCONN`.
        """
        raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))

    getpeername = getsockname = fileno = shutdown = version = _unconnected
    send = sendall = recv = recv_into = makefile = _unconnected

    def settle(self, sock: Any) -> None:
        """Set on the real socket what was set here."""
        for option in self._options:
            sock.setsockopt(*option)
        if self._timeout != self._before:
            sock.settimeout(self._timeout)


class ResponseSocket:
    """Stands in for a connection's socket while its response is made: says whether the response was begun.

    Args:
        open_file: Opens what the response reads.
        sock: The real socket, None at a replay.
    """

    def __init__(self, open_file: Callable[[], Any], sock: Any = None) -> None:
        self._open, self._sock = open_file, sock
        self.file: Any = None

    def makefile(self, *_: Any, **__: Any) -> Any:
        """Open the file that the response reads."""
        self.file = self._open()
        return self.file

    def close(self) -> None:
        """Close the real socket; the response keeps its file."""
        if self._sock is not None:
            self._sock.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class Stored:
    """A file that gives a stored response: its head, then its body event by event, and ends as that ended."""

    def __init__(self, response: Response, end: Callable[[bytes], None]) -> None:
        phrase = responses.get(response.status, "")
        lines = [f"HTTP/1.1 {response.status} {phrase}", *(f"{name}: {value}" for name, value in response.headers)]
        head = "".join(f"{line}\r\n" for line in lines) + "\r\n"
        self._chunks = [head.encode("latin-1", "replace"), *pieces(response)]
        self._end = end
        self.closed = False

    def read(self, size: int | None = -1) -> bytes:
        """Return *size* bytes, or all; at the end of a body that did not end well, raise that."""
        wanted = -1 if size is None or size < 0 else size
        found = bytearray()
        while self._chunks and len(found) != wanted:
            found += self._take(wanted - len(found) if wanted >= 0 else -1)
        if wanted < 0 or len(found) < wanted:
            self._end(bytes(found))
        return bytes(found)

    def read1(self, size: int = -1) -> bytes:
        """Return what comes next, of one event."""
        if size == 0:
            return b""
        if not self._chunks:
            self._end(b"")
            return b""
        return self._take(size)

    def readinto(self, buffer: Any) -> int:
        """Read as `read` does."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readline(self, limit: int | None = -1) -> bytes:
        """Return the next line, of at most *limit* bytes."""
        left = sys.maxsize if limit is None or limit < 0 else limit
        line = bytearray()
        while left > len(line) and not line.endswith(b"\n"):
            if not self._chunks:
                self._end(bytes(line))
                break
            at = self._chunks[0].find(b"\n", 0, left - len(line))
            line += self._take(at + 1 if at >= 0 else left - len(line))
        return bytes(line)

    def peek(self, _: int = 0) -> bytes:
        """Return what comes next, and leave it there."""
        return self._chunks[0] if self._chunks else b""

    def flush(self) -> None:
        """Do nothing."""

    def fileno(self) -> int:
        """Raise `UnsupportedOperation`: a replay has no socket."""
        raise io.UnsupportedOperation("fileno: this response is a replay and has no socket")

    def close(self) -> None:
        """Forget what was not read."""
        self._chunks, self._end, self.closed = [], _well, True

    def _take(self, size: int) -> bytes:
        chunk = self._chunks[0]
        if size < 0 or size >= len(chunk):
            return self._chunks.pop(0)
        self._chunks[0] = chunk[size:]
        return chunk[:size]


def _well(_: bytes) -> None:
    """End a body that is complete."""


def whole(response: Response) -> Stored:
    """Return a file that gives a response to its good end.

    Args:
        response: Its head and its body.
    """
    return Stored(response, _well)


def replayed(engine: Engine, entry: Entry) -> Stored:
    """Return a file that gives an entry's response.

    A body that the provider cut raises `IncompleteRead` at its end, unless a `content-length` says that it is short:
    then reading it says so by itself, or is as silent, as http.client is live.

    Args:
        engine: Whose replay it is.
        entry: What is replayed.
    """
    response = entry.response
    declared = any(name.lower() == "content-length" for name, _ in response.headers)

    def end(partial: bytes) -> None:
        if response.cut is Cut.LEFT:
            raise engine.refuse(left_early(entry, engine.policy))
        if response.cut is Cut.PROVIDER and not declared:
            raise IncompleteRead(partial)

    return Stored(response, end)

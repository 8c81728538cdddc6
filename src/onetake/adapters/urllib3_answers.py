"""The responses that callers of urllib3 get: its own class, over a body that passes by live or comes from an entry.

The class reads http.client responses, in more ways than one (`read`, `read1`, `stream`, `read_chunked`), so it is given
a real one, which reads from a connection that is none: what comes from the body's source, framed again.
"""

from __future__ import annotations

import http.client
import inspect
import io
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, Protocol

from onetake.model import Headers, Response

_FRAMING = ("content-length", "transfer-encoding")


@dataclass(frozen=True, slots=True)
class Head:
    """What comes before a body."""

    status: int
    headers: Headers
    reason: str
    version: int
    """As http.client says it: 10 or 11."""

    @classmethod
    def of(cls, response: Response) -> Head:
        """Return the head of a stored response."""
        return cls(response.status, response.headers, http.client.responses.get(response.status, ""), 11)

    @classmethod
    def of_live(cls, response: Any) -> Head:
        """Return the head of urllib3's response."""
        headers = tuple((str(name), str(value)) for name, value in response.headers.items())
        return cls(response.status, headers, response.reason or "", response.version)

    def raw(self, *, chunked: bool) -> bytes:
        """Return it as it lies on the wire; with *chunked*, whatever else framed the body is gone."""
        pairs = [pair for pair in self.headers if not (chunked and pair[0].lower() in _FRAMING)]
        if chunked:
            pairs.append(("Transfer-Encoding", "chunked"))
        lines = [f"HTTP/1.{self.version % 10 if self.version < 20 else 1} {self.status} {self.reason}"]
        lines += [f"{name}: {value}" for name, value in pairs]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


class _Source(Protocol):
    """Where a body comes from."""

    inner: Any
    """urllib3's own response, while there is one."""
    chunked: bool
    """Whether its bytes are framed in chunks, so that their end is told."""
    buffered: bool
    """Whether more may be asked for than the caller wants: what has come is given at once."""

    def read(self, size: int) -> bytes:
        """Return the next bytes, of *size* or any other number; empty at the end."""

    def close(self) -> None: ...

    def reads_raw(self) -> None: ...

    def release(self) -> None: ...

    def forget(self) -> None: ...


def answer(module: ModuleType, source: _Source, head: Head, **options: Any) -> Any:
    """Return urllib3's response, its body unread.

    Args:
        module: urllib3.
        source: Where the body comes from.
        head: What comes before it.
        **options: More arguments of urllib3's `HTTPResponse`.
    """
    wire = _Wire(source, head.raw(chunked=source.chunked))
    original = _Original(wire, method=options["request_method"])
    original.begin()
    if "version_string" in _constructor(module):
        options["version_string"] = f"HTTP/1.{head.version % 10}"
    response = _answer_class(module)(
        source,
        body=original,
        headers=list(head.headers),
        status=head.status,
        version=head.version,
        reason=head.reason,
        preload_content=False,
        original_response=original,
        **options,
    )
    response.chunked = source.chunked
    return response


@cache
def _constructor(module: ModuleType) -> frozenset[str]:
    return frozenset(inspect.signature(module.HTTPResponse).parameters)


@cache
def _answer_class(module: ModuleType) -> Any:
    kind: Any = module.HTTPResponse
    return type(kind.__name__, (_Answer, kind), {"__module__": kind.__module__, "__doc__": kind.__doc__})


class _Forgetful:
    """Ends the call of a body that the garbage collector takes, before `io` closes it: that would block in there."""

    source: _Source

    def __del__(self) -> None:
        self.source.forget()
        super().__del__()  # type: ignore[misc]


class _Answer(_Forgetful):
    """What is about the connection goes to urllib3's own response, while there is one; how it is read is noted."""

    decode_content: bool

    def __init__(self, source: Any, **options: Any) -> None:
        self.source = source
        super().__init__(**options)

    def read(self, amt: Any = None, decode_content: bool | None = None, *args: Any, **options: Any) -> Any:
        self._note(self.decode_content if decode_content is None else decode_content)
        return super().read(amt, decode_content, *args, **options)  # type: ignore[misc]

    def read1(self, amt: Any = None, decode_content: bool | None = None) -> Any:
        self._note(self.decode_content if decode_content is None else decode_content)
        return super().read1(amt, decode_content)  # type: ignore[misc]

    def read_chunked(self, amt: Any = None, decode_content: bool | None = None) -> Any:
        self._note(bool(decode_content))  # unlike the others it does not decode where it is not told
        return super().read_chunked(amt, decode_content)  # type: ignore[misc]

    def _note(self, decoded: bool) -> None:
        if not decoded:
            self.source.reads_raw()

    @property
    def connection(self) -> Any:
        return self.source.inner and self.source.inner.connection

    def release_conn(self) -> None:
        self.source.release()

    def shutdown(self) -> None:
        if self.source.inner is not None:
            self.source.inner.shutdown()


class _Wire(_Forgetful, io.RawIOBase):
    """A connection that sends a head, then a source's body, in chunks if it has no length of its own."""

    def __init__(self, source: Any, head: bytes) -> None:
        super().__init__()
        self.source = source
        self._left = memoryview(head)
        self._ended = False

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return itself as http.client wants to read it."""
        reader = _Reader(self, io.DEFAULT_BUFFER_SIZE if self.source.buffered else 1)
        reader.source = self.source
        return reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left and not self._ended:
            chunk = self.source.read(len(buffer))
            self._ended = not chunk
            framed = b"%x\r\n%b\r\n" % (len(chunk), chunk) if self.source.chunked else chunk
            self._left = memoryview(framed)
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count

    def fileno(self) -> int:
        number: int = super().fileno() if self.source.inner is None else self.source.inner.fileno()
        return number

    def close(self) -> None:
        if not self.closed:
            super().close()
            self.source.close()


class _Reader(_Forgetful, io.BufferedReader):
    """A reader of the wire."""


class _Original(_Forgetful, http.client.HTTPResponse):
    """The http.client response that urllib3's reads from."""

    def __init__(self, wire: _Wire, method: str) -> None:
        self.source = wire.source
        super().__init__(wire, method=method)  # type: ignore[arg-type]

    def flush(self) -> None:
        # Of a cycle the garbage collector may take the reader first, and what it takes it closes.
        if self.fp is None or not self.fp.closed:
            super().flush()

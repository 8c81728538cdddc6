"""Where the bodies come from that callers of urllib3 get: live ones, watched as they pass, and replayed ones."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from types import ModuleType
from typing import Any

from onetake.bodies import broken_by
from onetake.engine import Engine
from onetake.events import framing, pieces
from onetake.misses import left_early
from onetake.model import Cut, Entry, Headers, header
from onetake.passage import Passage
from onetake.streams import Ending


class Passing:
    """A live body on its way: what urllib3's own response reads, fed to a passage.

    Args:
        inner: urllib3's own response; it decodes nothing.
        passage: The call.
        reads_raw: Called where the caller reads the body as it lies on the wire.
    """

    def __init__(self, inner: Any, passage: Passage, reads_raw: Callable[[], None]) -> None:
        self.inner, self.passage, self.reads_raw = inner, passage, reads_raw
        self.chunked = bool(inner.chunked)
        at_once = hasattr(inner, "read1")  # from urllib3 2.1 on
        # Without it `read` waits until it has all that it was asked for: ask for no more than the caller does.
        self.buffered = at_once or self.chunked
        self._parts = None if at_once or not self.chunked else inner.stream(decode_content=False)
        self._read = inner.read1 if at_once else inner.read

    def read(self, size: int) -> bytes:
        """Return what has come, up to *size* bytes where chunks do not say how many; empty at the end."""
        try:
            chunk: bytes = self._read(size, decode_content=False) if self._parts is None else next(self._parts, b"")
        except BaseException as error:
            self.passage.keep(broken_by(error))
            raise
        if chunk:
            self.passage.feed(chunk)
        else:
            self.passage.keep(Ending.END)
        return chunk

    def whole(self) -> bytes:
        """Read the rest, and close it."""
        try:
            return b"".join(iter(lambda: self.read(65536), b""))
        finally:
            self.close()

    def close(self) -> None:
        """End the call: the body was left, unless all of it had come."""
        ended = self.inner.length_remaining == 0
        ending = Ending.END if ended else self.passage.left()
        try:
            if ended:
                self.inner.drain_conn()  # gives the connection back
            else:
                self.inner.close()
        except BaseException:
            self.passage.keep(Ending.INTERRUPTED)
            raise
        try:
            self.passage.keep(ending)
        except BaseException:
            self.inner.release_conn()  # closed: after an error nobody gives it back, and the pool would lack one
            raise

    def release(self) -> None:
        """Give the connection back, as the caller says, read out or not; then end the call, which may raise."""
        ending = self.passage.left()
        try:
            self.inner.release_conn()
        finally:
            self.passage.keep(ending)

    def forget(self) -> None:
        """End the call of a body that nobody holds any more."""
        self.passage.forget()


class Held:
    """A body that is there already: some pieces, none of them empty, then the end, or what `end` raises."""

    buffered = True
    inner = None

    def __init__(self, pieces: list[bytes], *, chunked: bool = False) -> None:
        self._pieces, self.chunked = pieces, chunked

    def read(self, size: int) -> bytes:
        """Return the next piece, whatever its length."""
        if self._pieces:
            return self._pieces.pop(0)
        self.end()
        return b""

    def end(self) -> None:
        """Do what is due after the last byte: nothing."""

    def close(self) -> None:
        """Do nothing."""

    release = forget = reads_raw = close


def came_in_chunks(headers: Headers) -> bool:
    """Tell whether a stored body that is still encoded came in chunks; urllib3's `stream` decodes such ones otherwise.

    Args:
        headers: The stored response's.
    """
    return header(headers, "content-encoding") is not None and header(headers, "content-length") is None


class Stored(Held):
    """The body of a replay: a stream comes event by event, and ends as it ended.

    Args:
        module: urllib3.
        engine: Whose replay it is.
        entry: What is replayed.
    """

    def __init__(self, module: ModuleType, engine: Engine, entry: Entry) -> None:
        response = entry.response
        # In chunks, so that the end is asked for even where the body is as long as its headers say.
        in_chunks = response.cut is not Cut.NO or framing(response.headers, response.body) is not None
        super().__init__(pieces(response), chunked=in_chunks or came_in_chunks(response.headers))
        self._module, self._engine, self._entry = module, engine, entry

    def end(self) -> None:
        """Raise what ended the body, if something did.

        Raises:
            ProtocolError: The provider cut it; urllib3's own error, whatever was raised when it was recorded.
            InteractionNotFound: Its caller had left here.
        """
        if self._entry.response.cut is Cut.PROVIDER:
            cut = http.client.IncompleteRead(b"")
            raise self._module.exceptions.ProtocolError("the provider cut this answer here when it was recorded", cut)
        if self._entry.response.cut is Cut.LEFT:
            raise self._engine.refuse(left_early(self._entry, self._engine.policy))

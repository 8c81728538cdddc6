"""The bodies that aiohttp hands to its callers: its own `StreamReader`, filled as it is read, from one of our sources.

Every way to read a `StreamReader` comes to its `_wait` where its buffer is empty. Ours takes the next piece there: from
the live reader below, which so keeps its backpressure, or from an entry.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from onetake.bodies import ended
from onetake.engine import Engine
from onetake.events import framing, pieces
from onetake.misses import left_early
from onetake.model import Cut, Entry
from onetake.passage import Passage
from onetake.streams import Ending

_ANY_LINE = 2**30
"""A reader's limit, which bounds its lines: a replay must not fail where the live call did not."""


def unknown_shape(module: ModuleType) -> str:
    """Say what of aiohttp's stream reader is otherwise than in the versions that are known; empty where nothing is.

    Args:
        module: aiohttp.
    """
    wait = getattr(module.StreamReader, "_wait", None)
    if not inspect.iscoroutinefunction(wait) or list(inspect.signature(wait).parameters) != ["self", "func_name"]:
        return "its StreamReader has no _wait(func_name)"
    return ""


def passing(module: ModuleType, response: Any, passage: Passage) -> Any:
    """Return the body of a live response, watched as it is read.

    Args:
        module: aiohttp.
        response: Its response, unread.
        passage: The call.
    """
    chunked = response.headers.get("Transfer-Encoding", "").lower() == "chunked"
    return _passing(module)(response.content, passage, chunked=chunked)


def given(module: ModuleType, body: bytes) -> Any:
    """Return a body that is whole.

    Args:
        module: aiohttp.
        body: All of it, content-decoded.
    """
    reader = _replayed(module)([])
    reader.feed_data(body)
    reader.feed_eof()
    return reader


def replayed(module: ModuleType, engine: Engine, entry: Entry) -> Any:
    """Return the body of a replay; a stream comes event by event and ends as it ended.

    A body that the provider cut raises `ClientPayloadError` at its end, whatever was raised when it was recorded: an
    entry says that the body was cut, not how. So does one whose end only the missing terminal event told.

    Args:
        module: aiohttp.
        engine: Whose replay it is.
        entry: What is replayed, its body content-decoded where the session decodes.
    """
    response = entry.response
    if response.cut is Cut.NO and framing(response.headers, response.body) is None:
        return given(module, response.body)
    chunks = pieces(response)
    if response.cut is Cut.PROVIDER:
        text = "the provider cut this answer here when it was recorded"
        return _replayed(module)(chunks, lambda: module.ClientPayloadError(text))
    if response.cut is Cut.LEFT:
        return _replayed(module)(chunks, lambda: engine.refuse(left_early(entry, engine.policy)))
    return _replayed(module)(chunks)


@cache
def _passing(module: ModuleType) -> Any:
    return type("PassingReader", (Passing, module.StreamReader), {})


@cache
def _replayed(module: ModuleType) -> Any:
    return type("ReplayedReader", (_Replayed, module.StreamReader), {})


class _NoFlow:
    """The protocol of a reader that is filled only when it is empty: there is nothing to hold back."""

    connected = True
    _reading_paused = False

    def pause_reading(self) -> None:
        """Do nothing."""

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Do nothing."""


class Passing:
    """Passes a live body on as it comes, and has it judged at its end, off the loop.

    A read that is cancelled ends nothing: its caller may read on. If it closes the body instead, it was torn away.
    """

    def __init__(self, inner: Any, passage: Passage, *, chunked: bool) -> None:
        super().__init__(_NoFlow(), inner.get_read_buffer_limits()[0], loop=asyncio.get_running_loop())  # type: ignore[call-arg]
        self._inner, self.passage, self._chunked = inner, passage, chunked
        self._torn = False
        if chunked:
            self.begin_http_chunk_receiving()  # type: ignore[attr-defined]

    async def _wait(self, func_name: str) -> None:
        await self._fill()
        if (error := self.exception()) is not None:  # type: ignore[attr-defined]
            raise error

    async def _fill(self: Any) -> None:
        try:
            piece, ends_chunk = await self._inner.readchunk() if self._chunked else (await self._inner.readany(), False)
        except Exception as error:  # noqa: BLE001 - it waits for the caller, where the body breaks off
            await self.end(Ending.FAILED)
            self.set_exception(error)
            return
        except BaseException:
            self._torn = True
            raise
        self._torn = False
        if piece:
            self.passage.feed(piece)
            self.feed_data(piece)
        if ends_chunk:
            self.end_http_chunk_receiving()
        if self._inner.at_eof():
            await self.end(Ending.END)
            self.feed_eof()

    async def whole(self: Any) -> None:
        """Read on to the end, for a caller that comes later; an error in the body waits for that caller too."""
        while not self.is_eof() and self.exception() is None:
            await self._fill()

    def left(self) -> Ending:
        """Say how a body ends that is closed here and now."""
        return Ending.INTERRUPTED if self._torn else self.passage.left()

    async def end(self, ending: Ending) -> None:
        """Have what came judged and kept, off the loop, if that was not done yet.

        Raises:
            Refusal: The answer is a reject, or could not be written.
        """
        await ended(self.passage, ending)

    def set_exception(self, *error: Any) -> None:
        """Break the body off, also for a caller that is just waiting for its next piece."""
        super().set_exception(*error)  # type: ignore[misc]
        self._inner.set_exception(*error)

    async def wait_eof(self) -> None:
        """Wait until the whole body has come from the server, read or not."""
        await self._inner.wait_eof()

    def __del__(self) -> None:
        self.passage.forget()


class _Replayed:
    """Gives a stored body piece by piece. It has all come already, so the response lets its connection go at once."""

    def __init__(self, chunks: list[bytes], broken: Callable[[], BaseException] | None = None) -> None:
        super().__init__(_NoFlow(), _ANY_LINE, loop=asyncio.get_running_loop())  # type: ignore[call-arg]
        self._chunks, self._broken = chunks, broken
        if chunks:
            self.begin_http_chunk_receiving()  # type: ignore[attr-defined]

    async def _wait(self: Any, func_name: str) -> None:
        if not self._chunks:
            self.set_exception(self._broken())
            raise self.exception()
        self.feed_data(self._chunks.pop(0))
        self.end_http_chunk_receiving()
        if not self._chunks and self._broken is None:
            self.feed_eof()

    def on_eof(self, callback: Callable[[], None]) -> None:
        """Call back at once: nothing is to come from a server."""
        callback()

    async def wait_eof(self) -> None:
        """Return at once, for the same reason."""

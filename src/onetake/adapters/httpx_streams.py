"""The bodies that httpx and httpx2 hand to their callers: live ones, watched as they pass, and replayed ones.

A module asks each body for the stream classes of its own, so each class here is made once for each of the two.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import cache
from types import ModuleType
from typing import Any

from onetake import waiting
from onetake.engine import Engine
from onetake.events import events
from onetake.misses import left_early
from onetake.model import Cut, Entry
from onetake.passage import Passage
from onetake.streams import Ending


@cache
def tee(module: ModuleType) -> Any:
    """Return the module's class of live bodies that are read by blocking: `Tee(body, passage)`."""
    return type("Tee", (_Tee, module.SyncByteStream), {})


@cache
def async_tee(module: ModuleType) -> Any:
    """Return the module's class of live bodies that are awaited: `AsyncTee(body, passage)`."""
    return type("AsyncTee", (_AsyncTee, module.AsyncByteStream), {})


def replayed(module: ModuleType, engine: Engine, entry: Entry) -> Any:
    """Return the body of a replay, read either way; a stream comes event by event and ends as it ended.

    A body that the provider cut raises `RemoteProtocolError` at its end, whatever was raised when it was recorded: an
    entry says that the body was cut, not how. So does one whose end only the missing terminal event told.
    """
    response = entry.response
    chunks = [event.raw for event in events(response)]
    if not chunks and response.cut is Cut.NO:
        return module.ByteStream(response.body)
    chunks.append(response.body[sum(map(len, chunks)) :])
    return _replayed(module)(module, engine, entry, chunks)


@cache
def _replayed(module: ModuleType) -> Any:
    return type("Replayed", (_Replayed, module.SyncByteStream, module.AsyncByteStream), {})


class _Replayed:
    def __init__(self, module: ModuleType, engine: Engine, entry: Entry, chunks: list[bytes]) -> None:
        self._module, self._engine, self._entry, self._chunks = module, engine, entry, chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from filter(None, self._chunks)
        if self._entry.response.cut is Cut.PROVIDER:
            raise self._module.RemoteProtocolError("the provider cut this answer here when it was recorded")
        if self._entry.response.cut is Cut.LEFT:
            raise self._engine.refuse(left_early(self._entry, self._engine.policy))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk


class _Tee:
    """Passes a live body on as it comes, and has it judged at its end."""

    def __init__(self, inner: Any, passage: Passage) -> None:
        self._inner, self.passage = inner, passage

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._inner:
                self.passage.feed(chunk)
                yield chunk
        except GeneratorExit:
            raise  # `close` follows, and ends it
        except Exception:
            self.passage.keep(Ending.FAILED)
            raise
        except BaseException:
            self.passage.keep(Ending.INTERRUPTED)
            raise
        self.passage.keep(Ending.END)

    def close(self) -> None:
        ending = self.passage.left()
        try:
            self._inner.close()
        except BaseException:
            self.passage.keep(Ending.INTERRUPTED)
            raise
        self.passage.keep(ending)

    def __del__(self) -> None:
        self.passage.forget()


class _AsyncTee:
    """Passes a live body on as it comes, and has it judged at its end, off the loop."""

    def __init__(self, inner: Any, passage: Passage) -> None:
        self._inner, self.passage = inner, passage

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                self.passage.feed(chunk)
                yield chunk
        except GeneratorExit:
            raise  # `aclose` follows, and ends it
        except Exception:
            await self._end(Ending.FAILED)
            raise
        except BaseException:
            await self._end(Ending.INTERRUPTED)
            raise
        await self._end(Ending.END)

    async def aclose(self) -> None:
        ending = self.passage.left()
        try:
            await self._inner.aclose()
        except BaseException:
            await self._end(Ending.INTERRUPTED)
            raise
        await self._end(ending)

    async def _end(self, ending: Ending) -> None:
        if ending is Ending.INTERRUPTED and not self.passage.complete:
            self.passage.drop()
        elif not self.passage.over:
            await waiting.in_thread(self.passage.keep, ending)

    def __del__(self) -> None:
        self.passage.forget()

"""The responses that lm15 hands to its callers: live ones, watched as they pass, and replayed ones.

lm15 is a package and is carried inside others, so each class here is made once for each of the copies.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import cache
from http import HTTPStatus
from types import ModuleType
from typing import Any

from onetake import waiting
from onetake.engine import Engine
from onetake.events import events
from onetake.misses import left_early
from onetake.model import Cut, Entry, Response
from onetake.passage import Passage
from onetake.streams import Ending


@cache
def live(module: ModuleType) -> Any:
    """Return the module's class of live responses that are read by blocking: `Live(inner, passage)`."""
    return type("TransportResponse", (_Live, module.TransportResponse), {})


@cache
def async_live(module: ModuleType) -> Any:
    """Return the module's class of live responses that are awaited: `AsyncLive(inner, passage)`."""
    return type("AsyncTransportResponse", (_AsyncLive, module.AsyncTransportResponse), {})


def whole(module: ModuleType, passage: Passage) -> Any:
    """Return the response of a body that was read whole: as it came, or the one that another call added first."""
    response = _read(passage)
    return module.TransportResponse(**_head(response), chunks=iter([response.body]), release=_held)


def async_whole(module: ModuleType, passage: Passage) -> Any:
    """Return the response of a body that was read whole, awaited."""
    response = _read(passage)
    return module.AsyncTransportResponse(**_head(response), chunks=_awaited(iter([response.body])), release=_aheld)


def _read(passage: Passage) -> Response:
    assert passage.response is not None, "read to its end"
    return passage.response


def replayed(module: ModuleType, engine: Engine, entry: Entry) -> Any:
    """Return the response of a replay; a stream comes event by event and ends as it ended."""
    return module.TransportResponse(**_head(entry.response), chunks=_stored(module, engine, entry), release=_held)


def async_replayed(module: ModuleType, engine: Engine, entry: Entry) -> Any:
    """Return the response of a replay, awaited."""
    chunks = _awaited(_stored(module, engine, entry))
    return module.AsyncTransportResponse(**_head(entry.response), chunks=chunks, release=_aheld)


def _head(response: Response) -> dict[str, Any]:
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = ""
    headers = list(response.headers)
    return {"status": response.status, "reason": phrase, "headers": headers, "http_version": "HTTP/1.1"}


def _stored(module: ModuleType, engine: Engine, entry: Entry) -> Iterator[bytes]:
    response = entry.response
    chunks = [event.raw for event in events(response)]
    yield from filter(None, [*chunks, response.body[sum(map(len, chunks)) :]])
    if response.cut is Cut.PROVIDER:
        raise module.ProtocolError("the provider cut this answer here when it was recorded")
    if response.cut is Cut.LEFT:
        raise engine.refuse(left_early(entry, engine.policy))


async def _awaited(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def _held(_: bool) -> None:
    """Release nothing: no connection stands behind it."""


async def _aheld(_: bool) -> None:
    """Release nothing."""


class _Live:
    """Passes a live body on as it comes, and has it judged at its end.

    lm15 swallows what its own release raises, so the end is here, in `close`.
    """

    def __init__(self, inner: Any, passage: Passage) -> None:
        self._inner, self.passage = inner, passage
        super().__init__(  # type: ignore[call-arg]
            status=inner.status,
            reason=inner.reason,
            headers=inner.headers,
            http_version=inner.http_version,
            chunks=iter(()),
            release=_held,
        )

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


class _AsyncLive:
    """Passes a live body on as it comes, and has it judged at its end, off the loop."""

    def __init__(self, inner: Any, passage: Passage) -> None:
        self._inner, self.passage = inner, passage
        super().__init__(  # type: ignore[call-arg]
            status=inner.status,
            reason=inner.reason,
            headers=inner.headers,
            http_version=inner.http_version,
            chunks=_awaited(iter(())),
            release=_aheld,
        )

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

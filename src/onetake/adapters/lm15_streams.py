"""The responses that lm15 hands to its callers: live ones, watched as they pass, and replayed ones.

lm15 is a package and is carried inside others, so each class here is made once for each of the copies.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import cache
from http.client import responses as reasons
from types import ModuleType
from typing import Any

from onetake.bodies import AsyncPassing, Passing
from onetake.engine import Engine
from onetake.events import pieces
from onetake.misses import left_early
from onetake.model import Cut, Entry, Response
from onetake.passage import Passage


@cache
def passing(module: ModuleType) -> Any:
    """Return the module's class of live responses that are read by blocking, made of (inner, passage).

    Args:
        module: A copy of lm15's `transports`.
    """
    return type("TransportResponse", (_Passing, module.TransportResponse), {})


@cache
def async_passing(module: ModuleType) -> Any:
    """Return the module's class of live responses that are awaited, made of (inner, passage).

    Args:
        module: A copy of lm15's `transports`.
    """
    return type("AsyncTransportResponse", (_AsyncPassing, module.AsyncTransportResponse), {})


def whole(module: ModuleType, passage: Passage) -> Any:
    """Return the response of a body that was read whole: as it came, or the one that another call added first.

    Args:
        module: A copy of lm15's `transports`.
        passage: The call; it is over.
    """
    response = _read(passage)
    return module.TransportResponse(**_head(response), chunks=iter([response.body]), release=_held)


def async_whole(module: ModuleType, passage: Passage) -> Any:
    """Return the response of a body that was read whole, awaited; for the rest as `whole`."""
    response = _read(passage)
    return module.AsyncTransportResponse(**_head(response), chunks=_awaited(iter([response.body])), release=_aheld)


def _read(passage: Passage) -> Response:
    assert passage.response is not None, "read to its end"
    return passage.response


def replayed(module: ModuleType, engine: Engine, entry: Entry) -> Any:
    """Return the response of a replay; a stream comes event by event and ends as it ended.

    A body that the provider cut raises `ProtocolError` at its end, whatever was raised when it was recorded.

    Args:
        module: A copy of lm15's `transports`.
        engine: Whose replay it is.
        entry: What is replayed.
    """
    return module.TransportResponse(**_head(entry.response), chunks=_stored(module, engine, entry), release=_held)


def async_replayed(module: ModuleType, engine: Engine, entry: Entry) -> Any:
    """Return the response of a replay, awaited; for the rest as `replayed`."""
    chunks = _awaited(_stored(module, engine, entry))
    return module.AsyncTransportResponse(**_head(entry.response), chunks=chunks, release=_aheld)


def _head(response: Response) -> dict[str, Any]:
    reason = reasons.get(response.status, "")
    headers = list(response.headers)
    return {"status": response.status, "reason": reason, "headers": headers, "http_version": "HTTP/1.1"}


def _stored(module: ModuleType, engine: Engine, entry: Entry) -> Iterator[bytes]:
    response = entry.response
    yield from pieces(response)
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


class _Passing(Passing):
    """A live response. lm15 swallows what its own release raises, so the end is in `close`."""

    def __init__(self, inner: Any, passage: Passage) -> None:
        super().__init__(inner, passage)
        super(Passing, self).__init__(**_live(inner), chunks=iter(()), release=_held)  # type: ignore[call-arg]


class _AsyncPassing(AsyncPassing):
    """A live response, awaited."""

    def __init__(self, inner: Any, passage: Passage) -> None:
        super().__init__(inner, passage)
        chunks = _awaited(iter(()))
        super(AsyncPassing, self).__init__(**_live(inner), chunks=chunks, release=_aheld)  # type: ignore[call-arg]


def _live(inner: Any) -> dict[str, Any]:
    return {name: getattr(inner, name) for name in ("status", "reason", "headers", "http_version")}

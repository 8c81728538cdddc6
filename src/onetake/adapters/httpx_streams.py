"""The bodies that httpx and httpx2 hand to their callers: live ones, watched as they pass, and replayed ones.

A module asks each body for the stream classes of its own, so each class here is made once for each of the two.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import cache
from types import ModuleType
from typing import Any

from onetake.bodies import AsyncPassing, Passing
from onetake.engine import Engine
from onetake.events import framing, pieces
from onetake.misses import left_early
from onetake.model import Cut, Entry


@cache
def passing(module: ModuleType) -> Any:
    """Return the module's class of live bodies that are read by blocking, made of (body, passage).

    Args:
        module: httpx or httpx2.
    """
    return type("Passing", (Passing, module.SyncByteStream), {})


@cache
def async_passing(module: ModuleType) -> Any:
    """Return the module's class of live bodies that are awaited, made of (body, passage).

    Args:
        module: httpx or httpx2.
    """
    return type("AsyncPassing", (AsyncPassing, module.AsyncByteStream), {})


def replayed(module: ModuleType, engine: Engine, entry: Entry) -> Any:
    """Return the body of a replay, read either way; a stream comes event by event and ends as it ended.

    A body that the provider cut raises `RemoteProtocolError` at its end, whatever was raised when it was recorded: an
    entry says that the body was cut, not how. So does one whose end only the missing terminal event told.

    Args:
        module: httpx or httpx2.
        engine: Whose replay it is.
        entry: What is replayed.
    """
    response = entry.response
    if response.cut is Cut.NO and framing(response.headers, response.body) is None:
        return module.ByteStream(response.body)
    return _replayed(module)(module, engine, entry)


@cache
def _replayed(module: ModuleType) -> Any:
    return type("Replayed", (_Replayed, module.SyncByteStream, module.AsyncByteStream), {})


class _Replayed:
    def __init__(self, module: ModuleType, engine: Engine, entry: Entry) -> None:
        self._module, self._engine, self._entry = module, engine, entry

    def __iter__(self) -> Iterator[bytes]:
        yield from pieces(self._entry.response)
        if self._entry.response.cut is Cut.PROVIDER:
            raise self._module.RemoteProtocolError("the provider cut this answer here when it was recorded")
        if self._entry.response.cut is Cut.LEFT:
            raise self._engine.refuse(left_early(self._entry, self._engine.policy))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk

"""The responses that callers of urllib3-future get: its own live ones, watched as they are read, and replayed ones.

All that a response gives of its body comes through its `_raw_read`, of one kind for threads and one for tasks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from onetake.adapters.urllib3_answers import Head
from onetake.bodies import broken_by, ended
from onetake.engine import Engine
from onetake.events import pieces
from onetake.misses import left_early
from onetake.model import Cut, Entry, Response
from onetake.passage import Passage
from onetake.streams import Ending

_ANSWERED = {
    *("body", "headers", "status", "version", "reason", "preload_content", "decode_content", "original_response"),
    *("retries", "enforce_content_length", "request_method", "request_url"),
}
_BODY = ["self", "method", "status", "version", "reason", "headers", "body"]


def unknown_shape(module: ModuleType) -> list[str]:
    """Say what of the responses is otherwise than in the versions that are known; empty where nothing is."""
    lacking = []
    for name in ("HTTPResponse", "AsyncHTTPResponse"):
        kind: Any = getattr(module, name, object)
        parts = set(inspect.signature(kind.__init__).parameters)
        lacking += [f"{name} without {part}" for part in sorted(_ANSWERED - parts)]
        lacking += [f"{name} without {part}" for part in ("_raw_read", "close", "stream") if not hasattr(kind, part)]
        is_awaited = inspect.iscoroutinefunction(getattr(kind, "_raw_read", None))
        if is_awaited != (name == "AsyncHTTPResponse"):
            lacking.append(f"{name}._raw_read in another colour")
    for kind in (_low_level(module, awaited=False), _low_level(module, awaited=True)):
        if list(inspect.signature(kind.__init__).parameters)[: len(_BODY)] != _BODY:
            lacking.append(f"low-level responses made of {', '.join(_BODY[1:])}")
    return lacking


def watched(response: Any, passage: Passage, reads_raw: Callable[[], None]) -> None:
    """Make a live response, unread so far, tell a passage what is read of it and how that ends.

    Args:
        response: The client's own.
        passage: The call.
        reads_raw: Called where the caller reads the body as it lies on the wire.
    """
    kind: Any = type(response)
    response.__class__ = _watched(kind)
    response.passage, response.reads_raw = passage, reads_raw


def is_ended(response: Any) -> bool:
    """Tell whether nothing is left to read of a response, or nothing ever was."""
    return response._fp is None or bool(response._fp.closed)


def given(module: ModuleType, response: Response, *, awaited: bool, **options: Any) -> Any:
    """Return a response whose body is whole, unread; *options* are of the client's own response."""
    return _built(module, Head.of(response), _Stored([response.body]), awaited=awaited, **options)


def replayed(module: ModuleType, engine: Engine, entry: Entry, *, awaited: bool, **options: Any) -> Any:
    """Return a stored response, its body unread: a stream comes event by event, and ends as it ended.

    A body that the provider cut raises `ProtocolError` at its end, whatever was raised when it was recorded.
    """
    response = entry.response
    broken: Callable[[], BaseException] | None = None
    if response.cut is Cut.PROVIDER:
        said = "the provider cut this answer here when it was recorded"
        broken = lambda: module.exceptions.ProtocolError(said)  # noqa: E731
    elif response.cut is Cut.LEFT:
        broken = lambda: engine.refuse(left_early(entry, engine.policy))  # noqa: E731
    return _built(module, Head.of(response), _Stored(pieces(response), broken), awaited=awaited, **options)


def _built(module: ModuleType, head: Head, stored: _Stored, *, awaited: bool, **options: Any) -> Any:
    headers = module.HTTPHeaderDict()
    for name, value in head.headers:
        headers.add(name, value)
    body = _body_class(module, awaited=awaited)(stored, options["request_method"], head, headers)
    kind = module.AsyncHTTPResponse if awaited else module.HTTPResponse
    return kind(
        body=body,
        headers=headers,
        status=head.status,
        version=head.version,
        reason=head.reason,
        preload_content=False,
        original_response=body,
        **options,
    )


def _low_level(module: ModuleType, *, awaited: bool) -> Any:
    """Return the class of what a response reads from; it tells these by their class."""
    backend = getattr(module, "backend", None)
    if awaited:
        return getattr(getattr(backend, "_async", None), "AsyncLowLevelResponse", object)
    return getattr(backend, "LowLevelResponse", object)


@cache
def _body_class(module: ModuleType, *, awaited: bool) -> Any:
    return type("ReplayedBody", (_AsyncBody if awaited else _Body, _low_level(module, awaited=awaited)), {})


class _Stored:
    """A body that is there already: its pieces, then the end, or what `broken` makes."""

    def __init__(self, pieces: list[bytes], broken: Callable[[], BaseException] | None = None) -> None:
        self._pieces, self._broken = list(filter(None, pieces)), broken

    @property
    def over(self) -> bool:
        """Whether all was given and nothing breaks it off."""
        return not self._pieces and self._broken is None

    def take(self, size: int | None, *, full: bool) -> bytes:
        """Return the next bytes.

        Args:
            size: How many at most; None is for all that are left, a negative number for the next piece.
            full: Whether as many as that are wanted, over the borders of pieces.
        """
        if not self._pieces or size is None:
            taken, self._pieces = b"".join(self._pieces), []
            if self._broken is not None:
                raise self._broken()
            return taken
        taken = self._pieces.pop(0)
        while full and self._pieces and len(taken) < size:
            taken += self._pieces.pop(0)
        if 0 < size < len(taken):
            self._pieces.insert(0, taken[size:])
            taken = taken[:size]
        return taken


class _Replayed:
    """What a replayed response reads from: the client's own kind, over what is stored."""

    closed: bool
    data_in_count: int

    def __init__(self, stored: _Stored, method: str, head: Head, headers: Any) -> None:
        body = None if stored.over else stored.take
        super().__init__(method, head.status, head.version, head.reason, headers, body)  # type: ignore[call-arg]
        self._stored = stored

    def _take(self, size: int | None, *, full: bool) -> bytes:
        taken = self._stored.take(size, full=full)
        self.data_in_count += len(taken)
        if self._stored.over:
            self.closed = self._eot = True
        return taken


class _Body(_Replayed):
    def read(self, size: int | None = None) -> bytes:
        return self._take(size, full=True)

    def read1(self, size: int | None = None) -> bytes:
        return self._take(size, full=False)


class _AsyncBody(_Replayed):
    async def read(self, size: int | None = None) -> bytes:
        return self._take(size, full=True)

    async def read1(self, size: int | None = None) -> bytes:
        return self._take(size, full=False)


@cache
def _watched(kind: Any) -> Any:
    base: Any = _AsyncWatched if inspect.iscoroutinefunction(kind._raw_read) else _Watched
    return type(kind.__name__, (base, _Noted, kind), {"__module__": kind.__module__, "__doc__": kind.__doc__})


class _Forgetful:
    """Ends the call of a body that the garbage collector takes, before the client closes it: that may not block."""

    passage: Passage | None

    def __del__(self) -> None:
        passage, self.passage = self.passage, None
        if passage is not None:
            passage.forget()
        super().__del__()  # type: ignore[misc]


class _Noted:
    """Notes how it is read; the other ways to read a response come here. Of one kind for threads and for tasks."""

    decode_content: bool
    reads_raw: Callable[[], None]

    def read(self, amt: Any = None, decode_content: bool | None = None, *args: Any, **options: Any) -> Any:
        self._note(decode_content)
        return super().read(amt, decode_content, *args, **options)  # type: ignore[misc]

    def read1(self, amt: Any = None, decode_content: bool | None = None) -> Any:
        self._note(decode_content)
        return super().read1(amt, decode_content)  # type: ignore[misc]

    def _note(self, decode_content: bool | None) -> None:
        if not (self.decode_content if decode_content is None else decode_content):
            self.reads_raw()


class _Watched(_Forgetful):
    """A live response that is read by blocking."""

    def _raw_read(self, *args: Any, **options: Any) -> bytes:
        try:
            chunk: bytes = super()._raw_read(*args, **options)  # type: ignore[misc]
        except BaseException as error:
            self._end(broken_by(error))
            raise
        if chunk and self.passage is not None:
            self.passage.feed(chunk)
        if is_ended(self):
            self._end(Ending.END)
        return chunk

    def close(self) -> None:
        ending = Ending.LEFT if self.passage is None else self.passage.left()
        try:
            super().close()  # type: ignore[misc]
        except BaseException:
            self._end(Ending.INTERRUPTED)
            raise
        self._end(ending)

    def _end(self, ending: Ending) -> None:
        if self.passage is not None:
            self.passage.keep(ending)


class _AsyncWatched(_Forgetful):
    """A live response that is awaited; it is judged off the loop."""

    async def _raw_read(self, *args: Any, **options: Any) -> bytes:
        try:
            chunk: bytes = await super()._raw_read(*args, **options)  # type: ignore[misc]
        except BaseException as error:
            await self._end(broken_by(error))
            raise
        if chunk and self.passage is not None:
            self.passage.feed(chunk)
        if is_ended(self):
            await self._end(Ending.END)
        return chunk

    async def close(self) -> None:
        ending = Ending.LEFT if self.passage is None else self.passage.left()
        try:
            await super().close()  # type: ignore[misc]
        except BaseException:
            await self._end(Ending.INTERRUPTED)
            raise
        await self._end(ending)

    async def _end(self, ending: Ending) -> None:
        if self.passage is not None:
            await ended(self.passage, ending)

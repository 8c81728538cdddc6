"""The responses that aiohttp hands to its callers: live ones, watched as they pass, and replayed ones."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from http.client import responses as reasons
from types import ModuleType, SimpleNamespace
from typing import Any

from onetake import waiting
from onetake.adapters import aiohttp_streams
from onetake.bodies import reads_whole
from onetake.codings import undo
from onetake.engine import Engine
from onetake.model import Entry, Headers, Request, Response, header
from onetake.passage import Passage
from onetake.steps import Live
from onetake.streams import Ending, Watch

_PARTS = {"writer", "continue100", "timer", "request_info", "traces", "loop", "session", "stream_writer"}
"""What a `ClientResponse` of the known versions is made of; the last came with 3.14."""


@dataclass(frozen=True, slots=True)
class Client:
    """One session that asks, and how it was told to read this answer."""

    module: ModuleType
    named: str
    session: Any
    decompresses: bool

    def undoes(self, coding: str) -> bool:
        """Tell whether this client undoes a content-coding; where its decoder is missing it fails instead."""
        known = {"gzip", "deflate", "br"}
        if hasattr(self.module.compression_utils, "HAS_ZSTD"):
            known.add("zstd")
        return self.decompresses and coding.lower() in known


def unknown_shape(module: ModuleType) -> str:
    """Say what of aiohttp's responses is otherwise than in the versions that are known; empty where nothing is.

    Args:
        module: aiohttp.
    """
    if not _sets(module.ClientRequest, "_traces"):
        return "its ClientRequest has no _traces"
    wanted = inspect.signature(module.ClientResponse.__init__).parameters.values()
    new = {part.name for part in wanted if part.kind is part.KEYWORD_ONLY and part.default is part.empty} - _PARTS
    if new:
        return f"its ClientResponse wants {', '.join(sorted(new))}"
    return aiohttp_streams.unknown_shape(module)


def _sets(kind: Any, name: str) -> bool:
    """Tell whether the constructor of a class, or of one below it, sets an attribute."""
    made = (inspect.unwrap(vars(cls)["__init__"]) for cls in kind.__mro__ if "__init__" in vars(cls))
    return any(name in getattr(getattr(init, "__code__", None), "co_names", ()) for init in made)


@cache
def watched(kind: Any) -> Any:
    """Return a response class that tells its live body when its caller closes it; otherwise it is *kind*."""
    if issubclass(kind, _Watched):
        return kind
    return type(kind.__name__, (_Watched, kind), {"__module__": kind.__module__, "__doc__": kind.__doc__})


class _Watched:
    content: Any
    _leaves_later = False

    def close(self) -> None:
        with self._leaving():
            super().close()  # type: ignore[misc]

    def release(self) -> Any:
        with self._leaving():
            return super().release()  # type: ignore[misc]

    async def __aexit__(self, *error: Any) -> None:
        body = self.content
        passing = isinstance(body, aiohttp_streams.Passing) and not body.passage.over
        ending = body.left() if passing else Ending.END
        self._leaves_later = passing
        try:
            await super().__aexit__(*error)  # type: ignore[misc]
        except BaseException:
            ending = Ending.INTERRUPTED
            raise
        finally:
            self._leaves_later = False
            if passing:
                await body.end(ending)

    @contextmanager
    def _leaving(self) -> Iterator[None]:
        """End a body that is closed without being awaited; the connection goes first, as keeping may raise."""
        body = self.content
        if self._leaves_later or not isinstance(body, aiohttp_streams.Passing):
            yield
            return
        ending = body.left()
        yield
        body.passage.keep(ending)


async def passing(client: Client, engine: Engine, call: Live, request: Any, response: Any) -> Any:
    """Return a live response whose body is watched on its way, or the answer that another call added first.

    A body that nobody reads is read here: that of a redirect, and where another call's answer may take its place.

    Args:
        client: The session that asks.
        engine: Whose call it is.
        call: What `begin` returned.
        request: aiohttp's request.
        response: aiohttp's response, unread.

    Raises:
        Refusal: The body was read here, and the answer is a reject or could not be written.
    """
    coding = header(_headers(response), "content-encoding") or ""
    undone = client.undoes(coding) and not response.content.at_eof()
    watch = _watch(call.asked.request, response, coding.lower() if undone else "")
    passage = Passage(engine, call, watch)
    if response.content.at_eof():
        await waiting.in_thread(passage.keep, Ending.END)
    else:
        response.content = body = aiohttp_streams.passing(client.module, response, passage)
        if 300 <= response.status < 400 or reads_whole(call, response.status, _headers(response)):
            await body.whole()
    given = passage.response
    if given is None or given is passage.came:
        return response
    response.release()
    return await _answered(client, request, given, aiohttp_streams.given(client.module, given.body))


async def replayed(client: Client, engine: Engine, request: Any, entry: Entry) -> Any:
    """Return the stored response in the session's own response class; a stream comes event by event.

    Args:
        client: The session that asks.
        engine: Whose replay it is.
        request: aiohttp's request, which was not sent.
        entry: What is replayed.
    """
    response = entry.response
    coding = header(response.headers, "content-encoding") or ""
    if coding and client.undoes(coding):
        response = replace(response, body=undo(response.body, coding) or response.body)
    body = aiohttp_streams.replayed(client.module, engine, replace(entry, response=response))
    return await _answered(client, request, response, body)


def _watch(asked: Request, response: Any, undone: str) -> Watch:
    headers = _headers(response)
    if undone:
        return _Decoded(asked, response.status, headers, undone)
    return Watch(asked, response.status, headers, undoes=lambda coding: False)


class _Decoded(Watch):
    """A response whose content-encoding the client has undone before we see its bytes; it checks the length too."""

    def __init__(self, asked: Request, status: int, headers: Headers, coding: str) -> None:
        plain = tuple(pair for pair in headers if pair[0].lower() not in ("content-encoding", "content-length"))
        super().__init__(asked, status, plain)
        self._came, self._coding = headers, coding

    def finish(self, ended: Ending) -> Response:
        response = super().finish(ended)
        kept = [pair for pair in self._came if pair[0].lower() not in ("content-encoding", "transfer-encoding")]
        length = str(len(response.body))
        headers = ((name, length if name.lower() == "content-length" else value) for name, value in kept)
        return replace(response, headers=tuple(headers), decoded=self._coding)


def _headers(response: Any) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.raw_headers)


@cache
def _taken(module: ModuleType) -> frozenset[str]:
    """The names of what this version makes a response of."""
    return frozenset(inspect.signature(module.ClientResponse.__init__).parameters)


async def _answered(client: Client, request: Any, response: Response, body: Any) -> Any:
    """Build a response by the client's own way: its constructor, then `start` on a connection that has it ready."""
    module = client.module
    raw = tuple(
        (name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in response.headers
    )
    parts = {
        "writer": None,
        "continue100": None,
        "timer": None,
        "request_info": request.request_info,
        "traces": request._traces,
        "loop": asyncio.get_running_loop(),
        "session": client.session,
        "stream_writer": SimpleNamespace(output_size=0),
    }
    taken = {name: part for name, part in parts.items() if name in _taken(module)}
    built = request.response_class(request.method, request.original_url, **taken)
    await built.start(_Ready(_message(module, response.status, raw), body))
    return built


def _message(module: ModuleType, status: int, raw: tuple[tuple[bytes, bytes], ...]) -> Any:
    from multidict import CIMultiDict, CIMultiDictProxy

    read = [(name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")) for name, value in raw]
    headers = CIMultiDictProxy(CIMultiDict(read))
    reason = reasons.get(status, "")
    return SimpleNamespace(version=module.HttpVersion11, code=status, reason=reason, headers=headers, raw_headers=raw)


class _Ready:
    """A connection, and its protocol, on which one response has arrived; it is let go as soon as that is taken."""

    upgraded = False

    def __init__(self, message: Any, body: Any) -> None:
        self.protocol = self
        self._come = message, body

    async def read(self) -> Any:
        return self._come

    def release(self) -> None:
        pass

    close = release

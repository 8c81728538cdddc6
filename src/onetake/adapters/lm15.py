"""lm15: its transports speak HTTP over raw sockets, with no client below them; the package, and the copy in dspy.

Hooked at `StdlibTransport.stream` and `StdlibAsyncTransport._do_stream`: the lowest places that have a whole request.
The second is private: the public `stream` of that class only makes a context manager, which calls it for each of its
two uses. An lm15 of another shape is an error when the session opens.

Not kept, because it is not part of an entry: the HTTP version (a replay says HTTP/1.1), a reason phrase that is not the
usual one. lm15 undoes a content-encoding below this place, so an entry is of the plain body and does not say how it was
encoded.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from types import ModuleType
from typing import Any

from onetake import active, hooking, waiting
from onetake.adapters import lm15_streams as streams
from onetake.bodies import reads_whole
from onetake.engine import Engine
from onetake.errors import AdapterError
from onetake.model import Headers, Request
from onetake.passage import Passage
from onetake.steps import Live, Replay
from onetake.streams import Watch

_HOOKS = (("StdlibTransport", "stream"), ("StdlibAsyncTransport", "_do_stream"))
_RESPONSES = ("TransportResponse", "AsyncTransportResponse")
_PARTS = {"status", "reason", "headers", "http_version", "chunks", "release"}


def patch(module: ModuleType) -> None:
    """Intercept the transports of one copy of lm15; where the hooks stand already, nothing changes.

    Args:
        module: Its `transports`.

    Raises:
        AdapterError: The transports, or the responses that they make, are not of the shape that is known.
    """
    package = sys.modules.get(module.__name__.rpartition(".")[0])
    client = f"{module.__name__.removesuffix('.transports')} {getattr(package, '__version__', '')}".strip()
    _check(module, client)
    for (transport, method), make in zip(_HOOKS, (_sync, _async), strict=True):
        cls = getattr(module, transport)
        original = getattr(cls, method)
        if not hooking.stands(original):
            hooking.put(cls, method, make(module, client, original))


def _check(module: ModuleType, client: str) -> None:
    missing = [f"{cls}.{method}" for cls, method in _HOOKS if not hasattr(getattr(module, cls, None), method)]
    for name in _RESPONSES:
        response = getattr(module, name, None)
        if response is None or set(inspect.signature(response).parameters) != _PARTS:
            missing.append(f"{name}({', '.join(sorted(_PARTS))})")
    if missing:
        raise AdapterError(
            f"onetake cannot intercept {client}: it has no {', '.join(missing)}; use a version that has, "
            "or a newer onetake"
        )


def _sync(module: ModuleType, client: str, original: Callable[..., Any]) -> Callable[..., Any]:
    passing = streams.passing(module)

    @wraps(original)
    def stream(self: Any, request: Any) -> Any:
        engine = active.engine_for(request.method, request.url)
        if engine is None:
            with active.letting_pass(request.method, request.url):
                return original(self, request)
        asked = _asked(request)
        step = waiting.begun(lambda flow: engine.begin(asked, flow, client))
        if isinstance(step, Replay):
            return streams.replayed(module, engine, step.entry)
        try:
            with active.inside():
                inner = original(self, _sent(request))
            response = passing(inner, _passage(engine, step, asked, inner))
            if not _reads_whole(step, inner):
                return response
            with response:
                response.read()
            return streams.whole(module, response.passage)
        except BaseException:
            engine.abandon(step)
            raise

    return stream


def _async(module: ModuleType, client: str, original: Callable[..., Any]) -> Callable[..., Any]:
    passing = streams.async_passing(module)

    @wraps(original)
    async def _do_stream(self: Any, request: Any) -> Any:
        engine = active.engine_for(request.method, request.url)
        if engine is None:
            with active.letting_pass(request.method, request.url):
                return await original(self, request)
        asked = _asked(request)
        step = await waiting.begun_awaited(lambda flow: engine.begin(asked, flow, client), engine.abandon)
        if isinstance(step, Replay):
            return streams.async_replayed(module, engine, step.entry)
        passage = None
        try:
            with active.inside():
                inner = await original(self, _sent(request))
            passage = _passage(engine, step, asked, inner)
            response = passing(inner, passage)
            if not _reads_whole(step, inner):
                return response
            async with response:
                await response.read()
            return streams.async_whole(module, passage)
        except BaseException:
            # Once there is a passage it ends the call, in a thread that may still be keeping what was paid for.
            if passage is None:
                engine.abandon(step)
            raise

    return _do_stream


def _asked(request: Any) -> Request:
    url = request.url.partition("#")[0]
    return Request(request.method.upper(), url, tuple(request.headers), bytes(request.body or b""))


def _sent(request: Any) -> Any:
    """Ask for an answer without content-encoding, as lm15 does unless it is told otherwise."""
    headers = [(name, value) for name, value in request.headers if name.lower() != "accept-encoding"]
    return request if len(headers) == len(request.headers) else replace(request, headers=headers)


def _passage(engine: Engine, call: Live, asked: Request, response: Any) -> Passage:
    return Passage(engine, call, Watch(asked, response.status, _headers(response)))


def _headers(response: Any) -> Headers:
    """Return the headers of the body as its caller gets it: after content-decoding, whose length nobody told."""
    headers = tuple(response.headers)
    if not any(name.lower() == "content-encoding" and value.lower() != "identity" for name, value in headers):
        return headers
    return tuple(pair for pair in headers if pair[0].lower() not in ("content-encoding", "content-length"))


def _reads_whole(call: Live, response: Any) -> bool:
    return reads_whole(call, response.status, _headers(response))

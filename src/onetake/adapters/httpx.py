"""httpx and httpx2: the transports of both are one shape, and a response is built with the module that was asked.

Hooked at `HTTPTransport.handle_request` and `AsyncHTTPTransport.handle_async_request`: the lowest public place that has
a whole request, below redirects, retries and authentication, so that each hop is an interaction of its own. Transports
of other classes (`MockTransport`, `ASGITransport`, a program's own) reach no network by themselves and are left alone.

Not kept, because the transport's extensions are not part of an entry: the HTTP version (a replay says HTTP/1.1), a
reason phrase that is not the usual one, `network_stream`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import wraps
from types import ModuleType
from typing import Any

from onetake import active, rivals, waiting
from onetake.engine import Engine
from onetake.errors import AdapterError
from onetake.events import events, framing
from onetake.misses import left_early
from onetake.model import Cut, Entry, Request, Response
from onetake.passage import Passage
from onetake.steps import Live, Replay, Wait
from onetake.streams import Ending, Watch

_HOOKS = (("HTTPTransport", "handle_request"), ("AsyncHTTPTransport", "handle_async_request"))
_ours: set[object] = set()


def patch(module: ModuleType) -> None:
    """Intercept one of the two modules; where its hooks stand already, nothing changes.

    Raises:
        AdapterError: The module has no such transports.
    """
    client = f"{module.__name__} {getattr(module, '__version__', '')}".strip()
    for (transport, method), make in zip(_HOOKS, (_sync, _async), strict=True):
        original = getattr(getattr(module, transport, None), method, None)
        if original is None:
            raise AdapterError(
                f"onetake cannot intercept {client}: it has no {transport}.{method}; use a version that has, "
                "or a newer onetake"
            )
        if not _stands(original) and not rivals.over(original):
            hook = make(module, client, original)
            _ours.add(hook)
            setattr(getattr(module, transport), method, hook)


def rival(module: ModuleType) -> str:
    """Name the tool that stands between the module's clients and this adapter; empty where none does."""
    found = (rivals.over(getattr(getattr(module, transport), method)) for transport, method in _HOOKS)
    return next(filter(None, found), "") or rivals.respx_on(module.__name__)


def _stands(hook: Any) -> bool:
    """Tell whether a method is our hook, or wraps it (instrumentation does)."""
    while hook is not None:
        if hook in _ours:
            return True
        hook = getattr(hook, "__wrapped__", None)
    return False


def _sync(module: ModuleType, client: str, original: Callable[..., Any]) -> Callable[..., Any]:
    tee = _tee(module)

    @wraps(original)
    def handle_request(self: Any, request: Any) -> Any:
        url = str(request.url)
        engine = active.engine_for(request.method, url)
        if engine is None:
            return original(self, request)
        request.read()
        asked = _asked(request, url)
        _refuse_rival(module, engine, request, asked)
        while isinstance(step := engine.begin(asked, waiting.here(), client), Wait):
            step.future.result()
        if isinstance(step, Replay):
            return _replayed(module, engine, step.entry)
        try:
            with active.inside():
                response = original(self, _sent(module, request))
            response.stream = stream = tee(response.stream, _passage(engine, step, response, asked))
            return _answered(module, response, _whole(stream)) if _reads_whole(step, response) else response
        except BaseException:
            engine.abandon(step)
            raise

    return handle_request


def _async(module: ModuleType, client: str, original: Callable[..., Any]) -> Callable[..., Any]:
    tee = _async_tee(module)

    @wraps(original)
    async def handle_async_request(self: Any, request: Any) -> Any:
        url = str(request.url)
        engine = active.engine_for(request.method, url)
        if engine is None:
            return await original(self, request)
        await request.aread()
        asked = _asked(request, url)
        _refuse_rival(module, engine, request, asked)
        while isinstance(step := engine.begin(asked, waiting.task(), client), Wait):
            await waiting.awaited(step.future)
        if isinstance(step, Replay):
            return _replayed(module, engine, step.entry)
        passage = None
        try:
            with active.inside():
                response = await original(self, _sent(module, request))
            passage = _passage(engine, step, response, asked)
            response.stream = stream = tee(response.stream, passage)
            return _answered(module, response, await _awhole(stream)) if _reads_whole(step, response) else response
        except BaseException:
            if passage is None:
                engine.abandon(step)  # a passage ends its call itself, perhaps still in its thread
            raise

    return handle_async_request


def _refuse_rival(module: ModuleType, engine: Engine, request: Any, asked: Request) -> None:
    """Refuse a call that respx, which sits below this adapter, would answer: its answer is nobody's recording."""
    if rivals.respx_takes(module.__name__, request):
        raise engine.refuse(rivals.refusal("respx", asked))


def _asked(request: Any, url: str) -> Request:
    return Request(request.method.upper(), url.partition("#")[0], _headers(request.headers), request.content)


def _headers(headers: Any) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw)


def _raw(response: Response) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in response.headers]


def _sent(module: ModuleType, request: Any) -> Any:
    """Ask for an answer without content-encoding, so that entries can be read; the caller's request stays as it is."""
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"accept-encoding"]
    headers.append((b"Accept-Encoding", b"identity"))
    return module.Request(
        request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
    )


def _passage(engine: Engine, call: Live, response: Any, asked: Request) -> Passage:
    return Passage(engine, call, Watch(asked, response.status_code, _headers(response.headers)))


def _reads_whole(call: Live, response: Any) -> bool:
    """Tell whether a body is read before its caller sees it: where another call's answer may take its place.

    Never a stream, nor what is no answer (the body of a 101 is a web socket and has no end).
    """
    framed = framing(_headers(response.headers), b"") is not None
    return call.shared and not framed and 200 <= response.status_code < 300


def _whole(stream: Any) -> bytes:
    try:
        return b"".join(stream)
    finally:
        stream.close()


async def _awhole(stream: Any) -> bytes:
    try:
        return b"".join([chunk async for chunk in stream])
    finally:
        await stream.aclose()


def _answered(module: ModuleType, live: Any, body: bytes) -> Any:
    """Answer with a body that was read whole: as it came, or the answer that another caller's call added first."""
    passage = live.stream.passage
    response = passage.response
    if response is passage.came:
        return module.Response(
            live.status_code, headers=live.headers, stream=module.ByteStream(body), extensions=live.extensions
        )
    return module.Response(
        response.status, headers=_raw(response), stream=module.ByteStream(response.body), extensions=live.extensions
    )


def _replayed(module: ModuleType, engine: Engine, entry: Entry) -> Any:
    response = entry.response
    chunks = [event.raw for event in events(response)]
    rest = response.body[sum(map(len, chunks)) :]
    plain = not chunks and response.cut is Cut.NO
    stream = module.ByteStream(response.body) if plain else _replay_stream(module, engine, entry, [*chunks, rest])
    extensions = {"http_version": b"HTTP/1.1"}
    return module.Response(response.status, headers=_raw(response), stream=stream, extensions=extensions)


def _replay_stream(module: ModuleType, engine: Engine, entry: Entry, chunks: list[bytes]) -> Any:
    """Give a stored stream event by event, and end it as it ended: whole, cut by the provider, or left."""

    def replay() -> Iterator[bytes]:
        yield from (chunk for chunk in chunks if chunk)
        if entry.response.cut is Cut.PROVIDER:
            raise module.RemoteProtocolError("the provider cut this answer here when it was recorded")
        if entry.response.cut is Cut.LEFT:
            raise engine.refuse(left_early(entry, engine.policy))

    class ReplayStream(module.SyncByteStream, module.AsyncByteStream):  # type: ignore[misc,name-defined]
        def __iter__(self) -> Iterator[bytes]:
            return replay()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for chunk in replay():
                yield chunk

    return ReplayStream()


def _tee(module: ModuleType) -> Any:
    class Tee(module.SyncByteStream):  # type: ignore[misc,name-defined]
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
            self.passage.drop()

    return Tee


def _async_tee(module: ModuleType) -> Any:
    class AsyncTee(module.AsyncByteStream):  # type: ignore[misc,name-defined]
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
            self.passage.drop()

    return AsyncTee

"""httpx and httpx2: the transports of both are one shape, and a response is built with the module that was asked.

Hooked at `HTTPTransport.handle_request` and `AsyncHTTPTransport.handle_async_request`: the lowest public place that has
a whole request, below redirects, retries and authentication, so that each hop is an interaction of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import wraps
from types import ModuleType
from typing import Any

from onetake import active, waiting
from onetake.engine import Engine
from onetake.errors import AdapterError
from onetake.events import events, framing
from onetake.misses import left_early
from onetake.model import Cut, Entry, Request, Response
from onetake.steps import Live, Replay, Wait
from onetake.streams import Ending, Watch

MODULES = ("httpx", "httpx2")


def patch(module: ModuleType) -> None:
    """Intercept one of the two modules.

    Raises:
        AdapterError: The module has no such transports.
    """
    try:
        sync, unsync = module.HTTPTransport, module.AsyncHTTPTransport
        client = f"{module.__name__} {module.__version__}"
        sync.handle_request = _sync(module, client, sync.handle_request)
        unsync.handle_async_request = _async(module, client, unsync.handle_async_request)
    except AttributeError as error:
        raise AdapterError(f"{module.__name__} is not a version that onetake can intercept: {error}") from None


def _sync(module: ModuleType, client: str, original: Callable[..., Any]) -> Callable[..., Any]:
    tee = _tee(module)

    @wraps(original)
    def handle_request(self: Any, request: Any) -> Any:
        engine = active.engine_for(request.method, str(request.url))
        if engine is None:
            return original(self, request)
        request.read()
        asked = _asked(request)
        while isinstance(step := engine.begin(asked, waiting.here(), client), Wait):
            step.future.result()
        if isinstance(step, Replay):
            return _replayed(module, engine, step.entry)
        try:
            with active.inside():
                response = original(self, _sent(module, request))
            response.stream = stream = tee(response.stream, engine, step, _watch(response, asked))
            return _answered(module, response, b"".join(stream)) if _read_whole(step, response) else response
        except BaseException:
            engine.abandon(step)
            raise

    return handle_request


def _async(module: ModuleType, client: str, original: Callable[..., Any]) -> Callable[..., Any]:
    tee = _async_tee(module)

    @wraps(original)
    async def handle_async_request(self: Any, request: Any) -> Any:
        engine = active.engine_for(request.method, str(request.url))
        if engine is None:
            return await original(self, request)
        await request.aread()
        asked = _asked(request)
        while isinstance(step := engine.begin(asked, waiting.task(), client), Wait):
            await waiting.awaited(step.future)
        if isinstance(step, Replay):
            return _replayed(module, engine, step.entry)
        try:
            with active.inside():
                response = await original(self, _sent(module, request))
            response.stream = stream = tee(response.stream, engine, step, _watch(response, asked))
            if not _read_whole(step, response):
                return response
            return _answered(module, response, b"".join([chunk async for chunk in stream]))
        except BaseException:
            engine.abandon(step)
            raise

    return handle_async_request


def _asked(request: Any) -> Request:
    return Request(
        request.method.upper(), str(request.url).partition("#")[0], _headers(request.headers), request.content
    )


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


def _watch(response: Any, asked: Request) -> Watch:
    return Watch(asked, response.status_code, _headers(response.headers))


def _read_whole(call: Live, response: Any) -> bool:
    """Tell whether a body is read before its caller sees it: where another call's answer may take its place."""
    return call.shared and framing(_headers(response.headers), b"") is None


def _answered(module: ModuleType, live: Any, body: bytes) -> Any:
    """Answer with a body that was read whole: as it came, or the answer that another caller's call added first."""
    response = live.stream.response
    if response is live.stream.came:
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
        """Passes a live body on as it comes, and judges it at its end."""

        def __init__(self, inner: Any, engine: Engine, call: Live, watch: Watch) -> None:
            self._inner, self._engine, self._call, self._watch = inner, engine, call, watch
            self.came: Response | None = None
            self.response: Response | None = None

        def __iter__(self) -> Iterator[bytes]:
            try:
                for chunk in self._inner:
                    self._call.saw_first_byte()
                    self._watch.feed(chunk)
                    yield chunk
            except Exception:
                self._end(Ending.FAILED)
                raise
            except GeneratorExit:
                raise
            except BaseException:
                self._engine.abandon(self._call)
                raise
            self._end(Ending.END)

        def close(self) -> None:
            self._inner.close()
            self._end(Ending.LEFT)

        def _end(self, ending: Ending) -> None:
            if not self._call.ended:
                self.came = self._watch.finish(ending)
                judged = self._engine.judge(self._call, self.came)
                self.response = self._engine.commit(judged, raising=ending is not Ending.FAILED)

        def __del__(self) -> None:
            self._engine.abandon(self._call)

    return Tee


def _async_tee(module: ModuleType) -> Any:
    class AsyncTee(module.AsyncByteStream):  # type: ignore[misc,name-defined]
        """Passes a live body on as it comes, and judges it at its end, off the loop."""

        def __init__(self, inner: Any, engine: Engine, call: Live, watch: Watch) -> None:
            self._inner, self._engine, self._call, self._watch = inner, engine, call, watch
            self.came: Response | None = None
            self.response: Response | None = None

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for chunk in self._inner:
                    self._call.saw_first_byte()
                    self._watch.feed(chunk)
                    yield chunk
            except Exception:
                await self._end(Ending.FAILED)
                raise
            except GeneratorExit:
                raise
            except BaseException:
                self._engine.abandon(self._call)
                raise
            await self._end(Ending.END)

        async def aclose(self) -> None:
            await self._inner.aclose()
            await self._end(Ending.LEFT)

        async def _end(self, ending: Ending) -> None:
            if not self._call.ended:
                self.response = await waiting.in_thread(self._keep, ending)

        def _keep(self, ending: Ending) -> Response:
            self.came = self._watch.finish(ending)
            return self._engine.commit(self._engine.judge(self._call, self.came), raising=ending is not Ending.FAILED)

        def __del__(self) -> None:
            self._engine.abandon(self._call)

    return AsyncTee

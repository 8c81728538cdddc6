"""httpx and httpx2: the transports of both are one shape, and a response is built with the module that was asked.

Hooked at `HTTPTransport.handle_request` and `AsyncHTTPTransport.handle_async_request`: the lowest public place that has
a whole request, below redirects, retries and authentication, so that each hop is an interaction of its own. Transports
of other classes (`MockTransport`, `ASGITransport`, a program's own) reach no network by themselves and are left alone.

Not kept, because the transport's extensions are not part of an entry: the HTTP version (a replay says HTTP/1.1), a
reason phrase that is not the usual one, `network_stream`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial, wraps
from types import ModuleType
from typing import Any
from weakref import ref

from onetake import active, hooking, rivals, waiting
from onetake.adapters import httpx_streams
from onetake.bodies import reads_whole
from onetake.engine import Engine
from onetake.errors import AdapterError
from onetake.model import Entry, Headers, Request, Response
from onetake.passage import Passage
from onetake.steps import Live, Replay
from onetake.streams import Watch

_HOOKS = (("HTTPTransport", "handle_request"), ("AsyncHTTPTransport", "handle_async_request"))
_NOT_ENCODED = b"\xff" * 8
"""In no coding: a client that undoes one fails on it, and any other hands it on."""


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
        # Over vcrpy even where it wraps a hook of ours: or it would answer before that is asked.
        if not rivals.over(original) and (rivals.is_of_vcrpy(original) or not hooking.stands(original)):
            hooking.put(getattr(module, transport), method, make(module, client, original))


def rival(module: ModuleType) -> str:
    """Name the tool that stands between the module's clients and this adapter; empty where none does."""
    found = (rivals.over(getattr(getattr(module, transport), method)) for transport, method in _HOOKS)
    return next(filter(None, found), "") or rivals.respx_on(module.__name__)


def _sync(module: ModuleType, client: str, original: Callable[..., Any]) -> Callable[..., Any]:
    passing = httpx_streams.passing(module)

    @wraps(original)
    def handle_request(self: Any, request: Any) -> Any:
        url = str(request.url)
        engine = active.engine_for(request.method, url)
        if engine is None:
            with active.letting_pass(request.method, url):
                return original(self, request)
        request.read()
        asked = _asked(request, url)
        if rivals.may_stand():
            _refuse_rival(module, _HOOKS[0], engine, request, asked)
        step = waiting.begun(lambda flow: engine.begin(asked, flow, client))
        if isinstance(step, Replay):
            return _replayed(module, engine, step.entry)
        try:
            with active.inside():
                response = original(self, _sent(module, request))
            response.stream = stream = passing(response.stream, _passage(module, engine, step, response, asked))
            return _answered(module, response, _whole(stream)) if _reads_whole(step, response) else response
        except BaseException:
            engine.abandon(step)
            raise

    return handle_request


def _async(module: ModuleType, client: str, original: Callable[..., Any]) -> Callable[..., Any]:
    passing = httpx_streams.async_passing(module)

    @wraps(original)
    async def handle_async_request(self: Any, request: Any) -> Any:
        url = str(request.url)
        engine = active.engine_for(request.method, url)
        if engine is None:
            with active.letting_pass(request.method, url):
                return await original(self, request)
        await request.aread()
        asked = _asked(request, url)
        if rivals.may_stand():
            _refuse_rival(module, _HOOKS[1], engine, request, asked)
        step = await waiting.begun_awaited(lambda flow: engine.begin(asked, flow, client), engine.abandon)
        if isinstance(step, Replay):
            return _replayed(module, engine, step.entry)
        passage = None
        try:
            with active.inside():
                response = await original(self, _sent(module, request))
            passage = _passage(module, engine, step, response, asked)
            response.stream = stream = passing(response.stream, passage)
            return _answered(module, response, await _awhole(stream)) if _reads_whole(step, response) else response
        except BaseException:
            # A coroutine may be closed while its passage is still keeping the answer, in a thread: to abandon the call
            # then would lose what was paid for. The blocking twin has waited for that, so it may always abandon.
            if passage is None:
                engine.abandon(step)
            raise

    return handle_async_request


def _refuse_rival(module: ModuleType, hook: tuple[str, str], engine: Engine, request: Any, asked: Request) -> None:
    """Refuse a call that another tool beside this adapter would answer: its answer is nobody's recording."""
    rivals.refuse_vcrpy(engine, getattr(getattr(module, hook[0]), hook[1]), asked)
    if rivals.respx_takes(module.__name__, request):
        raise engine.refuse(rivals.refusal("respx", asked, engine.policy))


def _asked(request: Any, url: str) -> Request:
    return Request(request.method.upper(), url.partition("#")[0], _headers(request.headers), request.content)


def _headers(headers: Any) -> Headers:
    return tuple(map(_decoded, headers.raw))


def _raw(response: Response) -> list[tuple[bytes, bytes]]:
    return list(map(_encoded, response.headers))


# Header by header, as most of a request's are those of the request before, and one or two never are.
@lru_cache(256)
def _decoded(pair: tuple[bytes, bytes]) -> tuple[str, str]:
    name, value = pair
    return name.decode("latin-1"), value.decode("latin-1")


@lru_cache(256)
def _encoded(pair: tuple[str, str]) -> tuple[bytes, bytes]:
    name, value = pair
    return name.encode("latin-1", "replace"), value.encode("latin-1", "replace")


def _sent(module: ModuleType, request: Any) -> Any:
    """Ask for an answer without content-encoding, so that entries can be read; the caller's request stays as it is."""
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"accept-encoding"]
    headers.append((b"Accept-Encoding", b"identity"))
    return module.Request(
        request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
    )


def _passage(module: ModuleType, engine: Engine, call: Live, response: Any, asked: Request) -> Passage:
    headers, undoes = _headers(response.headers), partial(_undoes, module)
    watch = Watch(asked, response.status_code, headers, undoes, partial(_reads_raw, ref(response)))
    return Passage(engine, call, watch)


def _reads_raw(response: ref[Any]) -> bool:
    """Tell whether a response is, or may be, read as it lies on the wire: only who reads it decoded makes a decoder."""
    return not hasattr(response(), "_decoder")


def _undoes(module: ModuleType, coding: str) -> bool:
    """Tell whether the client undoes a content-coding: with `br` and `zstd` that hangs on what else is installed."""
    try:
        module.Response(200, headers={"content-encoding": coding}, content=_NOT_ENCODED)
    except module.DecodingError:
        return True
    return False


def _reads_whole(call: Live, response: Any) -> bool:
    return reads_whole(call, response.status_code, _headers(response.headers))


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
    return module.Response(
        response.status,
        headers=_raw(response),
        stream=httpx_streams.replayed(module, engine, entry),
        extensions={"http_version": b"HTTP/1.1"},
    )

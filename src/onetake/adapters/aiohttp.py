"""aiohttp: a client middleware of ours, put last at every request, so that each hop is an interaction of its own.

Hooked at `ClientSession._request`, which every request of every session passes. A middleware is handed the whole
request, its headers final, after redirects, authentication and the middlewares of the program; the innermost one stands
right above the connection. SDKs that send through aiohttp below httpx (litellm, `DefaultAioHttpClient`) are seen here.

Not kept: the HTTP version (a replay says HTTP/1.1), a reason phrase that is not the usual one, the borders of chunks (a
replay gives event by event), and the progress of an upload (nothing is sent, and an `UploadTracker` says so).
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from types import ModuleType
from typing import Any

from onetake import active, hooking, rivals, waiting
from onetake.adapters import aiohttp_responses
from onetake.adapters.aiohttp_responses import Client
from onetake.engine import Engine
from onetake.errors import AdapterError
from onetake.model import Headers, Request
from onetake.steps import Live, Replay

_ACCEPT = "Accept-Encoding"


def patch(module: ModuleType) -> None:
    """Intercept aiohttp; where our hook stands already, nothing changes.

    Raises:
        AdapterError: The version has no client middlewares, or is built otherwise than those that are known.
    """
    named = f"aiohttp {getattr(module, '__version__', '')}".strip()
    session = getattr(module, "ClientSession", None)
    original: Any = getattr(session, "_request", None)
    if hooking.stands(original) or rivals.over(original):
        return
    wrong = _middlewares_missing(session, original) or aiohttp_responses.unknown_shape(module)
    if wrong or original is None:
        raise AdapterError(
            f"onetake cannot intercept {named}: {wrong}; use another aiohttp from 3.12 on, or a newer onetake"
        )
    hooking.put(session, "_request", _hook(module, named, original))


def rival(module: ModuleType) -> str:
    """Name the tool that stands between aiohttp's sessions and this adapter; empty where none does."""
    return rivals.over(module.ClientSession._request)


def _middlewares_missing(session: Any, request: Any) -> str:
    if request is None:
        return "it has no ClientSession._request"
    if "middlewares" not in inspect.signature(session.__init__).parameters or "_middlewares" not in session.ATTRS:
        return "it has no client middlewares, which came with aiohttp 3.12"
    return ""


def _hook(module: ModuleType, named: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def _request(self: Any, *args: Any, **options: Any) -> Any:
        around = options.get("middlewares")
        around = self._middlewares if around is None else around
        undoes = options.get("auto_decompress")
        client = Client(module, named, self, self.auto_decompress if undoes is None else undoes)
        options["middlewares"] = (*around, partial(_answer, client))
        return await original(self, *args, **options)

    return _request


async def _answer(client: Client, request: Any, send: Callable[[Any], Awaitable[Any]]) -> Any:
    """Answer one request, as aiohttp's middlewares do: from the cassette, or through *send*."""
    url = str(request.url)
    engine = active.engine_for(request.method, url)
    if engine is None:
        with active.letting_pass(request.method, url):
            return await send(request)
    asked = Request(request.method, url, _headers(request), await _body(client.module, request))
    rivals.refuse_vcrpy(engine, client.module.ClientSession._request, asked)
    step = await waiting.begun_awaited(lambda flow: engine.begin(asked, flow, client.named), engine.abandon)
    if isinstance(step, Replay):
        return await aiohttp_responses.replayed(client, engine, request, step.entry)
    return await _live(client, engine, step, request, send)


async def _live(client: Client, engine: Engine, call: Live, request: Any, send: Callable[[Any], Awaitable[Any]]) -> Any:
    request.response_class = aiohttp_responses.watched(request.response_class)
    try:
        with active.inside(), _without_encoding(request.headers):
            response = await send(request)
    except BaseException:
        engine.abandon(call)
        raise
    if response.status == 101:  # an upgrade, to what is no answer
        engine.abandon(call)
        return response
    try:
        return await aiohttp_responses.passing(client, engine, call, request, response)
    except BaseException:
        response.close()  # nobody else has it yet; it ends the call as well
        raise


def _headers(request: Any) -> Headers:
    # What `compress` encodes is encoded while it is sent: the body that is taken here is plain.
    dropped = "content-encoding" if request.compress else ""
    return tuple((name, value) for name, value in request.headers.items() if name.lower() != dropped)


async def _body(module: ModuleType, request: Any) -> bytes:
    """Return the body's bytes as they are going to be sent; one that can be read only once is replaced by them."""
    payload = request.body
    if not isinstance(payload, module.Payload):
        return bytes(payload)
    taken = _Taken()
    await payload.write_with_length(taken, None)
    body = b"".join(taken.chunks)
    if not isinstance(payload, module.BytesPayload):
        if hasattr(request, "update_body"):
            await request.update_body(io.BytesIO(body))
        else:  # the first of 3.12 cannot do that
            request.body = module.BytesIOPayload(io.BytesIO(body))
    return body


class _Taken:
    """Where a payload writes itself to be read."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []

    async def write(self, chunk: Any) -> None:
        self.chunks.append(bytes(chunk))


@contextmanager
def _without_encoding(headers: Any) -> Iterator[None]:
    """Ask for an answer without content-encoding, so that entries can be read; the caller's request stays as it is."""
    before = headers.popall(_ACCEPT, ())
    headers[_ACCEPT] = "identity"
    try:
        yield
    finally:
        headers.popall(_ACCEPT, ())
        for value in before:
            headers.add(_ACCEPT, value)

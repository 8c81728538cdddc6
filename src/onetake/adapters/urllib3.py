"""urllib3, and so requests and botocore: every pool's `urlopen`, the lowest public place that has a whole request.

What is one interaction: each redirect (`PoolManager` and requests follow them above the pool) and each retry after a
status. The tries before a connection stands, and the redirects of a pool that is asked without a manager
(`HTTPConnectionPool("host").request(...)`), belong to the call that makes them.

Not kept, because they are not part of an entry: the HTTP version (a replay says HTTP/1.1), a reason phrase that is not
the usual one, trailers, the borders of HTTP chunks.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from onetake import active, hooking, rivals, waiting
from onetake.adapters import urllib3_answers, urllib3_bodies, urllib3_streams
from onetake.adapters.urllib3_calls import Asked, Reading, absolute, retried
from onetake.bodies import reads_whole
from onetake.engine import Engine
from onetake.errors import AdapterError
from onetake.model import Request
from onetake.passage import Passage
from onetake.steps import Live, Replay
from onetake.streams import Watch

_ASKED = {"method", "url", "body", "headers", "retries", "redirect", "assert_same_host", "release_conn", "body_pos"}
_ANSWERED = {
    *("body", "headers", "status", "version", "reason", "preload_content", "decode_content", "original_response"),
    *("retries", "enforce_content_length", "request_method", "request_url"),
}


def patch(module: ModuleType) -> None:
    """Intercept urllib3; where its hook stands already, nothing changes.

    Raises:
        AdapterError: A version whose pools or responses are of another shape.
    """
    client = f"{module.__name__} {getattr(module, '__version__', '')}".strip()
    pools: Any = getattr(module, "HTTPConnectionPool", None)
    original: Any = getattr(pools, "urlopen", None)
    if original is not None and (hooking.stands(original) or rivals.over(original)):
        return
    if wrong := _misshapen(module, original):
        raise AdapterError(f"onetake cannot intercept {client}: {wrong}")
    hooking.put(pools, "urlopen", _hook(module, client, original))


def rival(module: ModuleType) -> str:
    """Name the tool that stands between the module's callers and this adapter; empty where none does."""
    return rivals.over(module.HTTPConnectionPool.urlopen) or rivals.on_requests()


def _misshapen(module: ModuleType, original: Any) -> str:
    """Say why a module is none that this adapter knows; empty for one that it does."""
    if original is None:
        return "it has no HTTPConnectionPool.urlopen; use urllib3 2.0 or newer, or a newer onetake"
    asked = set(inspect.signature(original).parameters)
    answered = set(inspect.signature(getattr(module, "HTTPResponse", lambda: None)).parameters)
    lacking = [f"HTTPConnectionPool.urlopen without {name}" for name in sorted(_ASKED - asked)]
    lacking += [f"HTTPResponse without {name}" for name in sorted(_ANSWERED - answered)]
    if lacking:
        return f"its shape is not known ({', '.join(lacking)}); use urllib3 2.0 or newer, or a newer onetake"
    return ""


def _hook(module: ModuleType, client: str, original: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @wraps(original)
    def urlopen(self: Any, method: Any, url: str, *args: Any, **kwargs: Any) -> Any:
        place = absolute(self, url)
        engine = active.engine_for(method.upper(), place)
        if engine is None:
            with active.letting_pass(method, place):
                return original(self, method, url, *args, **kwargs)
        given = dict(signature.bind(self, method, url, *args, **kwargs).arguments)
        del given["self"]
        given |= given.pop("response_kw", {})
        asked = Asked(module, self, given)
        asked.check_host()
        body = urllib3_bodies.taken(given.get("body"), given.get("body_pos"))
        return _Call(client, original, asked, body).made(engine, place)

    return urlopen


class _Call:
    """One call of a pool's `urlopen` that a session answers.

    Args:
        client: urllib3's name and version.
        original: urllib3's own `urlopen`.
        asked: What was asked.
        body: The body that it came with.
    """

    def __init__(self, client: str, original: Callable[..., Any], asked: Asked, body: urllib3_bodies.Body) -> None:
        self._client, self._original, self._asked, self._body = client, original, asked, body

    def made(self, engine: Engine, place: str) -> Any:
        """Make the call, and make it again where a retry after its status is due; *place* is its absolute URL."""
        asked = self._asked
        request = asked.request(place, self._body)
        rivals.refuse_vcrpy(engine, asked.pool.ConnectionCls, request)
        step = waiting.begun(lambda flow: engine.begin(request, flow, self._client))
        if isinstance(step, Replay):
            source = urllib3_streams.Stored(asked.module, engine, step.entry)
            response = self._answer(source, urllib3_answers.Head.of(step.response), asked.retries)
        else:
            try:
                response = self._live(engine, step, request)
            except BaseException:
                engine.abandon(step)
                raise
        return retried(asked, self._body, response) if asked.is_due(response) else response

    def _live(self, engine: Engine, step: Live, request: Request) -> Any:
        asked = self._asked
        unread = {"preload_content": False, "decode_content": False, "release_conn": None}
        with active.inside():
            inner = self._original(asked.pool, **asked.sent(self._body) | unread)
        head = urllib3_answers.Head.of_live(inner)
        reading = Reading()
        watch = Watch(request, head.status, head.headers, undoes=asked.undoes, reads_raw=reading.is_raw)
        passage = Passage(engine, step, watch)
        source: Any = urllib3_streams.Passing(inner, passage, reading.note_raw)
        if reads_whole(step, head.status, head.headers):
            if not asked.preloads or not asked.given.get("decode_content", True):
                reading.note_raw()  # it may come to that
            body, chunked = source.whole(), source.chunked
            response = passage.response
            if response is not None and response is not passage.came:
                head, body = urllib3_answers.Head.of(response), response.body
                chunked = urllib3_streams.came_in_chunks(response.headers)
            source = urllib3_streams.Held([body] if body else [], chunked=chunked)
        return self._answer(source, head, asked.left_of(inner.retries))

    def _answer(self, source: Any, head: urllib3_answers.Head, retries: Any) -> Any:
        given = self._asked.given
        options = {
            name: given[name] for name in ("decode_content", "enforce_content_length", "auto_close") if name in given
        }
        response = urllib3_answers.answer(
            self._asked.module, source, head,
            request_method=given["method"], request_url=given["url"], retries=retries, **options,
        )  # fmt: skip
        if self._asked.preloads:
            _ = response.data  # reads it, and keeps it in the response
        return response

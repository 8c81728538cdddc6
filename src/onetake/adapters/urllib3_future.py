"""urllib3-future, and so niquests: `urlopen` of its two kinds of pools, for threads and for tasks.

Whichever way it is imported: as `urllib3_future`, and as `urllib3`, whose place it takes where it is installed; then
requests and botocore are on it too. HTTP/2 and HTTP/3 lie below these pools, so they are carried like HTTP/1.1.

What is one interaction: each redirect, and each retry after a status; as with urllib3. A `multiplexed` call is answered
at once, as over HTTP/1.1: there is nothing left to gather, and such calls of one thread go one after the other.

Not kept, because they are not part of an entry: the HTTP version (a replay says HTTP/1.1), a reason phrase that is not
the usual one, trailers, early responses (103), the borders of chunks. A replay calls no `on_post_connection` and no
`on_upload_body`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from onetake import active, hooking, rivals
from onetake.adapters import urllib3_bodies, urllib3_future_responses
from onetake.adapters.urllib3_calls import Asked, absolute
from onetake.adapters.urllib3_future_calls import AsyncCall, Call
from onetake.engine import Engine
from onetake.errors import AdapterError

_ASKED = {
    *("method", "url", "body", "headers", "retries", "redirect", "assert_same_host", "release_conn", "body_pos"),
    *("preload_content", "decode_content", "extension", "multiplexed"),
}
_POOLS = ("HTTPConnectionPool", "AsyncHTTPConnectionPool")


def patch(module: ModuleType) -> None:
    """Intercept urllib3-future; where our hooks stand already, nothing changes.

    Raises:
        AdapterError: A version whose pools or responses are of another shape.
    """
    client = f"urllib3-future {getattr(module, '__version__', '')}".strip()
    pools: list[Any] = [getattr(module, name, None) for name in _POOLS]
    originals: list[Any] = [getattr(pool, "urlopen", None) for pool in pools]
    if all(map(hooking.stands, originals)) or any(map(rivals.over, originals)):
        return
    if wrong := _misshapen(module, originals):
        raise AdapterError(
            f"onetake cannot intercept {client}: its shape is not known ({', '.join(wrong)}); "
            "use niquests 3.14 or newer, or a newer onetake"
        )
    for pool, original in zip(pools, originals, strict=True):
        if not hooking.stands(original):
            hooking.put(pool, "urlopen", _hook(module, client, original))


def rival(module: ModuleType) -> str:
    """Name the tool that stands between the module's callers and this adapter; empty where none does."""
    return rivals.over(module.HTTPConnectionPool.urlopen) or rivals.on_requests()


def _misshapen(module: ModuleType, originals: list[Any]) -> list[str]:
    """Say what of a module is otherwise than in the versions that are known."""
    lacking = []
    for name, original in zip(_POOLS, originals, strict=True):
        if original is None:
            lacking.append(f"no {name}.urlopen")
            continue
        asked = set(inspect.signature(original).parameters)
        lacking += [f"{name}.urlopen without {part}" for part in sorted(_ASKED - asked)]
        if inspect.iscoroutinefunction(inspect.unwrap(original)) != name.startswith("Async"):
            lacking.append(f"{name}.urlopen in another colour")
    return lacking or urllib3_future_responses.unknown_shape(module)


def _hook(module: ModuleType, client: str, original: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    def call(pool: Any, *args: Any, **kwargs: Any) -> tuple[Asked, Engine | None, str]:
        given = dict(signature.bind(pool, *args, **kwargs).arguments)
        del given["self"]
        given |= given.pop("response_kw", {})
        place = absolute(pool, given["url"])
        return Asked(module, pool, given), active.engine_for(given["method"].upper(), place), place

    @wraps(original)
    def urlopen(self: Any, *args: Any, **kwargs: Any) -> Any:
        if active.nowhere():
            return original(self, *args, **kwargs)
        asked, engine, place = call(self, *args, **kwargs)
        if engine is None:
            with active.letting_pass(asked.given["method"], place):
                return original(self, *args, **kwargs)
        asked.check_host()
        body = urllib3_bodies.taken(asked.given.get("body"), asked.given.get("body_pos"))
        return Call(client, original, asked, body).made(engine, place)

    @wraps(original)
    async def awaited(self: Any, *args: Any, **kwargs: Any) -> Any:
        if active.nowhere():
            return await original(self, *args, **kwargs)
        asked, engine, place = call(self, *args, **kwargs)
        if engine is None:
            with active.letting_pass(asked.given["method"], place):
                return await original(self, *args, **kwargs)
        asked.check_host()
        body = await urllib3_bodies.taken_awaited(asked.given.get("body"), asked.given.get("body_pos"))
        return await AsyncCall(client, original, asked, body).made(engine, place)

    return awaited if inspect.iscoroutinefunction(inspect.unwrap(original)) else urlopen

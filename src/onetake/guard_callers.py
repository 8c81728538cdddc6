"""Which client is calling: read from the stack, and only when something is refused."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import FrameType
from typing import Any

CLIENTS = frozenset(
    (
        *("aiohttp", "asyncpg", "boto3", "botocore", "elastic_transport", "ftplib", "grpc", "http", "httplib2"),
        *("httpcore", "httpcore2", "httpx", "httpx2", "imaplib", "kafka", "lm15", "mysql", "nats", "niquests"),
        *("paramiko", "pika", "poplib", "psycopg", "psycopg2", "pymongo", "pymysql", "redis", "requests", "smtplib"),
        *("tornado", "twisted", "urllib", "urllib3", "urllib3_future", "valkey", "websocket", "websockets", "xmlrpc"),
    )
)
"""Packages that speak to a network, by their first name: what stands above them on the stack is who uses them."""

_BETWEEN = frozenset(
    (
        *("_ssl", "aiohappyeyeballs", "anyio", "asyncio", "backoff", "concurrent", "contextlib", "contextvars"),
        *("ddtrace", "functools", "h11", "h2", "onetake", "opentelemetry", "outcome", "selectors", "sentry_sdk"),
        *("sniffio", "socket", "socks", "ssl", "tenacity", "threading", "trio", "truststore", "uvloop", "wrapt"),
    )
)
"""What carries or wraps the calls of others, and so is nobody's name."""


_LOOPS = frozenset(("asyncio.events", "trio._core._run"))
"""What runs a task: the frames beyond are those of who runs the loop, and not of who began the task."""


def caller() -> str:
    """Return who calls: the outermost client of those that call each other down to here, and who called that.

    Returns:
        `requests (called from app.weather)`; `app.weather` where that calls the socket itself. In a task that a client
        began, the client of the task that waits for it: of several that may be it, all. Where the program's own frames
        are in another thread, what runs this one: `trio`, or `thread NAME`.
    """
    modules = list(_modules(sys._getframe(1)))
    task = next((n for n, name in enumerate(modules) if name in _LOOPS), len(modules))
    if (name := _name(modules[:task])) or (name := " or ".join(sorted(_waiting()))):
        return name
    between = [name for name in map(_package, modules) if name in ("anyio", "asyncio", "trio")]
    return _name(modules[task:]) or (between[-1] if between else f"thread {threading.current_thread().name}")


def _name(modules: Iterable[str]) -> str:
    """Name the caller of a stack of modules, the innermost first; empty where all of it stands between."""
    client = ""
    for name in modules:
        package = _package(name)
        if package in CLIENTS:
            client = name if package in ("http", "urllib", "xmlrpc") else package
        elif package not in _BETWEEN:
            return f"{client} (called from {name})" if client else name
    return client


def _waiting() -> set[str]:
    """Name the clients of the tasks that may wait for this one: of asyncio all there are, of trio those around it."""
    coroutines = []
    with suppress(KeyError, RuntimeError):  # not loaded, or not running here
        coroutines += [task.get_coro() for task in sys.modules["asyncio"].all_tasks()]
    with suppress(KeyError, RuntimeError):
        nursery = sys.modules["trio"].lowlevel.current_task().parent_nursery
        while nursery is not None:
            coroutines.append(nursery.parent_task.coro)
            nursery = nursery.parent_task.parent_nursery
    stacks = [_awaited(coroutine) for coroutine in coroutines]
    return {_name(stack) for stack in stacks if any(_package(name) in CLIENTS for name in stack)}


def _awaited(coroutine: Any) -> list[str]:
    """Return the modules of a coroutine and of what it waits for, the innermost first."""
    found: list[str] = []
    while (frame := getattr(coroutine, "cr_frame", None)) is not None:
        found.insert(0, str(frame.f_globals.get("__name__", "?")))
        coroutine = coroutine.cr_await
    return found


def _package(name: str) -> str:
    """Return the package that a module belongs to; a vendored one keeps its own name: `dspy._vendor.lm15` is lm15."""
    parts = name.split(".")
    vendored = next((n for n, part in enumerate(parts[:-1]) if part in ("_vendor", "vendor", "packages")), -1)
    return parts[vendored + 1]


def _modules(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        yield str(frame.f_globals.get("__name__", "?"))
        frame = frame.f_back

"""Which session answers here: by context, carried into threads, and never by guessing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

from onetake.engine import Engine
from onetake.errors import InteractionNotFound
from onetake.misses import line_of
from onetake.model import Request


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """One open session in the place where it was opened; `parent` is the session around it.

    `ambient` is True for a test's: its fixtures run in contexts that nobody could bind, and so do their threads.
    """

    engine: Engine
    parent: Scope | None
    ambient: bool = False


_scope: ContextVar[Scope | None] = ContextVar("onetake_scope", default=None)


class _Inside:
    """One live call under way; what was started during it may outlive it, and then is no longer inside."""

    under_way = True


_inside: ContextVar[_Inside | None] = ContextVar("onetake_inside", default=None)
_open: list[Scope] = []
_softly = False
_lock = threading.Lock()


def enter(engine: Engine, *, ambient: bool = False) -> Scope:
    """Open a scope. It answers the calls of contexts that are bound to it, and of those that are bound to none.

    Args:
        engine: The session's.
        ambient: True where threads that are started in a context bound to none belong to this session too.
    """
    scope = Scope(engine, _scope.get(), ambient)
    with _lock:
        engine.ledger.softly = _softly
        _carry_into_threads()
        _open.append(scope)
    return scope


def leave(scope: Scope) -> None:
    """Close a scope: a call that still comes under it is refused in its name."""
    scope.engine.closed = True
    with _lock:
        _open.remove(scope)


@contextmanager
def softly() -> Iterator[None]:
    """Have every session that is open inside the block raise its refusals as `Exception`s, for what stops at others."""
    _set_softly(True)
    try:
        yield
    finally:
        _set_softly(False)


def _set_softly(value: bool) -> None:
    global _softly
    with _lock:
        _softly = value
        for scope in _open:
            scope.engine.ledger.softly = value


def bound() -> Scope | None:
    """Return the scope that this context is bound to."""
    return _scope.get()


def bind(scope: Scope) -> Token[Scope | None]:
    """Bind this context, and what is started from it, to a scope."""
    return _scope.set(scope)


def unbind(scope: Scope, token: Token[Scope | None]) -> None:
    """Undo `bind`; scopes that were closed out of turn are passed over."""
    if _scope.get() is scope:
        try:
            _scope.reset(token)
        except ValueError:
            # An async generator (a test framework's own, say) may end in another context than the one it began in.
            _scope.set(scope.parent)
    here = _scope.get()
    while here is not None and here.engine.closed:
        here = here.parent
    _scope.set(here)


def engine_for(method: str, url: str) -> Engine | None:
    """Return the engine that answers a request made here, None where it goes out untouched.

    Raises:
        InteractionNotFound: Sessions are open side by side and nothing says which of them this thread belongs to.
    """
    call = _inside.get()
    if call is not None and call.under_way:
        return None
    scope = _scope.get()
    if scope is None:
        scope = _innermost(method, url)
    if scope is None or scope.engine.passes(method, url):
        return None
    return scope.engine


@contextmanager
def inside() -> Iterator[None]:
    """Mark a live call as under way here, so that a client below the one that was intercepted is left alone."""
    call = _Inside()
    token = _inside.set(call)
    try:
        yield
    finally:
        call.under_way = False
        _inside.reset(token)


def _innermost(method: str, url: str) -> Scope | None:
    """Return the innermost open scope if all open ones lie on one chain; with siblings, refuse."""
    scopes = [scope for scope in list(_open) if not scope.engine.passes(method, url)]
    found = _end_of_chain(scopes)
    if found is not None or not scopes:
        return found
    refusal = InteractionNotFound(
        "several sessions are open side by side and this thread belongs to none of them",
        line_of(Request(method, url), scopes[0].engine.policy),
        ", ".join(scope.engine.cassette.place for scope in scopes),
        "",
        "start the thread inside the session it belongs to, or pass it contextvars.copy_context()",
    )
    for scope in scopes:
        scope.engine.ledger.write(refusal)
    raise scopes[0].engine.in_callers_form(refusal)


def _end_of_chain(scopes: list[Scope]) -> Scope | None:
    """Return the innermost scope where all lie on one chain, None where they lie side by side."""
    for scope in scopes:
        chain = set(_chain(scope))
        if all(other in chain for other in scopes):
            return scope
    return None


def _chain(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent


def _under(scope: Scope | None, inside: _Inside | None, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    tokens = _scope.set(scope), _inside.set(inside)
    try:
        return call(*args, **kwargs)
    finally:
        _scope.reset(tokens[0])
        _inside.reset(tokens[1])


def _carried(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return what runs a call in another thread as part of the session, and of the live call, that it is started in."""
    scope = _scope.get() or _end_of_chain([scope for scope in list(_open) if scope.ambient])
    return partial(_under, scope, _inside.get(), call)


def _carry_into_threads() -> None:
    """Wrap, once, the two doors by which work reaches another thread without its context."""
    if getattr(threading.Thread.start, "_onetake", False):
        return
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit

    @wraps(start)
    def start_here(self: threading.Thread) -> None:
        if _open or _scope.get() is not None:
            self.run = _carried(self.run)  # type: ignore[method-assign]
        start(self)

    def submit_here(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return submit(self, _carried(fn), *args, **kwargs)

    start_here._onetake = True  # type: ignore[attr-defined]
    threading.Thread.start = start_here  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = submit_here  # type: ignore[method-assign,assignment]

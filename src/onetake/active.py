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

from onetake import forking, strays
from onetake.decide import never_goes_live
from onetake.engine import Engine
from onetake.errors import InteractionNotFound, Refusal
from onetake.misses import line_of
from onetake.model import Request


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """One open session in the place where it was opened; `parent` is the session around it.

    `ambient` is True for a test's: its fixtures run in contexts that nobody could bind, and so do their threads.
    `lets_go` is True for that of a fixture which outlives it: what was started under it serves whoever comes then.
    """

    engine: Engine
    parent: Scope | None
    ambient: bool = False
    lets_go: bool = False


_scope: ContextVar[Scope | None] = ContextVar("onetake_scope", default=None)


class _Call:
    """One call under way; what was started during it may outlive it, and then is no longer part of it.

    Args:
        passed: Method and URL of a request that goes out untouched, None for a live call.
    """

    def __init__(self, passed: tuple[str, str] | None = None) -> None:
        self.passed = passed
        self.under_way = True


_inside: ContextVar[_Call | None] = ContextVar("onetake_inside", default=None)
_passing: ContextVar[_Call | None] = ContextVar("onetake_passing", default=None)
_open: list[Scope] = []
_lock = forking.Lock()


def enter(engine: Engine, *, ambient: bool = False, lets_go: bool = False) -> Scope:
    """Open a scope. It answers the calls of contexts that are bound to it, and of those that are bound to none.

    Args:
        engine: The session's.
        ambient: True where threads that are started in a context bound to none belong to this session too.
        lets_go: True where contexts that are bound to it count, once it is closed, as bound to none.
    """
    scope = Scope(engine, bound(), ambient, lets_go)
    engine.closed = False
    with _lock.held:
        _carry_into_threads()
        _open.append(scope)
    return scope


def leave(scope: Scope) -> None:
    """Close a scope: a call that still comes under it is refused in its name."""
    scope.engine.closed = True
    with _lock.held:
        _open.remove(scope)


def innermost() -> Scope | None:
    """Return the innermost open scope; of several side by side the last one opened, one that is sealed before others.

    For what must be given to one of them, and is not an answer: a process that nobody can bind.
    """
    scopes = list(_open)
    sealed = [scope for scope in scopes if never_goes_live(scope.engine.policy.mode)]
    return _end_of_chain(scopes) or next(reversed(sealed or scopes), None)


def bound() -> Scope | None:
    """Return the scope that this context is bound to; None where that has ended and let it go."""
    scope = _scope.get()
    return None if scope is not None and scope.lets_go and scope.engine.closed else scope


def bind(scope: Scope) -> Token[Scope | None]:
    """Bind this context, and what is started from it, to a scope."""
    return _scope.set(scope)


def unbind(scope: Scope, token: Token[Scope | None]) -> None:
    """Undo `bind`; scopes that were closed out of turn are passed over.

    Args:
        scope: The scope that was bound.
        token: What `bind` returned.
    """
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

    Args:
        method: Upper case; `CALL` for a decorated function.
        url: Absolute URL, or `function:<qualified name>`.

    Returns:
        The engine; where there is none an adapter sends the request under `letting_pass`.

    Raises:
        InteractionNotFound: Sessions are open side by side and nothing says which of them this thread belongs to.
    """
    if is_inside():
        return None
    scope = bound()
    if scope is None:
        scope = _innermost(method, url)
    if scope is None and (watch := watching()) is not None and passed() is None:
        watch.asked(method, url)
    return None if scope is None or scope.engine.passes(method, url) else scope.engine


def nowhere() -> bool:
    """Tell whether nobody, no session and no watch, can be concerned by what happens here; the cheapest question."""
    return not _open and strays.watch is None and bound() is None


def has_session() -> bool:
    """Tell whether a session, open or ended, can be concerned by what happens here."""
    return bool(_open) or bound() is not None


def watching() -> strays.Watch | None:
    """Return who is to be told of what happens here; None where a session is concerned, or nobody watches."""
    return None if has_session() else strays.watch


def concerned(stops: Callable[[Engine], bool]) -> list[Scope]:
    """Return the scopes that what happens here may belong to, of those that do not let it pass.

    Args:
        stops: Tells whether a session does not let it pass.

    Returns:
        This context's scope, which may have ended; in a context bound to none the innermost open scope, or all where
        they lie side by side.
    """
    scope = bound()
    found = [one for one in (list(_open) if scope is None else [scope]) if stops(one.engine)]
    inner = _end_of_chain(found)
    return found if inner is None else [inner]


def is_inside() -> bool:
    """Tell whether this is part of a live call, which an adapter or a decorated function carries."""
    call = _inside.get()
    return call is not None and call.under_way


def passed() -> tuple[str, str] | None:
    """Return method and URL of the request that goes out untouched here and now, None where none does."""
    call = _passing.get()
    return call.passed if call is not None and call.under_way else None


@contextmanager
def inside() -> Iterator[None]:
    """Mark a live call as under way here, so that a client below the one that was intercepted is left alone."""
    with _under_way(_inside, _Call()):
        yield


@contextmanager
def letting_pass(method: str, url: str) -> Iterator[None]:
    """Mark a request as going out untouched, so that the guard knows by its path what its connection is.

    Args:
        method: In any case.
        url: Absolute URL.
    """
    with _under_way(_passing, _Call((method, url))):
        yield


@contextmanager
def _under_way(place: ContextVar[_Call | None], call: _Call) -> Iterator[None]:
    token = place.set(call)
    try:
        yield
    finally:
        call.under_way = False
        place.reset(token)


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
    raise refuse(refusal, [scope.engine for scope in scopes])


def refuse(refusal: Refusal, engines: list[Engine]) -> Refusal:
    """Write one refusal into the ledgers of several sessions.

    Args:
        refusal: It, in any form.
        engines: The sessions'; one at least.

    Returns:
        What is to be raised, in the form that the caller's thread can stand: the one that the ledgers have.
    """
    said = engines[0].in_callers_form(refusal)
    for engine in engines:
        engine.ledger.write(said)
    return said


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


@dataclass(frozen=True, slots=True)
class _Here:
    """What a context is part of: a session, a live call and one that goes out untouched."""

    scope: Scope | None
    inside: _Call | None
    passing: _Call | None

    def run(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call something as part of them."""
        tokens = _scope.set(self.scope), _inside.set(self.inside), _passing.set(self.passing)
        try:
            return call(*args, **kwargs)
        finally:
            _scope.reset(tokens[0])
            _inside.reset(tokens[1])
            _passing.reset(tokens[2])


def _carried(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return what runs a call in another thread as part of the session, and of the calls, that it is started in."""
    scope = bound() or _end_of_chain([scope for scope in list(_open) if scope.ambient])
    return partial(_Here(scope, _inside.get(), _passing.get()).run, call)


def _carry_into_threads() -> None:
    """Wrap, once, the two ways in which work reaches another thread without its context."""
    if getattr(threading.Thread.start, "_onetake", False):
        return
    start, submit = threading.Thread.start, ThreadPoolExecutor.submit

    @wraps(start)
    def start_here(self: threading.Thread) -> None:
        if _open or bound() is not None:
            self.run = _carried(self.run)  # type: ignore[method-assign]
        start(self)

    def submit_here(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return submit(self, _carried(fn), *args, **kwargs)

    start_here._onetake = True  # type: ignore[attr-defined]
    threading.Thread.start = start_here  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = submit_here  # type: ignore[method-assign,assignment]

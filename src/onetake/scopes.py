"""`use_cassette`: open a cassette around a block or a function, sync or async."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar, Token
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from onetake import active
from onetake.model import Mode, Repeats
from onetake.session import Options, Session
from onetake.settings import KeyRules, MaxAge, load_settings

F = TypeVar("F", bound=Callable[..., Any])

_told_start: Path | None = None


def set_start(path: Path | None) -> Path | None:
    """Set where the search for settings starts, if that is not the program's main file; returns what was set before.

    It holds for the whole process: pytest runs one test at a time, in threads and tasks of many contexts.
    """
    global _told_start
    before, _told_start = _told_start, path
    return before


class CassetteScope:
    """What `use_cassette` returns: a context manager, sync and async, and a decorator."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._entered: list[tuple[Session, active.Scope, Token[active.Scope | None]]] = []

    def __enter__(self) -> Session:
        session = Session(self._options, load_settings(_start()), Mode.ONCE)
        scope = session.open()
        self._entered.append((session, scope, active.bind(scope)))
        return session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session, scope, token = self._entered.pop()
        active.unbind(scope, token)
        session.close()
        session.settle(error)

    async def __aenter__(self) -> Session:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: F) -> F:
        """Decorate a function, a coroutine function or a generator of either kind: each call is a session."""
        again = functools.partial(CassetteScope, self._options)
        if inspect.iscoroutinefunction(function):
            wrapper = _coroutine(again, function)
        elif inspect.isasyncgenfunction(function):
            wrapper = _async_generator(again, function)
        elif inspect.isgeneratorfunction(function):
            wrapper = _generator(again, function)
        else:
            wrapper = _plain(again, function)
        return functools.wraps(function)(wrapper)  # type: ignore[return-value]


def use_cassette(
    name: str | Path,
    *,
    mode: Mode | str | None = None,
    contract: Any = None,
    schema_version: int | None = None,
    repeats: Repeats | str | None = None,
    keep: Sequence[str] | None = None,
    on_reject: str | None = None,
    key: KeyRules | Mapping[str, Any] | None = None,
    hosts: Sequence[str] = (),
    ignore: Sequence[str] = (),
    max_age: MaxAge | Mapping[str, Any] | None = None,
) -> CassetteScope:
    """Record and replay every model call of a block or a function.

    Args:
        name: The cassette's folder, from the folder of the settings file nearest above the program.
        mode: `none`, `once`, `new_episodes`, `all` or `off`; `once` where nobody says anything, `none` where `CI`
            is set and under pytest.
        contract: What an answer must satisfy: a type, a `Contract`, the name of a declared one, or a list of these.
        schema_version: The version of a bare type's schema.
        repeats: `sequence` (each identical request gets its own recorded answer) or `same` (one answer for all).
        keep: Kinds of bad answers to keep: `violation`, `length`, `refusal`, `cut`, `status:429`, `status:4xx`.
        on_reject: `raise` (a `ContractError`) or `pass`.
        key: Rules of what counts as the same request, added to the settings'.
        hosts: Hosts that are recorded besides the usual ones (a loopback server, say): `host`, `host:port`.
        ignore: Hosts or paths that go out untouched.
        max_age: `{"days": 90, "then": "warn" | "fail" | "rerecord"}`, counted from the recording.

    Returns:
        A context manager that gives the `Session`; also a decorator. Both serve sync and async code.

    Raises:
        UsageError: An argument is wrong.
    """
    own = (contract, schema_version, repeats, keep, on_reject, key, tuple(hosts), tuple(ignore), max_age)
    return CassetteScope(Options(name, mode, *own))


def _start() -> Path:
    """Return where the search for settings starts: the test's file, the program's main file, or the current folder."""
    if _told_start is not None:
        return _told_start
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(main).absolute() if main and not modes.under_pytest() else Path.cwd()


def _plain(scope: Callable[[], CassetteScope], function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with scope():
            return function(*args, **kwargs)

    return call


def _coroutine(scope: Callable[[], CassetteScope], function: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with scope():
            return await function(*args, **kwargs)

    return call


def _generator(scope: Callable[[], CassetteScope], function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Iterator[Any]:
        with scope():
            yield from function(*args, **kwargs)

    return call


def _async_generator(scope: Callable[[], CassetteScope], function: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        with scope():
            async for item in function(*args, **kwargs):
                yield item

    return call

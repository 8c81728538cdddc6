"""`use_cassette`: open a cassette around a block or a function, sync or async."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Token
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from onetake import active, legacy_book, modes
from onetake.model import Mode, Repeats
from onetake.options import Options
from onetake.session import Session
from onetake.session_run import SessionRun
from onetake.settings import KeyRules, MaxAge, load_settings
from onetake.settings_start import told_start

F = TypeVar("F", bound=Callable[..., Any])


class CassetteScope:
    """What `use_cassette` returns: a context manager, sync and async, and a decorator."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._entered: list[tuple[SessionRun, active.Scope, Token[active.Scope | None]]] = []

    def __enter__(self) -> Session:
        run, scope = _opened(self._options)
        self._entered.append((run, scope, active.bind(scope)))
        return run.session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run, scope, token = self._entered.pop(self._mine())
        active.unbind(scope, token)
        run.close()
        run.settle(error)

    async def __aenter__(self) -> Session:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def __call__(self, function: F) -> F:
        """Decorate a function, a coroutine function or a generator of either kind: each call is a session."""
        if inspect.iscoroutinefunction(function):
            wrapper = _coroutine(self._options, function)
        elif inspect.isasyncgenfunction(function):
            wrapper = _async_generator(self._options, function)
        elif inspect.isgeneratorfunction(function):
            wrapper = _generator(self._options, function)
        else:
            wrapper = _plain(self._options, function)
        return functools.wraps(function)(wrapper)  # type: ignore[return-value]

    def _mine(self) -> int:
        """Return which of the sessions that this one object opened, in several threads or tasks, ends here."""
        here = active.bound()
        scopes = [scope for _, scope, _ in self._entered]
        return scopes.index(here) if here in scopes else -1


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
        name: The cassette's folder, or a store that is one file (`.db`), from the folder of the settings file nearest
            above the program.
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
    options = Options(
        name=name,
        mode=mode,
        contract=contract,
        schema_version=schema_version,
        repeats=repeats,
        keep=keep,
        on_reject=on_reject,
        key=key,
        hosts=hosts,
        ignore=ignore,
        max_age=max_age,
    )
    return CassetteScope(options)


def start() -> Path:
    """Return where the search for settings starts: the test's file, the program's main file, or the current folder."""
    told = told_start()
    if told is not None:
        return told
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(main).absolute() if main and not modes.under_pytest() else Path.cwd()


def _opened(options: Options) -> tuple[SessionRun, active.Scope]:
    settings = load_settings(start())
    run = SessionRun(legacy_book.narrowed(options, settings, modes.running_test()), settings, Mode.ONCE)
    return run, run.open()


def _plain(options: Options, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with CassetteScope(options):
            return function(*args, **kwargs)

    return call


def _coroutine(options: Options, function: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with CassetteScope(options):
            return await function(*args, **kwargs)

    return call


class _Steps:
    """A generator's session: open from its first step to its end, bound only while it runs.

    Between two steps its consumer runs in the same context, and may have a session of its own.
    """

    def __init__(self, options: Options) -> None:
        self._run, self._scope = _opened(options)

    def __enter__(self) -> _Steps:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run.close()
        self._run.settle(None if isinstance(error, GeneratorExit) else error)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Bind the session for one step."""
        token = active.bind(self._scope)
        try:
            yield
        finally:
            active.unbind(self._scope, token)


def _generator(options: Options, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with _Steps(options) as steps:
            inner = function(*args, **kwargs)
            step: Callable[[], Any] = functools.partial(inner.send, None)
            while True:
                try:
                    with steps.step():
                        item = step()
                except StopIteration as end:
                    return end.value
                step = yield from _next_step(inner, item, steps)

    return call


def _next_step(inner: Any, item: Any, steps: _Steps) -> Generator[Any, Any, Callable[[], Any]]:
    """Hand an item to the consumer and return what it makes the generator do next."""
    try:
        sent = yield item
    except GeneratorExit:
        with steps.step():
            inner.close()
        raise
    except BaseException as error:  # noqa: BLE001 - it is the generator's to catch
        return functools.partial(inner.throw, error)
    return functools.partial(inner.send, sent)


def _async_generator(options: Options, function: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        with _Steps(options) as steps:
            inner = function(*args, **kwargs)
            step = functools.partial(inner.asend, None)
            while True:
                try:
                    with steps.step():
                        item = await step()
                except StopAsyncIteration:
                    return
                try:
                    step = functools.partial(inner.asend, (yield item))
                except GeneratorExit:
                    with steps.step():
                        await inner.aclose()
                    raise
                except BaseException as error:  # noqa: BLE001 - it is the generator's to catch
                    step = functools.partial(inner.athrow, error)

    return call

"""Any callable as a client: `recorded` makes its arguments the request and what it returns the answer."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any, TypeVar

from onetake import active, waiting
from onetake.adapters.function_values import (
    arguments_of,
    as_returned,
    check_returned,
    to_response,
    to_value,
    value_of,
)
from onetake.contract import Contract, as_contracts
from onetake.dialects.function_call import STREAM
from onetake.engine import Engine
from onetake.errors import UsageError
from onetake.misses import left_early
from onetake.model import Cut, Entry, Request, Response
from onetake.passage import is_interrupted
from onetake.steps import Flow, Live, Policy, Replay, Wait

F = TypeVar("F", bound=Callable[..., Any])
_CLIENT = "function"


def recorded(function: F | None = None, *, contract: Any = None, name: str | None = None) -> Any:
    """Record what a callable returns and replay it: local models, gRPC, SDKs that speak no HTTP.

    The request is the function's name and its arguments, bound by its signature with defaults applied, `self` left out.
    Outside a session the function is just called. A generator is recorded as the stream of what it yields.

    Args:
        function: The callable, where the decorator is used without parentheses.
        contract: What its answers must satisfy, instead of the session's contracts; as in `use_cassette`.
        name: The name in the request; the qualified name of the function where none is given.

    Returns:
        The decorated function, of the same colour.

    Raises:
        UsageError: At a call: an argument or the value is no JSON value, str, bytes or pydantic model.
    """
    if function is None:
        return functools.partial(recorded, contract=contract, name=name)
    asks = _Asking(function, contract, name or _name(function))
    if inspect.isasyncgenfunction(function):
        return functools.wraps(function)(_async_stream(asks))
    if inspect.iscoroutinefunction(function):
        return functools.wraps(function)(_awaited(asks))
    if inspect.isgeneratorfunction(function):
        return functools.wraps(function)(_stream(asks))
    return functools.wraps(function)(_called(asks))


def _name(function: Callable[..., Any]) -> str:
    """Return a function's qualified name; a script's own functions are named by its file, as when it is imported."""
    qualified = getattr(function, "__qualname__", None)
    if qualified is None:
        raise UsageError(f"recorded: {type(function).__qualname__} objects have no name of their own; give name=")
    module = function.__module__
    if module == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        module = Path(file).stem if file else module
    return f"{module}.{qualified}"


class _Asking:
    """What the four colours of a decorated function share: how a call becomes a request and a value an answer."""

    def __init__(self, function: Callable[..., Any], contract: Any, name: str) -> None:
        self.function = function
        self._contract = contract
        self._url = f"function:{name}"
        self._made: tuple[Policy, tuple[Contract, ...]] | None = None

    def engine(self) -> Engine | None:
        """Return the engine that answers here, None where the function is just called."""
        return active.engine_for("CALL", self._url)

    def begin(self, engine: Engine, args: Any, kwargs: Any, flow: Flow) -> Replay | Live | Wait:
        """Ask the engine; the arguments become bytes here, before the function can change them."""
        body = arguments_of(self.function, args, kwargs)
        request = Request("CALL", self._url, (("content-type", "application/json"),), body)
        return engine.begin(request, flow, _CLIENT, self._contracts(engine))

    def keep(self, engine: Engine, call: Live, value: Any) -> Any:
        """Keep a value; under `repeats="same"` a caller that lost the race gets the value that was added first."""
        try:
            check_returned(value, self.function)
            came = to_response(value)
            response = engine.commit(engine.judge(call, came))
        finally:
            engine.abandon(call)
        return value if response is came else value_of(response, self.function)

    def replayed(self, engine: Engine, entry: Entry) -> Iterator[Any]:
        """Yield again what a generator yielded."""
        for line in filter(None, entry.response.body.split(b"\n")):
            yield as_returned(json.loads(line), self.function)
        if entry.response.cut is Cut.LEFT:
            raise engine.refuse(left_early(entry, engine.policy))

    def _contracts(self, engine: Engine) -> tuple[Contract, ...] | None:
        if self._contract is None:
            return None
        policy = engine.policy
        if self._made is None or self._made[0] is not policy:  # a type's schema takes milliseconds
            self._made = (
                policy,
                as_contracts(self._contract, root=policy.root, declared=policy.declared, prefix=policy.prefix),
            )
        return self._made[1]


class _Yielded:
    """What a live generator has yielded so far, on its way to be kept. Its call ends once, however the generator does.

    The frame of a generator may just be thrown away (its event loop is closed): then its call is abandoned with this.
    """

    def __init__(self, asks: _Asking, engine: Engine, call: Live) -> None:
        self._asks, self._engine, self._call = asks, engine, call
        self._lines: list[bytes] = []

    def add(self, value: Any) -> None:
        """Take in the next value; as bytes, before its caller can change it."""
        self._call.saw_first_byte()
        check_returned(value, self._asks.function)
        self._lines.append(json.dumps(to_value(value), separators=(",", ":")).encode() + b"\n")

    def keep(self, cut: Cut) -> None:
        """Keep what came. Blocks until it is on disk."""
        response = Response(200, (("content-type", STREAM),), b"".join(self._lines), cut=cut)
        try:
            self._engine.commit(self._engine.judge(self._call, response))
        finally:
            self.drop()

    def drop(self) -> None:
        """End the call without keeping anything."""
        self._engine.abandon(self._call)

    def __del__(self) -> None:
        self.drop()


def _called(asks: _Asking) -> Callable[..., Any]:
    def called(*args: Any, **kwargs: Any) -> Any:
        engine = asks.engine()
        if engine is None:
            return asks.function(*args, **kwargs)
        step = waiting.begun(lambda flow: asks.begin(engine, args, kwargs, flow))
        if isinstance(step, Replay):
            return value_of(step.response, asks.function)
        try:
            with active.inside():
                value = asks.function(*args, **kwargs)
        except BaseException:
            engine.abandon(step)
            raise
        return asks.keep(engine, step, value)

    return called


def _awaited(asks: _Asking) -> Callable[..., Any]:
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        engine = asks.engine()
        if engine is None:
            return await asks.function(*args, **kwargs)
        step = await waiting.begun_awaited(lambda flow: asks.begin(engine, args, kwargs, flow), engine.abandon)
        if isinstance(step, Replay):
            return value_of(step.response, asks.function)
        try:
            with active.inside():
                value = await asks.function(*args, **kwargs)
        except BaseException:
            engine.abandon(step)
            raise
        return await waiting.in_thread(asks.keep, engine, step, value)

    return awaited


def _stream(asks: _Asking) -> Callable[..., Any]:
    def stream(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        engine = asks.engine()
        if engine is None:
            return (yield from asks.function(*args, **kwargs))
        step = waiting.begun(lambda flow: asks.begin(engine, args, kwargs, flow))
        if isinstance(step, Replay):
            yield from asks.replayed(engine, step.entry)
            return None
        came = _Yielded(asks, engine, step)
        try:
            with closing(_inside_each(asks.function(*args, **kwargs))) as values:
                for value in values:
                    came.add(value)
                    yield value
        except GeneratorExit:
            came.drop() if is_interrupted() else came.keep(Cut.LEFT)
            raise
        except BaseException:
            came.drop()
            raise
        came.keep(Cut.NO)
        return None

    return stream


def _async_stream(asks: _Asking) -> Callable[..., Any]:
    async def async_stream(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        engine = asks.engine()
        if engine is None:
            async with aclosing(asks.function(*args, **kwargs)) as values:
                async for value in values:
                    yield value
            return
        asker = waiting.task()
        step = await waiting.begun_awaited(lambda flow: asks.begin(engine, args, kwargs, flow), engine.abandon)
        if isinstance(step, Replay):
            for value in asks.replayed(engine, step.entry):
                yield value
            return
        came = _Yielded(asks, engine, step)
        try:
            async with aclosing(_inside_each_awaited(asks.function(*args, **kwargs))) as values:
                async for value in values:
                    came.add(value)
                    yield value
        except GeneratorExit:
            # Not closed by its caller, it is closed by the loop in a task of its own, which nobody cancels.
            if is_interrupted() or waiting.is_torn_away(asker):
                came.drop()
            else:
                await waiting.in_thread(came.keep, Cut.LEFT)
            raise
        except BaseException:
            came.drop()
            raise
        await waiting.in_thread(came.keep, Cut.NO)

    return async_stream


def _inside_each(values: Any) -> Generator[Any]:
    """Yield what a generator yields; its steps, and only they, are part of the live call."""
    with closing(values):
        while True:
            with active.inside():
                try:
                    value = next(values)
                except StopIteration:
                    return
            yield value


async def _inside_each_awaited(values: Any) -> AsyncGenerator[Any]:
    async with aclosing(values):
        while True:
            with active.inside():
                try:
                    value = await anext(values)
                except StopAsyncIteration:
                    return
            yield value

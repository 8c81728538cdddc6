"""Any callable as a client: `recorded` makes its arguments the request and what it returns the answer."""

from __future__ import annotations

import functools
import inspect
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
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
from onetake.misses import left_early
from onetake.model import Cut, Entry, Request, Response
from onetake.steps import Flow, Live, Replay, Wait

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
    asks = _Function(function, contract, name or _name(function))
    if inspect.isasyncgenfunction(function):
        return functools.wraps(function)(asks.async_stream)
    if inspect.iscoroutinefunction(function):
        return functools.wraps(function)(asks.awaited)
    if inspect.isgeneratorfunction(function):
        return functools.wraps(function)(asks.stream)
    return functools.wraps(function)(asks.called)


def _name(function: Callable[..., Any]) -> str:
    """Return a function's qualified name; a script's own functions are named by its file, as when it is imported."""
    module = function.__module__
    if module == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        module = Path(file).stem if file else module
    return f"{module}.{function.__qualname__}"


class _Function:
    """One decorated function in its four colours; each is the same three steps: begin, call, keep."""

    def __init__(self, function: Callable[..., Any], contract: Any, name: str) -> None:
        self._function = function
        self._contract = contract
        self._url = f"function:{name}"

    def called(self, *args: Any, **kwargs: Any) -> Any:
        """Answer a plain call."""
        engine = active.engine_for("CALL", self._url)
        if engine is None:
            return self._function(*args, **kwargs)
        while isinstance(step := self._begin(engine, args, kwargs, waiting.here()), Wait):
            step.future.result()
        if isinstance(step, Replay):
            return value_of(step.response, self._function)
        try:
            with active.inside():
                value = self._function(*args, **kwargs)
            return self._keep(engine, step, value)
        finally:
            engine.abandon(step)

    async def awaited(self, *args: Any, **kwargs: Any) -> Any:
        """Answer an awaited call."""
        engine = active.engine_for("CALL", self._url)
        if engine is None:
            return await self._function(*args, **kwargs)
        while isinstance(step := self._begin(engine, args, kwargs, waiting.task()), Wait):
            await waiting.awaited(step.future)
        if isinstance(step, Replay):
            return value_of(step.response, self._function)
        try:
            with active.inside():
                value = await self._function(*args, **kwargs)
            return await waiting.in_thread(self._keep, engine, step, value)
        finally:
            engine.abandon(step)

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Answer with a generator."""
        engine = active.engine_for("CALL", self._url)
        if engine is None:
            yield from self._function(*args, **kwargs)
            return
        while isinstance(step := self._begin(engine, args, kwargs, waiting.here()), Wait):
            step.future.result()
        if isinstance(step, Replay):
            yield from self._replayed(engine, step.entry)
            return
        lines: list[bytes] = []
        try:
            for value in self._function(*args, **kwargs):
                lines.append(self._line(step, value))
                yield value
        except GeneratorExit:
            self._keep_stream(engine, step, lines, Cut.LEFT)
            raise
        else:
            self._keep_stream(engine, step, lines, Cut.NO)
        finally:
            engine.abandon(step)

    async def async_stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Answer with an async generator."""
        engine = active.engine_for("CALL", self._url)
        if engine is None:
            async for value in self._function(*args, **kwargs):
                yield value
            return
        while isinstance(step := self._begin(engine, args, kwargs, waiting.task()), Wait):
            await waiting.awaited(step.future)
        if isinstance(step, Replay):
            for value in self._replayed(engine, step.entry):
                yield value
            return
        lines: list[bytes] = []
        try:
            async for value in self._function(*args, **kwargs):
                lines.append(self._line(step, value))
                yield value
        except GeneratorExit:
            self._keep_stream(engine, step, lines, Cut.LEFT)
            raise
        else:
            await waiting.in_thread(self._keep_stream, engine, step, lines, Cut.NO)
        finally:
            engine.abandon(step)

    def _begin(self, engine: Engine, args: Any, kwargs: Any, flow: Flow) -> Replay | Live | Wait:
        body = arguments_of(self._function, args, kwargs)
        request = Request("CALL", self._url, (("content-type", "application/json"),), body)
        return engine.begin(request, flow, _CLIENT, self._contracts(engine))

    def _contracts(self, engine: Engine) -> tuple[Contract, ...] | None:
        if self._contract is None:
            return None
        return as_contracts(self._contract, root=engine.policy.root, declared=engine.policy.declared)

    def _keep(self, engine: Engine, call: Live, value: Any) -> Any:
        """Keep a value; under `repeats="same"` a caller that lost the race gets the value that was added first."""
        check_returned(value, self._function)
        came = to_response(value)
        response = engine.commit(engine.judge(call, came))
        return value if response is came else value_of(response, self._function)

    def _line(self, call: Live, value: Any) -> bytes:
        call.saw_first_byte()
        check_returned(value, self._function)
        return json.dumps(to_value(value), separators=(",", ":")).encode() + b"\n"

    def _keep_stream(self, engine: Engine, call: Live, lines: list[bytes], cut: Cut) -> None:
        response = Response(200, (("content-type", STREAM),), b"".join(lines), cut=cut)
        engine.commit(engine.judge(call, response))

    def _replayed(self, engine: Engine, entry: Entry) -> Iterator[Any]:
        for line in filter(None, entry.response.body.split(b"\n")):
            yield as_returned(json.loads(line), self._function)
        if entry.response.cut is Cut.LEFT:
            raise engine.refuse(left_early(entry, engine.policy))

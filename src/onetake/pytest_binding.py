"""Binding what a test or a fixture runs to its session: in pytest's own context and, where it is async, in a task."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from onetake.active import Scope

Here = Callable[[], AbstractContextManager[None]]
"""Binds the context that it is called in to a session, for a block."""


@contextmanager
def bound_to(scope: Scope) -> Iterator[None]:
    """Bind this context to a session for a block."""
    from onetake import active  # loaded with the first session

    token = active.bind(scope)
    try:
        yield
    finally:
        active.unbind(scope, token)


@contextmanager
def item_bound(item: pytest.Item, scope: Scope) -> Iterator[None]:
    """Bind a test to its session, and an async one inside its own task too: its runner may have begun elsewhere.

    Args:
        item: The test.
        scope: Its session's.
    """
    function = getattr(item, "obj", None)
    if function is not None:
        item.obj = bound_function(function, lambda: bound_to(scope))  # type: ignore[attr-defined]
    try:
        with bound_to(scope):
            yield
    finally:
        if function is not None:
            item.obj = function  # type: ignore[attr-defined]


def bound_function(function: Any, here: Here) -> Any:
    """Return an async function or generator that is bound for each of its steps; any other as it is.

    Args:
        function: A test's or a fixture's, bound to its object or not.
        here: What binds.
    """
    if inspect.ismethod(function):
        bare = bound_function(function.__func__, here)
        return function if bare is function.__func__ else types.MethodType(bare, function.__self__)
    if inspect.iscoroutinefunction(function):
        return _coroutine(function, here)
    return _generator(function, here) if inspect.isasyncgenfunction(function) else function


def _coroutine(function: Any, here: Here) -> Any:
    @functools.wraps(function)
    async def bound(*args: Any, **kwargs: Any) -> Any:
        with here():
            return await function(*args, **kwargs)

    return bound


def _generator(function: Any, here: Here) -> Any:
    @functools.wraps(function)
    async def bound(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        steps = function(*args, **kwargs)
        while True:
            with here():
                try:
                    value = await anext(steps)
                except StopAsyncIteration:
                    return
            yield value

    return bound

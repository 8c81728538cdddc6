"""Waiting in the colour of the caller: threads block, tasks await, under asyncio and under trio."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import replace
from typing import Any, TypeVar

from onetake.steps import Flow, Live, Replay, Wait

T = TypeVar("T")

PATIENCE = 600.0
"""Seconds that a caller waits for another one's call before it asks for itself: one that holds a stream open may be
waiting for just this one. As long as the SDKs' own time limit."""


def here() -> Flow:
    """Return who asks in a blocking call: this thread, which must not wait if it runs an event loop."""
    return Flow(threading.get_ident(), not (_asyncio_runs() or _trio_runs()))


def task() -> Flow:
    """Return who asks in an awaited call: the running task."""
    if _trio_runs():
        return Flow(sys.modules["trio"].lowlevel.current_task())
    return Flow(sys.modules["asyncio"].current_task())


def is_torn_away(flow: Flow) -> bool:
    """Tell whether the task that asked is being, or was, cancelled (only asyncio's say so), or its loop has stopped."""
    cancelling = getattr(flow.who, "cancelling", None)
    return (cancelling is not None and cancelling() > 0) or not (_asyncio_runs() or _trio_runs())


def begun(begin: Callable[[Flow], Replay | Live | Wait]) -> Replay | Live:
    """Begin a blocking call, after the flight of another caller that asks the same.

    Args:
        begin: Asks the engine, for who asks. Called again after each wait; after `PATIENCE` for one that waits no more.
    """
    flow = here()
    while isinstance(step := begin(flow), Wait):
        try:
            step.future.result(PATIENCE)
        except TimeoutError:
            flow = replace(flow, may_wait=False)
    return step


async def begun_awaited(
    begin: Callable[[Flow], Replay | Live | Wait], abandon: Callable[[Live], None]
) -> Replay | Live:
    """Begin an awaited call, as `begun`, without blocking the loop.

    Args:
        begin: As for `begun`.
        abandon: Ends a call whose caller is gone before it gets it.
    """
    flow = task()
    while isinstance(step := await _asked(begin, abandon, flow), Wait):
        try:
            await awaited(step.future)
        except TimeoutError:
            flow = replace(flow, may_wait=False)
    return step


def may_not_block() -> bool:
    """Tell whether the suite has BlockBuster, which makes an error of every look at a file inside a loop."""
    return "blockbuster" in sys.modules


async def _asked(
    begin: Callable[[Flow], Replay | Live | Wait], abandon: Callable[[Live], None], flow: Flow
) -> Replay | Live | Wait:
    if not may_not_block():
        return begin(flow)
    begun: list[Replay | Live | Wait] = []
    gone: list[bool] = []

    def ask() -> None:
        begun.append(begin(flow))
        if gone:
            _let_go(begun, abandon)

    try:
        await in_thread(ask)
    except BaseException:
        # Cancelled, or thrown away while the thread goes on: whichever of the two comes second lets go.
        gone.append(True)
        if begun:
            with suppress(RuntimeError):  # the interpreter ends: it starts no thread any more
                _started(_let_go, begun, abandon)
        raise
    return begun[0]


def _let_go(begun: list[Replay | Live | Wait], abandon: Callable[[Live], None]) -> None:
    if isinstance(begun[0], Live):
        abandon(begun[0])


async def awaited(future: Future[None]) -> None:
    """Wait for another caller's flight without blocking the loop.

    Raises:
        TimeoutError: It did not land within `PATIENCE`.
    """
    if _trio_runs():
        trio, patience = sys.modules["trio"], PATIENCE
        # A limiter of its own: waiters must never take the threads that the flight needs to land.
        limiter = trio.CapacityLimiter(1)
        await trio.to_thread.run_sync(lambda: future.result(patience), abandon_on_cancel=True, limiter=limiter)
    else:
        asyncio = sys.modules["asyncio"]
        # Shielded: a waiter that is cancelled must not cancel the future that the others wait for.
        await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), PATIENCE)


async def in_thread(call: Callable[..., T], *args: Any) -> T:
    """Run a blocking call in a thread of its own, and wait for its end even if the caller is cancelled meanwhile.

    Of its own: the loop's threads may all be taken by callers that wait for just this call.
    """
    if _trio_runs():
        trio = sys.modules["trio"]
        with trio.CancelScope(shield=True):
            done: T = await trio.to_thread.run_sync(lambda: call(*args), limiter=trio.CapacityLimiter(1))
        return done
    asyncio = sys.modules["asyncio"]
    ending = asyncio.wrap_future(_started(copy_context().run, call, *args))
    try:
        finished: T = await asyncio.shield(ending)
    except asyncio.CancelledError:
        while not ending.done():
            with suppress(asyncio.CancelledError):  # anyio cancels again and again
                await asyncio.wait([ending])
        raise
    return finished


def _started(call: Callable[..., T], *args: Any) -> Future[T]:
    pool = ThreadPoolExecutor(1, thread_name_prefix="onetake")
    future = pool.submit(call, *args)
    pool.shutdown(wait=False)
    return future


def _asyncio_runs() -> bool:
    asyncio = sys.modules.get("asyncio.events")
    return asyncio is not None and asyncio._get_running_loop() is not None


def _trio_runs() -> bool:
    trio = sys.modules.get("trio")
    return trio is not None and trio.lowlevel.in_trio_run()

"""Waiting in the colour of the caller: threads block, tasks await, under asyncio and under trio."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from onetake.steps import Flow

T = TypeVar("T")


def here() -> Flow:
    """Return who asks in a blocking call: this thread, which must not wait if it runs an event loop."""
    return Flow(threading.get_ident(), may_wait=not (_asyncio_runs() or _trio_runs()))


def task() -> Flow:
    """Return who asks in an awaited call: the running task."""
    if _trio_runs():
        return Flow(sys.modules["trio"].lowlevel.current_task())
    return Flow(sys.modules["asyncio"].current_task())


def is_torn_away(flow: Flow) -> bool:
    """Tell whether the task that asked is being, or was, cancelled (only asyncio's say so), or its loop has stopped."""
    cancelling = getattr(flow.who, "cancelling", None)
    return (cancelling is not None and cancelling() > 0) or not (_asyncio_runs() or _trio_runs())


async def awaited(future: Future[None]) -> None:
    """Wait for another caller's flight without blocking the loop."""
    if _trio_runs():
        trio = sys.modules["trio"]
        # A limiter of its own: waiters must never take the threads that the flight needs to land.
        await trio.to_thread.run_sync(future.result, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1))
    else:
        asyncio = sys.modules["asyncio"]
        # Shielded: a waiter that is cancelled must not cancel the future that the others wait for.
        await asyncio.shield(asyncio.wrap_future(future))


async def in_thread(call: Callable[..., T], *args: Any) -> T:
    """Run a blocking call in a thread of its own, and wait for its end even if the caller is cancelled meanwhile.

    Of its own: the loop's threads may all be taken by callers that wait for just this call.
    """
    if _trio_runs():
        trio = sys.modules["trio"]
        with trio.CancelScope(shield=True):
            done: T = await trio.to_thread.run_sync(lambda: call(*args), limiter=trio.CapacityLimiter(1))
        return done
    pool = ThreadPoolExecutor(1, thread_name_prefix="onetake")
    future = pool.submit(call, *args)
    pool.shutdown(wait=False)
    asyncio = sys.modules["asyncio"]
    ending = asyncio.wrap_future(future)
    try:
        finished: T = await asyncio.shield(ending)
    except asyncio.CancelledError:
        while not ending.done():
            with suppress(asyncio.CancelledError):  # anyio cancels again and again
                await asyncio.wait([ending])
        raise
    return finished


def _asyncio_runs() -> bool:
    asyncio = sys.modules.get("asyncio.events")
    return asyncio is not None and asyncio._get_running_loop() is not None


def _trio_runs() -> bool:
    trio = sys.modules.get("trio")
    return trio is not None and trio.lowlevel.in_trio_run()

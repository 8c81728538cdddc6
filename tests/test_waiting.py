"""Waiting in the colour of the caller."""

from __future__ import annotations

import asyncio
import sys
import threading
import types
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar

import anyio
import pytest
import trio

from onetake import waiting
from onetake.steps import Live

LOOPS = pytest.mark.parametrize("loop", ["asyncio", "trio"])


def _run(loop, function):
    return anyio.run(function, backend=loop)


def test_a_thread_may_wait_and_a_loops_thread_may_not():
    async def on_loop():
        return waiting.here(), await anyio.to_thread.run_sync(waiting.here)

    assert waiting.here().may_wait
    assert waiting.here().who == threading.get_ident()
    for loop in ("asyncio", "trio"):
        blocking, in_thread = _run(loop, on_loop)
        assert (blocking.may_wait, in_thread.may_wait) == (False, True)


@LOOPS
def test_who_asks_is_the_task(loop):
    async def main():
        found = []

        async def one():
            found.append((waiting.task(), waiting.task()))

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            group.start_soon(one)
        return found

    (first, again), (other, _) = _run(loop, main)
    assert first.who is again.who is not other.who
    assert first.may_wait


@LOOPS
def test_an_awaited_flight_leaves_the_loop_free(loop):
    async def main():
        future, order = Future(), []

        async def waiter():
            order.append("waits")
            await waiting.awaited(future)
            order.append("goes on")

        async def landing():
            while "waits" not in order:
                await anyio.lowlevel.checkpoint()
            order.append("lands")
            future.set_result(None)

        async with anyio.create_task_group() as group:
            group.start_soon(waiter)
            group.start_soon(landing)
        return order

    assert _run(loop, main) == ["waits", "lands", "goes on"]


@LOOPS
def test_a_cancelled_waiter_leaves_the_flight_to_the_others(loop):
    future = Future()

    async def main():
        with anyio.CancelScope() as scope:
            scope.cancel()
            await waiting.awaited(future)
        return scope.cancelled_caught

    assert _run(loop, main)
    assert not future.cancelled()
    future.set_result(None)


def test_a_task_that_is_torn_away_is_known():
    async def main():
        asked = asyncio.Event()
        flows = []

        async def asking():
            flows.append(waiting.task())
            asked.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(asking())
        await asked.wait()
        before = waiting.is_torn_away(flows[0])
        task.cancel()
        during = waiting.is_torn_away(flows[0])
        await asyncio.wait([task])
        after = waiting.is_torn_away(flows[0])
        return before, during, after, waiting.task()

    *told, flow = asyncio.run(main())
    assert told == [False, True, True]
    assert waiting.is_torn_away(flow), "its loop has stopped"


@LOOPS
def test_a_call_in_a_thread_gives_its_value_or_its_error(loop):
    def fail():
        raise SystemExit(3)

    async def main():
        value = await waiting.in_thread(divmod, 7, 2)
        with pytest.raises(SystemExit):
            await waiting.in_thread(fail)
        return value

    assert _run(loop, main) == (3, 1)


@LOOPS
def test_a_call_in_a_thread_ends_though_its_caller_is_cancelled(loop):
    begun, go, ended = threading.Event(), threading.Event(), []

    def call():
        begun.set()
        assert go.wait(20)
        ended.append(True)

    async def main():
        async with anyio.create_task_group() as group:
            group.start_soon(waiting.in_thread, call)
            assert await anyio.to_thread.run_sync(begun.wait, 20)
            group.cancel_scope.cancel()
            go.set()

    _run(loop, main)
    assert ended == [True]


def test_a_call_in_a_thread_starts_in_a_cancelled_scope_of_trio():
    async def main():
        with trio.CancelScope() as scope:
            scope.cancel()
            return await waiting.in_thread(divmod, 7, 2)

    assert trio.run(main) == (3, 1)


def test_a_call_needs_no_thread_of_the_loop():
    """The loop's own threads may all be waiting for this very call."""
    go = threading.Event()

    async def main():
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        taken = loop.run_in_executor(None, go.wait, 20)
        await waiting.in_thread(go.set)
        return await taken

    assert asyncio.run(main())


@pytest.fixture
def slow(direct, monkeypatch):
    """A session beside BlockBuster, whose beginnings take until `go` is set; `begun` says that one is under way."""
    monkeypatch.setitem(sys.modules, "blockbuster", types.ModuleType("blockbuster"))
    asking = direct(repeats="same")
    asking.begun, asking.go = threading.Event(), threading.Event()

    def begin(flow):
        step = asking.engine.begin(direct.chat("q"), flow)
        asking.begun.set()
        assert asking.go.wait(20)
        return step

    asking.begin = begin
    return asking


def test_a_call_whose_caller_is_cancelled_while_it_begins_keeps_nobody_waiting(slow):
    async def main():
        first = asyncio.create_task(waiting.begun_awaited(slow.begin, slow.engine.abandon))
        await anyio.to_thread.run_sync(slow.begun.wait, 20)
        first.cancel()
        slow.go.set()
        await asyncio.wait([first])
        return first.cancelled(), await waiting.begun_awaited(slow.begin, slow.engine.abandon)

    cancelled, step = asyncio.run(main())
    assert cancelled
    assert isinstance(step, Live)
    assert slow.answer(step, "a").status == 200


def test_a_call_whose_caller_is_thrown_away_while_it_begins_keeps_nobody_waiting(slow):
    abandoned = threading.Event()

    def abandon(call):
        slow.engine.abandon(call)
        abandoned.set()

    async def main():
        asking = waiting.begun_awaited(slow.begin, abandon)
        asking.send(None)
        await anyio.to_thread.run_sync(slow.begun.wait, 20)
        asking.close()
        slow.go.set()
        await anyio.to_thread.run_sync(abandoned.wait, 20)

    asyncio.run(main())
    assert abandoned.is_set()
    assert isinstance(slow.ask("q"), Live)


@LOOPS
def test_a_call_in_a_thread_sees_its_callers_context(loop):
    colour = ContextVar("colour")

    async def main():
        colour.set("red")
        return await waiting.in_thread(colour.get)

    assert _run(loop, main) == "red"

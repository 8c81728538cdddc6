"""Generators as streams of values."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import threading

import pytest
import trio

import onetake
from onetake import recorded


def test_a_generator_is_a_stream_of_values(session):
    calls = []

    @recorded
    def stream(n):
        calls.append(n)
        yield from range(n)

    @recorded
    async def async_stream(n):
        calls.append(n)
        for number in range(n):
            yield number

    async def collect():
        return [value async for value in async_stream(3)]

    with session("once") as opened:
        first = [list(stream(3)), asyncio.run(collect())]
    assert [entry.verdict for entry in opened.recorded] == ["good", "good"]
    with session("none"):
        assert [list(stream(3)), asyncio.run(collect())] == first == [[0, 1, 2], [0, 1, 2]]
    assert calls == [3, 3]


def test_a_generator_gives_each_value_before_it_makes_the_next(session):
    made = []

    @recorded
    def stream():
        for number in range(3):
            made.append(number)
            yield number

    with session("once"):
        values = stream()
        assert (next(values), made) == (0, [0])
        values.close()


def test_br_065_a_generator_that_its_caller_left(session):
    closed = []

    @recorded
    def stream():
        try:
            yield from "abc"
        finally:
            closed.append(True)

    @recorded
    async def async_stream():
        for letter in "abc":
            yield letter

    async def two():
        values = async_stream()
        found = [await anext(values), await anext(values)]
        await values.aclose()
        return found

    def take():
        values = stream()
        found = [next(values), next(values)]
        values.close()
        return found

    with session("once") as opened:
        assert (take(), asyncio.run(two())) == (["a", "b"], ["a", "b"])
    assert [entry.verdict for entry in opened.recorded] == ["left:8", "left:8"]
    assert closed == [True]
    with session("none") as opened:
        assert take() == ["a", "b"]
    with session("none") as opened, opened.expect_refusal() as expected:
        list(stream())
    assert "its caller left after 8 bytes" in str(expected.refusals[0])


def test_a_generator_that_fails_is_stored_nowhere(session):
    @recorded
    def stream():
        yield 1
        raise ValueError("broken")

    with session("once") as opened, pytest.raises(ValueError, match="broken"):
        list(stream())
    assert (opened.recorded, opened.rejects) == ((), ())


@pytest.fixture
def kept_in(monkeypatch):
    """The threads in which answers are written to disk."""
    found, sync = [], os.fsync

    def noting(descriptor):
        found.append(threading.current_thread())
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    return found


@recorded
async def _letters():
    for letter in "abc":
        yield letter


async def _closed(_=None):
    values = _letters()
    await anext(values)
    await values.aclose()


async def _thrown(_):
    values = _letters()
    await anext(values)
    with pytest.raises(GeneratorExit):
        await values.athrow(GeneratorExit)


async def _broken_off(opened):
    """The loop closes what is dropped, in a task of its own."""
    async for _ in _letters():
        break
    async with asyncio.timeout(20):
        while not opened.recorded:
            await asyncio.sleep(0)


async def _read_out(_=None):
    assert [letter async for letter in _letters()] == ["a", "b", "c"]


@pytest.mark.parametrize("ending", [_closed, _thrown, _broken_off, _read_out])
def test_an_awaited_generator_is_kept_off_the_loop(session, kept_in, ending):
    with session("once") as opened:
        asyncio.run(ending(opened))
    assert [entry.verdict for entry in opened.recorded] == ["good" if ending is _read_out else "left:4"]
    assert kept_in
    assert threading.main_thread() not in kept_in


def test_under_trio_too(session, kept_in):
    with session("once") as opened:
        trio.run(_closed)
    assert [entry.verdict for entry in opened.recorded] == ["left:4"]
    assert kept_in
    assert threading.main_thread() not in kept_in


async def _cancelled(closing):
    came = asyncio.Event()

    async def reading():
        async with contextlib.AsyncExitStack() as stack:
            values = _letters()
            if closing:
                await stack.enter_async_context(contextlib.aclosing(values))
            async for _ in values:
                came.set()
                await asyncio.Event().wait()

    task = asyncio.create_task(reading())
    await came.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


@pytest.mark.parametrize("closing", [True, False], ids=["closed", "dropped"])
def test_a_cancelled_caller_of_an_awaited_generator_leaves_nothing(session, kept_in, closing):
    with session("once") as opened:
        asyncio.run(_cancelled(closing))
        assert (opened.recorded, opened.rejects, kept_in) == ((), (), [])
        asyncio.run(_read_out())
    assert [(entry.verdict, entry.ordinal) for entry in opened.recorded] == [("good", 0)]


def test_an_error_thrown_into_a_generator_leaves_nothing(session):
    async def throw():
        values = _letters()
        await anext(values)
        with pytest.raises(ValueError, match="no more"):
            await values.athrow(ValueError("no more"))

    with session("once") as opened:
        asyncio.run(throw())
        asyncio.run(_read_out())
    assert [(entry.verdict, entry.ordinal) for entry in opened.recorded] == [("good", 0)]


@pytest.mark.parametrize(("begun", "repeats"), [("inside", "same"), ("outside", "sequence")])
def test_a_generator_of_a_loop_that_is_gone_ends_its_call(session, begun, repeats):
    """A closed loop closes no generator: one that it knows is thrown away, any other is closed without a loop."""

    async def first(values):
        return await anext(values)

    with session("new_episodes", repeats=repeats) as opened:
        loop, values = asyncio.new_event_loop(), _letters()
        assert loop.run_until_complete(first(values) if begun == "inside" else anext(values)) == "a"
        loop.close()
        del values
        gc.collect()
        asyncio.run(asyncio.wait_for(_read_out(), 20))
    assert [(entry.verdict, entry.ordinal) for entry in opened.recorded] == [("good", 0)]


def test_a_caller_does_not_wait_for_ever_for_one_that_holds_its_stream_open(tmp_path, monkeypatch):
    monkeypatch.setattr("onetake.waiting.PATIENCE", 0.05)
    calls = []

    @onetake.recorded
    def count(to: int):
        calls.append(to)
        yield from range(to)

    got = []
    with onetake.use_cassette(tmp_path / "c", mode="once", repeats="same"):
        held = count(3)
        assert next(held) == 0
        other = threading.Thread(target=lambda: got.extend(count(3)))
        other.start()
        other.join(20)
        assert (got, list(held)) == ([0, 1, 2], [1, 2])
    assert calls == [3, 3]

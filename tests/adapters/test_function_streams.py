"""Generators as streams of values."""

from __future__ import annotations

import asyncio

import pytest

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

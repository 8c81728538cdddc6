"""Work that tasks of a loop bring, done together by a thread."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from onetake.batch.together import Together


class Held:
    """Doubles numbers, and notes which came together; waits, the first time, until it is let go."""

    def __init__(self):
        self.parts = []
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self, numbers):
        self.parts.append(list(numbers))
        if len(self.parts) == 1:
            self.begun.set()
            assert self.go.wait(10)
        return [ValueError(number) if number < 0 else 2 * number for number in numbers]


async def begun(held, first):
    """Bring the first number, and return its task once the thread is busy with it."""
    task = asyncio.create_task(first)
    await asyncio.to_thread(held.begun.wait, 10)
    return task


def test_what_comes_while_the_thread_is_busy_is_done_together_and_each_gets_its_own():
    held = Held()

    async def run(threads):
        together = Together(held, threads, most=9)
        first = await begun(held, together.do(1))
        rest = [asyncio.create_task(together.do(number)) for number in (2, -3, 4)]
        await asyncio.sleep(0)
        held.go.set()
        return await asyncio.gather(first, *rest, return_exceptions=True), await together.do(5)

    with ThreadPoolExecutor(1) as threads:
        (one, two, three, four), five = asyncio.run(run(threads))
    assert (one, two, str(three), four, five) == (2, 4, "-3", 8, 10)
    assert isinstance(three, ValueError)
    assert held.parts == [[1], [2, -3, 4], [5]]


def test_what_comes_in_one_turn_of_the_loop_goes_together():
    held = Held()
    held.go.set()

    async def run(threads):
        together = Together(held, threads, most=9)
        return await asyncio.gather(*(together.do(number) for number in range(5)))

    with ThreadPoolExecutor(1) as threads:
        assert asyncio.run(run(threads)) == [0, 2, 4, 6, 8]
    assert held.parts == [[0, 1, 2, 3, 4]]


def test_no_more_go_together_than_may():
    held = Held()

    async def run(threads):
        together = Together(held, threads, most=2)
        tasks = [
            await begun(held, together.do(0)),
            *(asyncio.create_task(together.do(number)) for number in range(1, 6)),
        ]
        await asyncio.sleep(0)
        held.go.set()
        return await asyncio.gather(*tasks)

    with ThreadPoolExecutor(1) as threads:
        assert asyncio.run(run(threads)) == [0, 2, 4, 6, 8, 10]
    assert held.parts == [[0], [1, 2], [3, 4], [5]]


def test_what_fails_as_a_whole_fails_for_each_and_the_next_goes_on():
    def do(numbers):
        if 0 in numbers:
            raise OSError("the disk is full")
        return numbers

    async def run(threads):
        together = Together(do, threads, most=9)
        return await asyncio.gather(together.do(0), together.do(1), return_exceptions=True), await together.do(2)

    with ThreadPoolExecutor(1) as threads:
        failed, found = asyncio.run(run(threads))
    assert ([str(one) for one in failed], found) == (["the disk is full"] * 2, 2)


def test_a_task_that_is_cancelled_gets_its_result_and_all_that_waits_goes_at_once():
    held = Held()

    async def run(threads):
        together = Together(held, threads, most=1)
        tasks = [await begun(held, together.do(1)), *(asyncio.create_task(together.do(n)) for n in (2, -3, 4))]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.sleep(0)
        held.go.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    with ThreadPoolExecutor(2) as threads:
        one, two, three, four = asyncio.run(run(threads))
    assert (one, two, str(three), four) == (2, 4, "-3", 8)
    assert held.parts == [[1], [2, -3, 4]]


def test_a_result_that_is_not_wanted_any_more_goes_elsewhere_and_its_task_ends():
    held, elsewhere = Held(), []

    async def run(threads):
        together = Together(held, threads, most=9)
        first = await begun(held, together.do(1))
        gone, other = (
            asyncio.create_task(together.do(2, unwanted=elsewhere.append)),
            asyncio.create_task(together.do(3)),
        )
        await asyncio.sleep(0)
        gone.cancel()
        held.go.set()
        with pytest.raises(asyncio.CancelledError):
            await gone
        return await first, await other

    with ThreadPoolExecutor(1) as threads:
        assert asyncio.run(run(threads)) == (2, 6)
    assert elsewhere == [4]


def test_a_task_that_is_cancelled_twice_ends_and_its_work_is_done_all_the_same():
    held = Held()

    async def run(threads):
        together = Together(held, threads, most=9)
        tasks = [await begun(held, together.do(1)), asyncio.create_task(together.do(2))]
        for _ in range(2):
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
        for task in tasks:
            with pytest.raises(asyncio.CancelledError):
                await task
        held.go.set()
        threads.shutdown()

    asyncio.run(run(ThreadPoolExecutor(2)))
    assert held.parts == [[1], [2]]

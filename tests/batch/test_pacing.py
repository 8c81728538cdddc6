"""When the next call may be sent."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from onetake.batch.attempts import NOTHING, Spent
from onetake.batch.costs import Costs
from onetake.batch.job import Ask
from onetake.batch.limits import Limits
from onetake.batch.pacing import Pace, Purse, RealClock
from onetake.batch.progress import Tally
from onetake.batch.retrying import Fault, Kind
from onetake.model import Request

ASK = Ask("http://h/v1", "m", "x")
REQUEST = Request("POST", "http://h/v1/chat/completions", (), b'{"max_tokens": 100}' + b" " * 81)
PRICES = {"input": 10.0, "output": 10.0}  # a call of 50 + 100 tokens at most: 0.0015


class Clock:
    def __init__(self):
        self.time = 0.0

    def now(self):
        return self.time

    async def rest(self, seconds, unless):
        self.time += seconds


class World:
    """A pace with all that it needs, made inside a loop."""

    def __init__(self, *, calls=2, max_cost=None, deadline=float("inf")):
        self.clock, self.reasons = Clock(), []
        self.stopped = asyncio.Event()
        self.tally = Tally(0.0)
        self.limits = Limits(calls, calls, rpm=None, tpm=None, now=0.0, chance=lambda: 1.0)
        purse = Purse(Costs(ASK, PRICES), max_cost)
        self.pace = Pace(self.limits, purse, self.clock, self.tally, self.stopped, self.stop, deadline)

    def stop(self, why):
        self.reasons.append(why)
        self.stopped.set()
        self.pace.wake()

    async def settle(self):
        for _ in range(10):
            await asyncio.sleep(0)


def test_callers_are_let_through_in_their_order_as_places_become_free():
    async def run():
        world, order = World(calls=2), []

        async def call(name):
            place = await world.pace.enter(REQUEST)
            order.append(name)
            return place

        tasks = [asyncio.create_task(call(name)) for name in "abcd"]
        await world.settle()
        assert (order, world.tally.limit) == (["a", "b"], "calls")
        world.pace.leave(tasks[1].result(), NOTHING)
        await world.settle()
        assert order == ["a", "b", "c"]
        world.pace.leave(tasks[0].result(), NOTHING)
        await world.settle()
        assert order == ["a", "b", "c", "d"]

    asyncio.run(run())


def test_all_for_whom_there_is_room_are_let_in_at_once():
    async def run():
        world = World(calls=3)
        held = [await world.pace.enter(REQUEST) for _ in range(3)]
        waiting = [asyncio.create_task(world.pace.enter(REQUEST)) for _ in range(4)]
        await world.settle()
        for place in held:
            world.pace.leave(place, NOTHING)
        for _ in range(3):  # the first is woken, then lets in the next two
            await asyncio.sleep(0)
        assert [task.done() for task in waiting] == [True, True, True, False]
        assert world.limits.in_flight == 3

    asyncio.run(run())


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_who_leaves_the_line_holds_nobody_up_and_takes_no_place(gone):
    async def run():
        world = World(calls=1)
        held = await world.pace.enter(REQUEST)
        waiting = [asyncio.create_task(world.pace.enter(REQUEST)) for _ in range(3)]
        await world.settle()
        world.pace.leave(held, NOTHING)
        waiting[gone].cancel()  # the first may just be getting its place
        await world.settle()
        for task in waiting:
            if task is not waiting[gone]:
                world.pace.leave(await asyncio.wait_for(task, 5), NOTHING)
        with pytest.raises(asyncio.CancelledError):
            await waiting[gone]
        assert world.limits.in_flight == 0

    asyncio.run(run())


def test_who_is_stopped_with_a_place_in_hand_gives_it_back():
    async def run():
        world = World(calls=2)
        held = [await world.pace.enter(REQUEST) for _ in range(2)]
        first, second = (asyncio.create_task(world.pace.enter(REQUEST)) for _ in range(2))
        await world.settle()
        for place in held:
            world.pace.leave(place, NOTHING)
        while not first.done():
            await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        world.pace.leave(first.result(), NOTHING)
        assert world.limits.in_flight == 0

    asyncio.run(run())


def test_who_waits_when_the_run_stops_gets_no_place():
    async def run():
        world = World(calls=1)
        first = await world.pace.enter(REQUEST)
        waiting = [asyncio.create_task(world.pace.enter(REQUEST)) for _ in range(3)]
        await world.settle()
        world.stop("provider: no")
        assert await asyncio.gather(*waiting) == [None, None, None]
        world.pace.leave(first, NOTHING)

    asyncio.run(run())


def test_a_call_waits_for_money_that_others_have_reserved_and_stops_when_there_is_none():
    async def run():
        world = World(calls=9, max_cost=0.004)
        first, second = await world.pace.enter(REQUEST), await world.pace.enter(REQUEST)
        third = asyncio.create_task(world.pace.enter(REQUEST))
        await world.settle()
        assert (third.done(), world.tally.limit) == (False, "budget")
        world.pace.leave(first, Spent(1, 1, Decimal("0.0001")))
        await world.settle()
        assert third.done() and not world.reasons
        # What a call cost that broke off nobody knows: all that was reserved counts.
        world.pace.leave(second, NOTHING)
        world.pace.leave(third.result(), NOTHING)
        assert await world.pace.enter(REQUEST) is None
        assert world.reasons == ["budget"]

    asyncio.run(run())


def test_a_hold_is_waited_for_and_named_and_a_deadline_cuts_it_short():
    async def run():
        world = World(deadline=50.0)
        place = await world.pace.enter(REQUEST)
        world.limits.failed(place.ticket, Fault(Kind.RATE, "429", wait=30), 0.0)
        world.pace.leave(place, NOTHING)
        place = await world.pace.enter(REQUEST)
        assert (world.clock.time, world.reasons) == (30.0, [])
        world.limits.failed(place.ticket, Fault(Kind.RATE, "429", wait=30), 30.0)
        world.pace.leave(place, NOTHING)
        assert await world.pace.enter(REQUEST) is None
        assert (world.clock.time, world.reasons) == (50.0, ["deadline"])

    asyncio.run(run())


def test_tokens_are_estimated_by_what_answers_took():
    purse = Purse(Costs(ASK, PRICES), None)
    assert purse.tokens(REQUEST) == 25
    purse.settle(Decimal(0), Spent(20, 40, None))
    purse.settle(Decimal(0), Spent(20, 60, None))
    assert purse.tokens(REQUEST) == 75
    assert purse.most(REQUEST) == 0


def test_an_answer_of_unknown_length_is_reserved_for_by_the_longest_so_far():
    purse = Purse(Costs(ASK, PRICES), 1.0)
    plain = Request("POST", "http://h/v1/chat/completions", (), b"{}" + b" " * 98)
    assert purse.most(plain) == Decimal("0.01074")
    purse.settle(Decimal(0), Spent(20, 5000, Decimal(0)))
    assert purse.most(plain) == Decimal("0.0505")


def test_the_real_clock_waits_no_longer_than_it_is_told():
    async def run():
        stopped = asyncio.Event()
        stopped.set()
        await RealClock().rest(1e6, stopped)
        await RealClock().rest(0, asyncio.Event())
        assert RealClock().now() <= RealClock().now()

    asyncio.run(run())

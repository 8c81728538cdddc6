"""When the next call of a run may be sent: callers are let through in their order, and the rest wait in line."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from onetake.batch.attempts import Spent
from onetake.batch.costs import Budget, Costs
from onetake.batch.limits import Limits, Ticket
from onetake.batch.progress import Tally
from onetake.model import Request
from onetake.picking import count, document

_BYTES_A_TOKEN, _FEWEST_BYTES = 4, 2
_BUDGET = "budget"
_UNSENT = Spent(cost=Decimal(0))
_ANSWER = 1024
"""Tokens of an answer, at most, where neither the request nor an earlier answer says how many."""


class Clock(Protocol):
    """A monotonic clock that can be waited by."""

    def now(self) -> float:
        """Return the time in seconds."""
        ...

    async def rest(self, seconds: float, unless: asyncio.Event) -> None:
        """Wait, but no longer than until the event is set."""
        ...


class RealClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Return the time in seconds."""
        return time.monotonic()

    async def rest(self, seconds: float, unless: asyncio.Event) -> None:
        """Wait, but no longer than until the event is set."""
        with suppress(TimeoutError):
            await asyncio.wait_for(unless.wait(), seconds)


class Purse:
    """What calls may cost, by the most that each can cost, and what they took.

    Args:
        costs: What tokens cost.
        max_cost: US dollars that may be spent; None for no limit.
    """

    def __init__(self, costs: Costs, max_cost: float | None) -> None:
        self._costs = costs
        self._budget = Budget(max_cost)
        self._is_limited = max_cost is not None
        self._answered = self._answers = self._longest = 0

    def tokens(self, request: Request) -> float:
        """Estimate what a call takes: by the size of its request, and by the answers so far."""
        return len(request.body) / _BYTES_A_TOKEN + self._answered / max(1, self._answers)

    def most(self, request: Request) -> Decimal:
        """Return what a call can cost, in US dollars; 0 without a limit."""
        if not self._is_limited:
            return Decimal(0)
        body = document(request.body)
        said = count(body.get("max_completion_tokens")) or count(body.get("max_tokens"))
        answer = said if said is not None else max(_ANSWER, self._longest)
        return self._costs.of_tokens(len(request.body) // _FEWEST_BYTES, answer) or Decimal(0)

    def reserve(self, most: Decimal) -> bool:
        """Set money aside for a call; False where there is not as much left."""
        return self._budget.reserve(most)

    def settle(self, most: Decimal, spent: Spent) -> None:
        """End a call.

        Args:
            most: What was reserved for it.
            spent: What it took.
        """
        self._budget.settle(most, spent.cost)
        if spent.output is not None:
            self._answered, self._answers = self._answered + spent.output, self._answers + 1
            self._longest = max(self._longest, spent.output)


@dataclass(frozen=True, slots=True)
class Place:
    """One call's place in flight.

    Args:
        ticket: What it took of the limits.
        most: US dollars that are reserved for it.
    """

    ticket: Ticket
    most: Decimal


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """One of the line.

    Args:
        request: What it wants to send.
        told: Its place; None once it is the first of the line, and waits for one itself.
    """

    request: Request
    told: asyncio.Future[Place | None]


class Pace:
    """Lets the calls of a run through.

    Args:
        limits: What is allowed at once.
        purse: What may be spent.
        clock: The time.
        tally: Told what limits right now.
        stopped: Set when nothing more is to be sent.
        stop: Called with the reason where a limit of its own ends the run: `budget` or `deadline`.
        deadline: When the run must end, by *clock*.
    """

    def __init__(
        self,
        limits: Limits,
        purse: Purse,
        clock: Clock,
        tally: Tally,
        stopped: asyncio.Event,
        stop: Callable[[str], None],
        deadline: float,
    ) -> None:
        self._limits = limits
        self._purse = purse
        self._clock = clock
        self._tally = tally
        self._stopped, self._stop = stopped, stop
        self._deadline = deadline
        self._line: deque[_Waiting] = deque()
        self._ended = asyncio.Event()

    async def enter(self, request: Request) -> Place | None:
        """Wait for a place in flight; None where nothing more is to be sent."""
        waiting = _Waiting(request, asyncio.get_running_loop().create_future())
        self._line.append(waiting)
        try:
            if self._line[0] is waiting:
                waiting.told.set_result(None)
            place = await waiting.told
            return place or await self._first(request)
        except asyncio.CancelledError:
            if waiting.told.done() and not waiting.told.cancelled() and (place := waiting.told.result()):
                self.leave(place, _UNSENT)
            raise
        finally:
            if waiting in self._line:
                self._line.remove(waiting)
            self._go_on()

    async def _first(self, request: Request) -> Place | None:
        """Wait for a place as the first of the line."""
        while not self._is_over():
            self._ended.clear()
            place, limit, wait = self._find(request)
            self._tally.limit = limit
            if place is not None:
                return place
            if wait:
                await self.rest(wait)
            elif limit == _BUDGET and not self._limits.in_flight:
                self._stop(_BUDGET)
            else:
                await self._ended.wait()
        return None

    def _go_on(self) -> None:
        """Let in all of the line for whom there is room, at once, and have the next one wait as its first.

        One after the other, each in a turn of the loop of its own, they would leave places empty for long.
        """
        while self._line and not self._line[0].told.done():
            first = self._line[0]
            try:
                place = None if self._is_over() else self._find(first.request)[0]
            except Exception as error:  # noqa: BLE001 - its own, not of the caller that goes
                self._line.popleft().told.set_exception(error)
                continue
            first.told.set_result(place)
            if place is not None:
                self._line.popleft()

    def _find(self, request: Request) -> tuple[Place | None, str, float]:
        """Take a place in flight where there is one; else what limits, and how long that does, if that is known."""
        tokens, most, now = self._purse.tokens(request), self._purse.most(request), self._clock.now()
        wait, limit = self._limits.wait(tokens, now)
        if self._limits.is_full:
            return None, "calls", 0.0
        if wait:
            return None, limit, wait
        if not self._purse.reserve(most):
            return None, _BUDGET, 0.0
        return Place(self._limits.begin(tokens, now), most), "", 0.0

    def leave(self, place: Place, spent: Spent) -> None:
        """Give a place in flight back.

        Args:
            place: What `enter` returned.
            spent: What the call took.
        """
        used = None if spent.input is None and spent.output is None else (spent.input or 0) + (spent.output or 0)
        self._limits.end(place.ticket, self._clock.now(), used)
        self._purse.settle(place.most, spent)
        self.wake()

    def wake(self) -> None:
        """Have the first of the line look again."""
        self._ended.set()

    async def rest(self, seconds: float) -> None:
        """Wait, but no longer than the run goes on."""
        await self._clock.rest(min(seconds, max(0.0, self._deadline - self._clock.now())), self._stopped)
        self._is_over()

    def _is_over(self) -> bool:
        if not self._stopped.is_set() and self._clock.now() >= self._deadline:
            self._stop("deadline")
        return self._stopped.is_set()

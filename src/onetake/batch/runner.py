"""Fills the store: asks what records need, a bounded number at once, and has each reply on disk before it counts.

A run writes no row. What it leaves is in the store, so that it may be stopped anywhere, and another run goes on.
"""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

from onetake.batch.attempts import NOTHING
from onetake.batch.costs import Costs
from onetake.batch.failures import Failure
from onetake.batch.interrupting import interrupts
from onetake.batch.job import Job
from onetake.batch.ledger import Ledger
from onetake.batch.limits import Breaker, Limits
from onetake.batch.pacing import Clock, Pace, Place, Purse, RealClock
from onetake.batch.progress import Tally, facts
from onetake.batch.provider_waits import hint
from onetake.batch.records import Record
from onetake.batch.replies import Replies
from onetake.batch.resolving import Needed, Resolver, Row
from onetake.batch.retrying import Kind, Step, backoff, next_step
from onetake.batch.sending import Sends
from onetake.batch.showing import Shows
from onetake.batch.steadiness import Steadiness
from onetake.batch.stopping import Outcome, Stopping
from onetake.batch.storing import Came, Keeper, Kept
from onetake.batch.together import Together
from onetake.claims import Claims
from onetake.decide import Action, Found, decide
from onetake.errors import StoreError
from onetake.steps import Flow, Live

_THREADS = 3
"""One for intents, one for what came, and one for the rest of that at the end."""
_KEPT_AT_ONCE = 5
"""Replies that are stored together at most: many that come together would else leave together, and come so again."""
_BREATH = 16
"""Records that are looked up before the loop looks after its calls again."""
_POLL_S = 0.5
"""Seconds until a request that another runner asks is looked for again."""


@dataclass(kw_only=True)
class Filler:
    """One run that fills a store.

    Args:
        job: How it is asked.
        records: The input, from behind those that are *stored*; read a window at a time.
        replies: The store, and what its replies are judged by.
        resolver: Says what a record needs.
        ledger: Its run has begun.
        claims: Of the store: which requests are being asked just now, by whatever process.
        sends: Sends them; closed at the end.
        costs: What tokens cost.
        total: How many records there are, for the progress.
        clock: A monotonic clock.
        chance: Returns a number from 0 to 1.
        stored: How many records at the input's start have their rows already, and which classes of failures these are.
        in_vain: Is given the keys for which no reply will come in this run.
    """

    job: Job
    records: Iterator[Record]
    replies: Replies
    resolver: Resolver
    ledger: Ledger
    claims: Claims
    sends: Sends
    costs: Costs
    total: int | None = None
    clock: Clock = field(default_factory=RealClock)
    chance: Callable[[], float] = random.random
    stored: tuple[int, Mapping[str, int]] = (0, {})
    in_vain: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        run, now, (stored, failed) = self.job.run, self.clock.now(), self.stored
        self._tally = Tally(now, self.total, stored, stored, failed=dict(failed), room=run.least)
        self._stopping = stopping = Stopping(self._wake)
        self._broken: BaseException | None = None
        self._breaker = Breaker(run.most)
        self._limits = Limits(run.least, run.most, rpm=run.rpm, tpm=run.tpm, now=now, chance=self.chance)
        purse = Purse(self.costs, run.max_cost)
        deadline = now + run.deadline if run.deadline else float("inf")
        self._pace = Pace(self._limits, purse, self.clock, self._tally, stopping.is_said, stopping.stop, deadline)
        self._keeper = Keeper(self.replies, self.ledger, self.costs)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="onetake")
        self._intends = Together(self.ledger.intend, self._threads, most=run.most)
        self._keeps = Together(self._keeper.keep, self._threads, most=_KEPT_AT_ONCE)
        self._asking: dict[str, asyncio.Event] = {}
        self._looked = 0
        self._steadiness = Steadiness(self.resolver, self.replies.policy.keyer)

    async def fill(self, shows: Shows | None = None) -> Outcome:
        """Ask what records need until all have their replies, or something says stop.

        What is in flight then is drained. The first Ctrl-C (or SIGTERM) drains, the second one stops.

        Args:
            shows: Shows the progress; closed at the end.

        Raises:
            StoreError: The store or the ledger cannot be read or written, or a stored reply is damaged; nothing more is
                sent, and what was in flight is kept as far as that goes.
            NotStored: What judges the answers broke.
            UsageError: The function that makes requests makes others for the same record.
        """
        try:
            return await self._fill(shows)
        finally:
            await self.sends.close()
            if shows is not None:
                shows.close()

    async def _fill(self, shows: Shows | None) -> Outcome:
        # Twice as many as calls: some wait for their reply to be stored, or for another runner's.
        workers = [asyncio.create_task(self._work()) for _ in range(2 * self.job.run.most)]
        ticker = asyncio.create_task(self._tick(shows)) if shows is not None else None
        try:
            with interrupts(self._stopping.interrupt, lambda: _cancel(workers)):
                await asyncio.wait(workers)
        except asyncio.CancelledError:  # a third Ctrl-C, or whoever runs this
            self._stopping.interrupt(signal.SIGINT)
            _cancel(workers)
            await asyncio.wait(workers)
            raise
        finally:
            if ticker is not None:
                ticker.cancel()
            self._threads.shutdown()
        if self._broken is not None:
            with suppress(StoreError):  # what broke may be just the disk
                self.ledger.flush()
            raise self._broken
        self.ledger.flush()
        if stands := self._breaker.stands():
            self._stopping.stop(f"provider: {stands}")
        self._tally.limit = ""
        if shows is not None:
            shows.show(facts(self._tally, self.clock.now()))
        return self._stopping.outcome(self._tally)

    async def _work(self) -> None:
        try:
            while not self._stopping.is_said.is_set() and (record := next(self.records, None)) is not None:
                await self._settle(record)
        except asyncio.CancelledError:
            pass  # the second Ctrl-C
        except BaseException as error:  # noqa: BLE001 - raised at the end of the run
            self._broken = self._broken or error
            self._stopping.stop("")

    async def _settle(self, record: Record) -> None:
        """Ask for a record until there is a row of it."""
        asked: list[Needed] = []
        while True:
            self._looked += 1
            if self._looked % _BREATH == 0:
                await asyncio.sleep(0)
            step = self.resolver.resolve(record, is_sure=False)
            if isinstance(step, Row):
                self._tally.settled(step.failure, self.clock.now(), asked=len(asked), keys=len(step.keys))
                return
            if self._stopping.is_said.is_set():
                return
            key = step.reply.asked.key
            if asked:
                self._steadiness.check_led_on(asked[-1], step)
            is_asked = key in self._asking and self.resolver.first_tells_all
            if is_asked or key in self.in_vain:
                self._tally.share()  # another record asks it, and all that may follow from it
                return
            if key in self._asking:
                await self._asking[key].wait()
                continue
            self._steadiness.check_first(record, step)
            self._asking[key] = asyncio.Event()
            try:
                if kept := await self._ask_alone(step):
                    asked.append(step)
                    self.resolver.came(record, step, kept.stored)
            finally:
                self._asking.pop(key).set()
            if key in self.in_vain:
                self._tally.settled(Failure.GAVE_UP, self.clock.now(), asked=1, keys=0)
                return

    async def _ask_alone(self, needed: Needed) -> Kept | None:
        """Ask, unless another runner does or did so; returns the reply that is one of this run."""
        key = needed.reply.asked.key
        while not self.claims.take(key):
            self._tally.limit = "other"
            await self._pace.rest(_POLL_S)
            if self._stopping.is_said.is_set():
                return None
        try:
            # What another runner stored before it let go of the key is nothing to ask for.
            if needed.reply.found is Found.ABSENT and not self.replies.store.ordinals(key):
                return await self._ask(needed, Action.RECORD)
            reply = self.replies.find(needed.request)
            if reply.entry is not None:
                return None
            action = decide(self.replies.policy.mode, reply.found, being_made=True)
            if action is Action.REFUSE:
                raise StoreError(f"line {needed.line}: {reply.why}")
            return await self._ask(replace(needed, reply=reply), action)
        finally:
            self.claims.free(key)

    async def _ask(self, needed: Needed, action: Action) -> Kept | None:
        """Send a request until its reply is stored; None where it is in vain, or nothing more is to be sent."""
        attempts, waited, is_again = 0, 0.0, False
        while not self._stopping.is_said.is_set():
            kept = await self._attempt(needed, action, is_again=is_again)
            if kept is None or kept.fault is None:
                return kept
            fault, is_again = kept.fault, True
            attempts += fault.kind is not Kind.RATE
            step = next_step(fault, attempts, waited, self.job.run.max_attempts)
            if step is Step.STORE:
                return kept
            if step is Step.GIVE_UP and not self._stopping.is_said.is_set():
                self.in_vain.add(needed.reply.asked.key)
                return None
            if step is Step.HOLD:  # the whole run waits, and the pace sees to that
                waited += max(0.0, self._limits.hold - self.clock.now())
            if step is Step.RETRY:
                pause = max(fault.wait, backoff(attempts, self.chance()))
                waited += pause
                await self._pace.rest(pause)
        return None

    async def _attempt(self, needed: Needed, action: Action, *, is_again: bool) -> Kept | None:
        """Send a request once, and keep what comes; None where nothing more is to be sent."""
        asked = needed.reply.asked
        place = await self._pace.enter(asked.request)
        if place is None:
            return None
        kept, attempt = None, 0
        try:
            attempt = await self._intends.do((asked.key, needed.line), unwanted=self.ledger.withdraw)
            self._tally.sent(attempt, self.clock.now(), is_again=is_again)
            live = Live(asked, action, 0, Flow(None), self.sends.client, shared=True)
            came = await self.sends.send(asked.request)
            kept = await self._keeps.do(Came(live, came, attempt))  # counted whoever stops the run: it was paid for
        finally:
            self._tally.in_flight.pop(attempt, None)
            self._pace.leave(place, kept.spent if kept else NOTHING)
        self._note(kept, place, len(asked.request.body))
        return kept

    def _note(self, kept: Kept, place: Place, size: int) -> None:
        """Have the limits learn from what came, and stop where it says so."""
        now, fault = self.clock.now(), kept.fault
        self._tally.took(kept.spent, now)
        if fault is None:
            self._breaker.good()
            headers = kept.response.headers if kept.response else ()
            self._limits.succeeded(place.ticket, now, hint(headers, size / 4))
        else:
            self._limits.failed(place.ticket, fault, now)
            if why := self._breaker.failed(fault, now, max(now, self._limits.hold)):
                self._stopping.stop(f"provider: {why}")
        self._tally.room = self._limits.concurrency.limit

    def _wake(self) -> None:
        self._pace.wake()

    async def _tick(self, shows: Shows) -> None:
        while True:
            await asyncio.sleep(shows.every)
            shows.show(facts(self._tally, self.clock.now()))


def _cancel(tasks: Iterable[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()

"""Whose turn it is: the ordinals and the flights of one key in one session."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock

from onetake import forking
from onetake.steps import Flow, Live


@dataclass(frozen=True, slots=True, eq=False)
class _Flight:
    """The call that others wait for, and what they wait on."""

    leader: Live
    landed: Future[None] = field(default_factory=Future)


class Turn:
    """What one session has done about one key; threads share it.

    An ordinal is *held* from the question to its answer, and *used* once an answer was given or kept under it. A held
    ordinal that is let go can be had again, so a retry of the SDK asks for the same one.
    """

    def __init__(self) -> None:
        self._used: set[int] = set()
        self._held: set[int] = set()
        self._flight: _Flight | None = None
        self._lock = RLock()  # re-entrant: a stream that is dropped may end in the garbage collector, anywhere
        self._writing = RLock()
        self._done = False

    def renew(self) -> None:
        """Let go, in a forked child, of what other threads hold: their calls are the parent's."""
        self._lock, self._writing = forking.freed(self._lock), forking.freed(self._writing)
        self._held, self._flight = set(), None

    @property
    def done(self) -> bool:
        """True once this session has an answer that serves every caller (`repeats="same"`)."""
        return self._done

    @contextmanager
    def writing(self) -> Iterator[bool]:
        """Hold the turn to write the answer that serves every caller, so that one is the first.

        Returns:
            True for the first; the others find its answer stored. A block that raises has written none.
        """
        with self._writing:
            yield not self._done
            self._done = True

    def hold(self) -> int:
        """Take the first ordinal that nobody used or holds."""
        with self._lock:
            ordinal = _first_free(self._used, self._held)
            self._held.add(ordinal)
            return ordinal

    def let_go(self, ordinal: int) -> None:
        """Give a held ordinal back."""
        with self._lock:
            self._held.discard(ordinal)

    def use(self, ordinal: int) -> bool:
        """Answer under a held ordinal; False if an answer that was kept meanwhile has claimed it."""
        with self._lock:
            self._held.discard(ordinal)
            if ordinal in self._used:
                return False
            self._used.add(ordinal)
            return True

    def unuse(self, ordinal: int) -> None:
        """Take a mark back: the answer could not be written."""
        with self._lock:
            self._used.discard(ordinal)

    def claim(self, held: int, stored: set[int]) -> int:
        """Use the first ordinal that has no entry and no answer: an answer claims it, never a question.

        Args:
            held: What the question held; where another process has taken it meanwhile, it is used up.
            stored: The ordinals that have entries.
        """
        with self._lock:
            if held in stored:
                self._used.add(held)
            ordinal = _first_free(self._used, stored)
            self._used.add(ordinal)
            return ordinal

    def awaited(self, flow: Flow) -> Future[None] | None:
        """Return what a caller waits on while another one asks the same; None if nobody does, or it must not wait."""
        with self._lock:
            return self._flight.landed if self._flight and _may_wait(flow, self._flight.leader) else None

    def is_led_by(self, call: Live) -> bool:
        """Tell whether this is the call that others wait for."""
        with self._lock:
            return self._flight is not None and self._flight.leader is call

    def take_off(self, call: Live, *, done: bool) -> bool:
        """Let a call go out: as the leader that others wait for, or beside one that its caller cannot wait for.

        Args:
            call: The call.
            done: What `done` was when its caller looked.

        Returns:
            False if another caller was faster: look again.
        """
        with self._lock:
            if self._flight is not None:
                return not _may_wait(call.flow, self._flight.leader)
            if self._done != done:
                return False
            self._flight = _Flight(call)
            return True

    def land(self, call: Live) -> None:
        """End a call: its ordinal is free again, and those who wait for it begin again."""
        with self._lock:
            self._held.discard(call.ordinal)
            flight = self._flight
            if flight is None or flight.leader is not call:
                return
            self._flight = None
        # Outside the lock: what waits may run at once.
        if not flight.landed.done():
            flight.landed.set_result(None)


class Turns:
    """The turns of one session, by key."""

    def __init__(self) -> None:
        self._made: dict[str, Turn] = {}
        self._lock = forking.Lock()
        forking.remember(self)

    def renew(self) -> None:
        """Let go, in a forked child, of what other threads hold."""
        for turn in self._made.values():
            turn.renew()

    def of(self, key: str) -> Turn:
        """Return the turn of a key."""
        with self._lock.held:
            turn = self._made.get(key)
            if turn is None:
                turn = self._made[key] = Turn()
            return turn


def _first_free(used: set[int], taken: set[int]) -> int:
    ordinal = 0
    while ordinal in used or ordinal in taken:
        ordinal += 1
    return ordinal


def _may_wait(flow: Flow, leader: Live) -> bool:
    """Tell whether a caller waits for a call in flight: not if it leads that call, or its thread carries the loop."""
    return flow.may_wait and leader.flow.who != flow.who

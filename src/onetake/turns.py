"""Whose turn it is: the ordinals and the flights of one key in one session. The engine holds the lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from onetake.steps import Live


class Turn:
    """What one session has done about one key.

    An ordinal is *held* from the question to its answer, and *used* once an answer was given or kept under it. A held
    ordinal that is let go can be had again, so a retry of the SDK asks for the same one.
    """

    def __init__(self) -> None:
        self._used: set[int] = set()
        self._held: set[int] = set()
        self.leader: Live | None = None
        self.future: Future[None] = Future()
        self.done = False
        """True once this session has an answer that serves every caller (`repeats="same"`)."""

    def hold(self) -> int:
        """Take the first ordinal that nobody used or holds."""
        ordinal = _first(lambda n: n in self._used or n in self._held)
        self._held.add(ordinal)
        return ordinal

    def let_go(self, ordinal: int) -> None:
        """Give a held ordinal back."""
        self._held.discard(ordinal)

    def use(self, ordinal: int) -> None:
        """Mark an ordinal as answered."""
        self._held.discard(ordinal)
        self._used.add(ordinal)

    def unuse(self, ordinal: int) -> None:
        """Take a mark back: the answer could not be written."""
        self._used.discard(ordinal)

    def claim_free(self, stored: Callable[[int], bool]) -> int:
        """Use the first ordinal that has no entry and no answer: an answer claims it, never a question."""
        ordinal = _first(lambda n: n in self._used or stored(n))
        self._used.add(ordinal)
        return ordinal

    def claim_over(self, held: int) -> int:
        """Use the ordinal of an entry that is being replaced, or a lower one that a failed call let go."""
        ordinal = _first(lambda n: n in self._used or (n in self._held and n != held))
        ordinal = min(ordinal, held)
        self.use(ordinal)
        return ordinal

    def lead(self, leader: Live) -> None:
        """Make a call the one that the others wait for."""
        self.leader, self.future = leader, Future()

    def land(self, leader: Live) -> Future[None] | None:
        """End a call's lead; returns the future to resolve outside the lock, None if it did not lead."""
        if self.leader is not leader:
            return None
        self.leader = None
        return self.future


def _first(taken: Callable[[int], bool]) -> int:
    ordinal = 0
    while taken(ordinal):
        ordinal += 1
    return ordinal

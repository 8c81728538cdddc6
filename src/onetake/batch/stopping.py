"""How a run that fills a store ends, and what ends it before its end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass

from onetake.batch.progress import Tally
from onetake.exits import Exit

_EXITS = {"": Exit.OK, "budget": Exit.INCONCLUSIVE, "deadline": Exit.INCONCLUSIVE, "provider": Exit.PROVIDER}
_OF_SIGNALS = {signal.SIGINT: Exit.INTERRUPTED, signal.SIGTERM: Exit.TERMINATED}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    Args:
        tally: What it counted.
        why: Why it ended before its end: `budget`, `deadline`, `interrupted` or `provider: …`; else empty.
        exit_code: What follows from that: 0, 4, 75, 130 or 143.
    """

    tally: Tally
    why: str
    exit_code: int


class Stopping:
    """Whether anything more is to be sent, and why not.

    Args:
        wake: Called once it is said to stop: whoever waits to send looks again.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self.is_said = asyncio.Event()
        """Set from then on."""
        self._why, self._exit = "", 0

    def stop(self, why: str, exit_code: int | None = None) -> None:
        """Have nothing more sent; the first reason counts.

        Args:
            why: As in `Outcome`.
            exit_code: Where *why* alone does not say it.
        """
        if not self.is_said.is_set():
            self._why = why
            self._exit = _EXITS[why.partition(":")[0]] if exit_code is None else exit_code
            self.is_said.set()
            self._wake()

    def interrupt(self, number: int) -> None:
        """Stop for a signal of that number."""
        self.stop("interrupted", _OF_SIGNALS[signal.Signals(number)])

    def outcome(self, tally: Tally) -> Outcome:
        """Return how the run ended that counted this."""
        return Outcome(tally, self._why, self._exit)

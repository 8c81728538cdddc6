"""The ledger of refusals: what a session said no to, so that nothing that swallows an error can hide it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from onetake.errors import ContractError, Refusal, UsageError
from onetake.handled import was_handled


class Expected:
    """What `expect_refusal` caught: `refusals` is filled when its block ends."""

    def __init__(self) -> None:
        self.refusals: tuple[Refusal, ...] = ()


class Ledger:
    """One session's refusals, in the order in which they were said.

    Args:
        quiet: True keeps standard error free of them (the front end prints them itself).
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._lines: list[Refusal] = []
        self._acknowledged: set[int] = set()
        self._lock = Lock()
        self._quiet = quiet

    def write(self, refusal: Refusal) -> None:
        """Note a refusal and say it at once: whatever the program does with the error, a person can read it."""
        with self._lock:
            self._lines.append(refusal)
        self.say(str(refusal))

    def say(self, text: str) -> None:
        """Tell the person who runs the program something that is no refusal."""
        if not self._quiet:
            print(f"onetake: {text}", file=sys.stderr, flush=True)  # noqa: T201 - the one place that talks

    @property
    def all(self) -> tuple[Refusal, ...]:
        """Every refusal."""
        with self._lock:
            return tuple(self._lines)

    @property
    def open(self) -> tuple[Refusal, ...]:
        """The refusals that nobody acknowledged; a `ContractError` that the program caught by its name is none."""
        with self._lock:
            left = [line for line in self._lines if id(line) not in self._acknowledged]
        return tuple(line for line in left if not (isinstance(line, ContractError) and was_handled(line)))

    def acknowledge(self, refusals: tuple[Refusal, ...]) -> None:
        """Count refusals as expected."""
        with self._lock:
            self._acknowledged.update(id(refusal) for refusal in refusals)

    @contextmanager
    def expecting(self) -> Iterator[Expected]:
        """Acknowledge every refusal that is said inside the block, and swallow one that comes through.

        Raises:
            UsageError: The block ended without a refusal.
        """
        before = len(self.all)
        expected = Expected()
        try:
            yield expected
        except Refusal as refusal:
            if refusal not in self.all[before:]:
                raise
        finally:
            expected.refusals = self.all[before:]
            self.acknowledge(expected.refusals)
        if not expected.refusals:
            raise UsageError("expect_refusal: the block ended without a refusal")

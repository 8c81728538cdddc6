"""The ledger of refusals: what a session said no to, so that nothing that swallows an error can hide it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import RLock

from onetake.errors import ContractError, Refusal, UsageError
from onetake.handled import was_handled


class Expected:
    """What `expect_refusal` caught: `refusals` is filled when its block ends."""

    def __init__(self) -> None:
        self.refusals: tuple[Refusal, ...] = ()


class Ledger:
    """One session's refusals, in the order in which they were said."""

    def __init__(self) -> None:
        self.softly = False
        """True while refusals must be `Exception`s: pytest's teardown stops at any other error."""
        self._lines: list[Refusal] = []
        self._acknowledged: set[int] = set()
        self._lock = RLock()  # re-entrant: a stream that is dropped may end in the garbage collector, anywhere

    def write(self, refusal: Refusal) -> None:
        """Note a refusal and say it at once: whatever the program does with the error, a person can read it."""
        with self._lock:
            self._lines.append(refusal)
        self.say(str(refusal))

    def say(self, text: str) -> None:
        """Tell the person who runs the program something, on standard error, if there is one."""
        # A late thread may find it closed; what it was about to raise says the same.
        with suppress(OSError, ValueError):
            if sys.stderr is not None:
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
        except (Refusal, BaseExceptionGroup) as error:
            if not _is_made_of(error, self.all[before:]):
                raise
        finally:
            expected.refusals = self.all[before:]
            self.acknowledge(expected.refusals)
        if not expected.refusals:
            raise UsageError("expect_refusal: the block ended without a refusal")


def _is_made_of(error: BaseException, refusals: tuple[Refusal, ...]) -> bool:
    """Tell whether an error is one of the refusals, or a task group's collection of nothing else."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_made_of(member, refusals) for member in error.exceptions)
    return error in refusals

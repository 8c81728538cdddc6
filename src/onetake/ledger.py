"""The ledger of refusals: what a session said no to, so that nothing that swallows an error can hide it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from onetake import forking
from onetake.errors import ContractError, Refusal, UsageError
from onetake.handled import was_handled

_is_soft = False


@contextmanager
def softly() -> Iterator[None]:
    """Have refusals that are raised inside the block be `Exception`s, in the whole process: some stop at any other."""
    global _is_soft
    before, _is_soft = _is_soft, True
    try:
        yield
    finally:
        _is_soft = before


def is_soft() -> bool:
    """Tell whether refusals must be `Exception`s here and now."""
    return _is_soft


def terminal() -> str:
    """Return which terminal, file or pipe standard error is, to be compared; empty where that cannot be told."""
    # It may be closed, or be replaced by what is no file.
    with suppress(OSError, ValueError, AttributeError):
        found = os.fstat(sys.stderr.fileno())
        return f"{found.st_dev}:{found.st_ino}" if found.st_ino else ""  # Windows knows none of a console
    return ""


class Expected:
    """What `expect_refusal` caught: `refusals` is filled when its block ends."""

    def __init__(self) -> None:
        self.refusals: tuple[Refusal, ...] = ()


class Book(Protocol):
    """What carries what child processes do and refuse to the one that opened the session."""

    def tell(self, refusal: Refusal, shown: str) -> None:
        """Write a refusal down, and where it was shown, if this process is a child."""

    def shown(self, refusal: Refusal) -> str:
        """Return where a child showed a refusal, as `terminal` tells it; empty where that is not known."""

    def settled(self, refusals: Iterable[Refusal]) -> None:
        """Write down that refusals which were told were expected or handled after all."""

    def count(self, what: str, key: str, ordinal: int) -> None:
        """Write down what became of a call, if this process is a child."""

    def note(self, text: str) -> None:
        """Write down what was said that is no refusal, if this process is a child."""

    def differs(self, told: Mapping[str, Any]) -> None:
        """Write down that a request was answered which differs from the recorded one, if this process is a child."""

    def told(self) -> tuple[list[Refusal], list[Refusal]]:
        """Return what children wrote since this was last asked: refusals, and those of all that are settled."""


class _EmptyBook:
    """The book of a session that has no child processes."""

    def tell(self, refusal: Refusal, shown: str) -> None:
        """Do nothing: this is the process that opened the session."""

    def shown(self, refusal: Refusal) -> str:
        """Return nothing: no child showed any."""
        return ""

    def settled(self, refusals: Iterable[Refusal]) -> None:
        """Do nothing, as none was told."""

    def count(self, what: str, key: str, ordinal: int) -> None:
        """Do nothing: this is the process that opened the session."""

    def note(self, text: str) -> None:
        """Do nothing: this is the process that opened the session."""

    def differs(self, told: Mapping[str, Any]) -> None:
        """Do nothing: this is the process that opened the session."""

    def told(self) -> tuple[list[Refusal], list[Refusal]]:
        """Return nothing."""
        return [], []


_EMPTY = _EmptyBook()


class Ledger:
    """One session's refusals, in the order in which they were said; those of its child processes too.

    Args:
        book: Where its child processes write theirs.
    """

    def __init__(self, book: Book = _EMPTY) -> None:
        self._lines: list[Refusal] = []
        self._notes: dict[str, None] = {}
        self.differing: list[Mapping[str, Any]] = []
        """What this process answered although the request differs from the recorded one; see `Differing.as_plain`."""
        self._shown: dict[int, str] = {}
        self._acknowledged: set[int] = set()
        self._childrens: set[int] = set()
        self._book = book
        self._lock = forking.Lock()  # re-entrant: a stream that is dropped may end in the garbage collector, anywhere

    def write(self, refusal: Refusal) -> None:
        """Note a refusal and say it at once: whatever the program does with the error, a person can read it."""
        with self._lock.held:
            self._lines.append(refusal)
            self._shown[id(refusal)] = terminal()
            self._book.tell(refusal, self._shown[id(refusal)])
        self._print(str(refusal))

    def is_shown(self, refusal: Refusal) -> bool:
        """Tell whether a refusal was said where this process says it now, so that a person has its whole text."""
        shown = self._shown.get(id(refusal)) or self._book.shown(refusal)
        return bool(shown) and shown == terminal()

    def count(self, what: str, key: str, ordinal: int) -> None:
        """Have it known in the session's own process what became of a call here.

        Args:
            what: `replayed`, `recorded`, `rejected`, `unstored` or `failed`.
            key: The entry's.
            ordinal: The entry's.
        """
        with self._lock.held:
            self._book.count(what, key, ordinal)

    def differs(self, told: Mapping[str, Any]) -> None:
        """Note that a request was answered which differs from the recorded one; see `Differing.as_plain`."""
        with self._lock.held:
            self.differing.append(told)
            self._book.differs(told)

    def say(self, text: str) -> None:
        """Note something that the person who runs the program should know, and say it at once."""
        with self._lock.held:
            self._notes[text] = None
            self._book.note(text)
        self._print(text)

    def _print(self, text: str) -> None:
        """Print on standard error, if there is one."""
        # A late thread may find it closed; what it was about to raise says the same.
        with suppress(OSError, ValueError), forking.unforked():
            if sys.stderr is not None:
                print(f"onetake: {text}", file=sys.stderr, flush=True)  # noqa: T201 - the one place that talks

    @property
    def all(self) -> tuple[Refusal, ...]:
        """Every refusal."""
        with self._lock.held:
            self._ask_children()
            return tuple(self._lines)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was said that is no refusal, each text once."""
        with self._lock.held:
            return tuple(self._notes)

    @property
    def open(self) -> tuple[Refusal, ...]:
        """The refusals that nobody acknowledged; a `ContractError` that the program caught by its name is none."""
        with self._lock.held:
            self._ask_children()
            left = [line for line in self._lines if id(line) not in self._acknowledged]
        return tuple(line for line in left if not self._was_handled(line))

    def acknowledge(self, refusals: tuple[Refusal, ...]) -> None:
        """Count refusals as expected."""
        with self._lock.held:
            self._acknowledged.update(id(refusal) for refusal in refusals)
            self._book.settled(refusals)

    def hear(self) -> None:
        """Read what child processes have told since it was last read."""
        with self._lock.held:
            self._ask_children()

    def tell_handled(self) -> None:
        """Tell the session's own process, at the end of a child, which of its refusals the program handled."""
        self._book.settled(line for line in self.all if self._was_handled(line))

    def _ask_children(self) -> None:
        told, settled = self._book.told()
        self._lines += told
        self._childrens.update(id(refusal) for refusal in told)
        self._acknowledged.update(id(refusal) for refusal in settled)

    def _was_handled(self, line: Refusal) -> bool:
        """Tell whether the program handled an answer's refusal; only its own process can."""
        return isinstance(line, ContractError) and id(line) not in self._childrens and was_handled(line)

    @contextmanager
    def expecting(self, kind: type[Refusal] = Refusal) -> Iterator[Expected]:
        """Acknowledge every refusal of a kind that is said inside the block, and swallow one that comes through.

        Args:
            kind: The class that is expected; refusals of another go their way.

        Raises:
            UsageError: The block ended without such a refusal, or *kind* is no class of refusals.
        """
        if not (isinstance(kind, type) and issubclass(kind, Refusal)):
            raise UsageError(f"expect_refusal takes a class of refusals, such as ContractError, not {kind!r}")
        before = len(self.all)
        expected = Expected()
        try:
            yield expected
        except (Refusal, BaseExceptionGroup) as error:
            if not _is_made_of(error, self._since(before, kind)):
                raise
        finally:
            expected.refusals = self._since(before, kind)
            self.acknowledge(expected.refusals)
        if not expected.refusals:
            what = "a refusal" if kind is Refusal else f"a {kind.__name__}"
            raise UsageError(f"expect_refusal: the block ended without {what}")

    def _since(self, before: int, kind: type[Refusal]) -> tuple[Refusal, ...]:
        return tuple(line for line in self.all[before:] if isinstance(line, kind))


def _is_made_of(error: BaseException, refusals: tuple[Refusal, ...]) -> bool:
    """Tell whether an error is one of the refusals, or a task group's collection of nothing else."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_made_of(member, refusals) for member in error.exceptions)
    return any(is_same(error, refusal) for refusal in refusals)


def is_same(error: BaseException, refusal: Refusal) -> bool:
    """Tell whether an error is a refusal, the copy of one that came from another process, or the twin of either.

    Args:
        error: What was raised.
        refusal: What a ledger has, in any form.
    """
    if error is refusal or not isinstance(error, Refusal):
        return error is refusal
    return type(error.as_exception()) is type(refusal.as_exception()) and str(error) == str(refusal)

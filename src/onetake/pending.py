"""A test's entries while they wait aside: into the cassette they go when the test has passed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import count

from onetake import forking
from onetake.errors import FormatError, StoreError
from onetake.format import load_entry
from onetake.model import Entry
from onetake.promoting import Journal, Step, promote
from onetake.stores import Store
from onetake.stores.naming import Slot
from onetake.writing import move, schema_side, write


class Pending:
    """What waits for one test: its own entries, those of its child processes, and what an earlier run of it left.

    Args:
        store: The pending store.
        resume: True lets what an earlier run left there answer.
        journal: Where promotions are noted; None where the stores do not outlive this process.
    """

    def __init__(self, store: Store, *, resume: bool, journal: Journal | None = None) -> None:
        self.store = store
        self._journal = journal
        self._left_over: dict[tuple[str, int], Entry] = {}
        self._in_the_way: set[Slot] = set()
        """What lay there when the session began, readable or not; a new entry takes its place."""
        self._waiting: dict[tuple[str, int], Step] = {}
        """By key and ordinal in the pending store."""
        self._ordinals: dict[str, set[int]] = {}
        """Of what waits, by the first 16 hex digits of its key."""
        self._lock = forking.Lock()
        if resume:
            self._look()

    def ordinals(self, key: str) -> set[int]:
        """Return the ordinals of what waits for a key."""
        with self._lock.held:
            return set(self._ordinals.get(key[:16], ()))

    def holds(self, key: str, ordinal: int) -> bool:
        """Tell whether this session's own entry waits here."""
        return (key, ordinal) in self._waiting

    def left_over(self, key: str, ordinal: int) -> Entry | None:
        """Return what an earlier, failed run left for a request."""
        return self._left_over.get((key, ordinal))

    def resume(self, entry: Entry, *, over: bool) -> None:
        """Take what an earlier run left as recorded by this one.

        Args:
            entry: What `left_over` returned.
            over: True where the cassette has one in its place.
        """
        with self._lock.held:
            self._wait((entry.key, entry.ordinal), Step(entry, entry.ordinal, schema_side(self.store, entry), over))

    def add(self, entry: Entry, side: Mapping[str, bytes]) -> bool:
        """Write an entry that goes into the cassette beside others; False if its ordinal is taken."""
        over = (entry.key[:16], entry.ordinal) in self._in_the_way
        if not write(self.store, entry, side, over=over):
            return False
        with self._lock.held:
            self._left_over.pop((entry.key, entry.ordinal), None)
            self._wait((entry.key, entry.ordinal), Step(entry, entry.ordinal, side, over=False))
        return True

    def put(self, entry: Entry, side: Mapping[str, bytes]) -> None:
        """Write an entry that goes into the cassette over the one in its place. Raises as `write` does."""
        write(self.store, entry, side, over=True)
        with self._lock.held:
            self._wait((entry.key, entry.ordinal), Step(entry, entry.ordinal, side, over=True))

    def take_over(self, slots: Collection[Slot], before: Collection[Slot], stored: Collection[Slot]) -> list[Entry]:
        """Take what this session's child processes put here as written by this session.

        Args:
            slots: What they say they put here. All else waits for the process that put it here, whose test may be the
                same one.
            before: What the cassette held when the session began: a child's entry in such a place is meant to replace
                what is there. In any other the one that is stored first stays, whoever wrote it.
            stored: What the cassette holds now.

        Returns:
            The entries, each under the first ordinal that is free where it replaces none.

        Raises:
            StoreError: One cannot be read; nothing was taken.
        """
        with self._lock.held:
            new = set(slots) - {(key[:16], ordinal) for key, ordinal in self._waiting}
            there = sorted(slot for name, ordinal in self.store.names() if (slot := (name[:16], ordinal)) in new)
            found = [(slot, self._read(slot)) for slot in there]
            return [self._taken_over(slot, entry, before, stored) for slot, entry in found]

    def promote(self, store: Store) -> list[Entry]:
        """Move what waits into the cassette, all or none; returns the entries as they are there now.

        Args:
            store: The cassette's.

        Raises:
            StoreError, SecretLeftError: One could not be written: the cassette is as it was, and all still wait.
        """
        with self._lock.held:
            waiting = dict(self._waiting)
        done = promote(list(waiting.values()), self.store, store, self._journal)
        with self._lock.held:
            for key, ordinal in waiting:
                del self._waiting[key, ordinal]
                self._ordinals[key[:16]].discard(ordinal)
        return done

    def retire(self, touched: Collection[Slot], trash: Store) -> int:
        """Move to the trash what an earlier run left and nobody asked for; returns how many entries.

        Args:
            touched: What was asked for or written.
            trash: Where it goes, with its sidecars.
        """
        unasked = [one for one in self._left_over.values() if (one.key[:16], one.ordinal) not in touched]
        for left in unasked:
            move(self.store, trash, left)
        return len(unasked)

    def _wait(self, place: tuple[str, int], step: Step) -> None:
        self._waiting[place] = step
        self._ordinals.setdefault(place[0][:16], set()).add(place[1])

    def _look(self) -> None:
        """Read what an earlier, failed run left, and list all that is there; what cannot be read answers nothing."""
        for name, ordinal in self.store.names():
            self._in_the_way.add((name[:16], ordinal))
            try:
                entry = self._read((name, ordinal))
            except StoreError:
                continue
            self._left_over[entry.key, entry.ordinal] = entry

    def _read(self, slot: Slot) -> Entry:
        try:
            return load_entry(self.store.get(*slot) or b"", self.store.get_side)
        except (FormatError, StoreError) as error:
            raise StoreError(f"{self.store.locate(*slot)}: waits for its test and cannot be read: {error}") from error

    def _taken_over(self, slot: Slot, entry: Entry, before: Collection[Slot], stored: Collection[Slot]) -> Entry:
        over = slot in before
        if not over:
            others = {one.entry.ordinal for (key, _), one in self._waiting.items() if key == entry.key}
            taken = others | {ordinal for name, ordinal in stored if name == entry.key[:16]}
            entry = replace(entry, ordinal=next(number for number in count() if number not in taken))
        self._wait((entry.key, slot[1]), Step(entry, slot[1], schema_side(self.store, entry), over))
        return entry

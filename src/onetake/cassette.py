"""A cassette: the entries that are opened together, found by key and ordinal, and written so that nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from onetake.errors import FormatError, StoreError
from onetake.format import load_entry
from onetake.model import Entry
from onetake.pending import Pending
from onetake.promoting import Journal
from onetake.stores import Store
from onetake.stores.naming import Slot
from onetake.writing import move, write

_NOTHING: Mapping[str, bytes] = {}


@dataclass(frozen=True, slots=True)
class Damaged:
    """An entry that is there and cannot be read, which is never the same as none."""

    place: str
    why: str


class Cassette:
    """One store's entries, and where new ones go.

    Args:
        store: The cassette itself.
        pending: Where new entries wait for their test to pass; None writes them straight into the cassette.
        resume: True lets what an earlier run left in the pending store answer.
        journal: Where promotions are noted; None where the stores do not outlive this process.
    """

    def __init__(
        self, store: Store, pending: Store | None = None, *, resume: bool = False, journal: Journal | None = None
    ) -> None:
        self.store = store
        self._pending = Pending(pending, resume=resume, journal=journal) if pending is not None else None
        self._before: frozenset[Slot] = frozenset()
        if pending is not None:
            self._before = frozenset((key[:16], ordinal) for key, ordinal in store.names())
        self.was_empty = not self._before and next(iter(store.names()), None) is None

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return self.store.place

    @property
    def pending_place(self) -> str:
        """Where new entries wait, for messages; the cassette itself where they do not."""
        return (self._pending.store if self._pending else self.store).place

    def close(self) -> None:
        """Let go of what the store holds open."""
        self.store.close()

    def ordinals(self, key: str) -> set[int]:
        """Return the ordinals stored for a key, and those that wait for it."""
        found = self.store.ordinals(key)
        return found | self._pending.ordinals(key) if self._pending else found

    def load(self, key: str, ordinal: int) -> Entry | Damaged | None:
        """Read an entry of the cassette, without asking whether it answers today's request."""
        store = self._pending.store if self._pending and self._pending.holds(key, ordinal) else self.store
        try:
            data = store.get(key, ordinal)
            return None if data is None else load_entry(data, store.get_side)
        except (FormatError, StoreError) as error:
            return Damaged(self.store.locate(key, ordinal), str(error))

    def all(self) -> Iterator[tuple[str, int, Entry | Damaged]]:
        """Read every entry, by name: (16 hex digits or more, ordinal, entry); a damaged one does not stop the rest."""
        for key, ordinal in sorted(self.store.names()):
            found = self.load(key, ordinal)
            if found is not None:
                yield key, ordinal, found

    def replaces(self, entry: Entry) -> bool:
        """Tell whether a test's entry stands where the cassette held another one when the session began.

        Only there it is meant to replace what is stored; anywhere else what is stored first stays.
        """
        return (entry.key[:16], entry.ordinal) in self._before

    def left_over(self, key: str, ordinal: int) -> Entry | None:
        """Return what an earlier, failed run left for a request."""
        return self._pending.left_over(key, ordinal) if self._pending else None

    def resume(self, entry: Entry) -> None:
        """Take what an earlier run left as recorded by this one: it goes into the cassette when the test passes."""
        if self._pending:
            self._pending.resume(entry, over=self.replaces(entry))

    def add(self, entry: Entry, side: Mapping[str, bytes] = _NOTHING) -> bool:
        """Write an entry under its ordinal, never over another one.

        Args:
            entry: The scrubbed entry.
            side: Sidecars besides those of the entry's own bodies, by name.

        Returns:
            False if the ordinal is taken, by this session or by another process: exactly one of several gets True.

        Raises:
            SecretLeftError: The last look over all bytes found a secret; nothing was written.
            StoreError: The store could not write.
        """
        if entry.ordinal in self.ordinals(entry.key):
            return False
        return self._pending.add(entry, side) if self._pending else write(self.store, entry, side, over=False)

    def put(self, entry: Entry, side: Mapping[str, bytes] = _NOTHING) -> None:
        """Write an entry in the place of the one that has its key and ordinal. Raises as `add` does."""
        if self._pending:
            self._pending.put(entry, side)
        else:
            write(self.store, entry, side, over=True)

    def take_over(self, slots: Collection[Slot]) -> list[Entry]:
        """Take what this session's child processes put into the pending store as written by this session.

        Args:
            slots: What they say they put there: another process's entries may wait in the same place.

        Raises:
            StoreError: One cannot be read; nothing was taken, and everything still waits.
        """
        stored = {(name[:16], ordinal) for name, ordinal in self.store.names()}
        return self._pending.take_over(slots, self._before, stored) if self._pending else []

    def promote(self) -> list[Entry]:
        """Move what waits in the pending store into the cassette, all or none; returns the entries as they are there.

        Raises:
            StoreError, SecretLeftError: One could not be written: the cassette is as it was, and all still wait.
        """
        return self._pending.promote(self.store) if self._pending else []

    def retire(
        self,
        touched: Collection[tuple[str, int]],
        trash: Store,
        *,
        entries: bool,
        is_pinned: Callable[[Entry], bool],
    ) -> int:
        """Move to the trash what waits in the pending store for nobody and, if *entries*, the entries not touched.

        Args:
            touched: Key and ordinal of what was asked for or written.
            trash: Where they go, with their sidecars.
            entries: True moves the cassette's own entries too; one that cannot be read stays where it is.
            is_pinned: Tells of an entry of the cassette whether it stays, whoever asks for it.

        Returns:
            How many were moved.
        """
        slots = {(key[:16], ordinal) for key, ordinal in touched}
        moved = self._pending.retire(slots, trash) if self._pending else 0
        for key, ordinal, entry in list(self.all()) if entries else ():
            if isinstance(entry, Entry) and (key[:16], ordinal) not in slots and not is_pinned(entry):
                move(self.store, trash, entry)
                moved += 1
        return moved

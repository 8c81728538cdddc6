"""What a folder of entries holds: listed once, and again once somebody else may have changed it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onetake import forking
from onetake.stores import files
from onetake.stores.naming import Slot, parse_name

_Seen = tuple[int, int]
_COARSEST_NS = 2_000_000_000
"""FAT keeps times in steps of two seconds; a folder younger than that may change again without showing it."""
_MARK_STEP_NS = 100
"""The finest step that NTFS keeps."""


class Listing:
    """The names of a folder's entries, by slot.

    Whether the folder changed is read off its modification time, which file systems keep in coarse steps. So our own
    changes are made under the folder's lock and leave a time of our own choosing there, finer than any step: whatever
    anyone changes later shows. Thus a program that records 100,000 entries lists their folder once.
    Where the folder cannot be locked or marked, it is listed again after each change.

    Args:
        folder: Absolute path; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._inner = forking.Lock()
        self._names: dict[Slot, str] = {}
        self._twins: dict[Slot, list[str]] = {}
        self._ordinals: dict[str, set[int]] = {}
        self._seen: _Seen | None = None
        self._sure = False
        self.leftovers: list[str] = []
        """Temporary files that were there when it was last listed: of processes at work, or killed."""
        forking.remember(self)

    def renew(self) -> None:
        """Distrust, in a forked child, what another thread was just changing."""
        self._sure = False

    def find(self, slot: Slot) -> str | None:
        """Return the name of the file that holds *slot*, as far as is known; looks again before it says None."""
        name = self._names.get(slot)
        if name is None and self.is_stale():
            with self.steady():
                name = self._names.get(slot)
        return name

    def ordinals(self, key: str) -> set[int]:
        """Return the ordinals of a key of 16 hex digits, as far as is known; looks again before it says that none are.

        Args:
            key: As in a slot.
        """
        found = self._ordinals.get(key)
        if not found and self.is_stale():
            with self.steady():
                found = self._ordinals.get(key)
        with self._inner.held:
            return set(found or ())

    def is_stale(self) -> bool:
        """Tell whether somebody else may have changed the folder since it was listed."""
        return not self._sure or _look(self._folder) != self._seen

    def slots(self) -> list[Slot]:
        """Return what is known to be there."""
        with self._inner.held:
            return list(self._names)

    def names_of(self, slot: Slot) -> list[str]:
        """Return all names of one slot: more than one where a merge or a killed `replace` left two."""
        first = self._names.get(slot)
        return [first, *self._twins.get(slot, ())] if first is not None else []

    def note(self, slot: Slot, name: str | None) -> None:
        """Take down our own change: *slot* is now in the file *name*, or nowhere."""
        with self._inner.held:
            self._twins.pop(slot, None)
            key, ordinal = slot
            if name is None:
                self._names.pop(slot, None)
                self._ordinals.get(key, set()).discard(ordinal)
            else:
                self._names[slot] = name
                self._ordinals.setdefault(key, set()).add(ordinal)

    def forget(self, slot: Slot) -> None:
        """Distrust what is known, since the file of *slot* is not where it was listed."""
        with self._inner.held:
            self.note(slot, None)
            self._sure = False

    @contextmanager
    def steady(self) -> Iterator[bool]:
        """Hold the folder's lock, with the listing up to date; yields whether the lock is held. Does not nest."""
        with files.locked(self._folder) as held, self._inner.held:
            if self.is_stale():
                self._list()
            yield held

    @contextmanager
    def changing(self) -> Iterator[bool]:
        """Hold the folder's lock for a change of our own, which `note` takes down; as `steady` does."""
        with self.steady() as held:
            # Whoever else keeps to the lock changes nothing now; `forget` may still find that somebody did.
            self._sure, sure = True, False
            try:
                yield held
                sure = self._sure
            finally:
                self._sure = sure and held and self._mark()

    def _mark(self) -> bool:
        """Leave a modification time of our own; False where the file system does not keep it as it is."""
        before = _look(self._folder)
        now = max(time.time_ns(), (before or (0, 0))[0] + _MARK_STEP_NS) // _MARK_STEP_NS * _MARK_STEP_NS
        try:
            os.utime(self._folder, ns=(now, now))
        except OSError:  # Not our folder, though we may write to it.
            return False
        self._seen = _look(self._folder)
        return self._seen is not None and self._seen[0] == now

    def _list(self) -> None:
        seen = _look(self._folder)
        names: dict[Slot, str] = {}
        twins: dict[Slot, list[str]] = {}
        leftovers = []
        for name in sorted(_names(self._folder)) if seen else ():
            slot = parse_name(name)
            if slot is None:
                if files.is_temporary(name):
                    leftovers.append(name)
            elif names.setdefault(slot, name) != name:
                twins.setdefault(slot, []).append(name)
        ordinals: dict[str, set[int]] = {}
        for key, ordinal in names:
            ordinals.setdefault(key, set()).add(ordinal)
        self._names, self._twins, self._ordinals = names, twins, ordinals
        self._seen, self.leftovers = seen, leftovers
        self._sure = seen is None or time.time_ns() - seen[0] > _COARSEST_NS


def _names(folder: Path) -> list[str]:
    with os.scandir(folder) as found:
        return [item.name for item in found]


def _look(folder: Path) -> _Seen | None:
    try:
        found = os.stat(folder)  # noqa: PTH116 - asked for many times in each call; the method of a path is dearer
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_ino

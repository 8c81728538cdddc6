"""A promotion: what a passed test left waiting goes into its cassette, all of it or nothing, whatever stops it.

A file is whole or not there; several are not. So what is about to be moved is noted before the first entry is: a
promotion that cannot write puts back what was there, and one that was killed is finished by the next session on that
cassette, before it looks at any entry.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from onetake.errors import FormatError, StoreError
from onetake.format import dump_entry, load_entry
from onetake.model import Entry
from onetake.stores import Store, files
from onetake.stores.naming import Slot
from onetake.writing import SecretLeftError, decoration, schema_side, write


@dataclass(frozen=True, slots=True)
class Step:
    """One entry's way from the pending store into the cassette.

    Args:
        entry: Under the ordinal that it is meant to have in the cassette.
        waits: Its ordinal in the pending store.
        side: Sidecars besides those of its own bodies, by name.
        over: True where it goes over the one in its place; else it takes the next ordinal that is free.
    """

    entry: Entry
    waits: int
    side: Mapping[str, bytes]
    over: bool


class Journal:
    """The notes of the promotions into one cassette, each in a file that is locked while its process is at work.

    Args:
        folder: Where the notes of all cassettes lie.
        cassette: What the names of this cassette's notes begin with.
        part: Which of the cassette's pending stores this session's entries wait in.
        waiting: Given a part, returns that pending store.
    """

    def __init__(self, folder: Path, cassette: str, part: str, waiting: Callable[[str], Store]) -> None:
        self._folder = folder
        self._cassette = cassette
        self._part = part
        self._waiting = waiting

    @contextmanager
    def note(self, steps: Sequence[Step]) -> Iterator[Callable[[], None]]:
        """Note what is about to be moved, and yield what strikes that out again once nothing is half done.

        Raises:
            StoreError: It cannot be noted; nothing was moved.
        """
        path = self._folder / f"{self._cassette}-{os.urandom(8).hex()}.json"
        temp = path.with_suffix(".tmp")
        moves = [[step.entry.key, step.waits, step.entry.ordinal, step.over] for step in steps]
        with _told(path):
            files.make_folder(self._folder)
            files.write(files.create(temp), json.dumps({"part": self._part, "moves": moves}, indent=1).encode())
        # Locked before it has its name: whoever finds it unlocked knows that its process is gone.
        with files.locked(temp):
            with _told(path):
                temp.replace(path)
                files.sync_folder(self._folder)
            yield lambda: _strike_out(path)

    def finish(self, store: Store) -> int:
        """Finish the promotions into the cassette that were stopped half-way; waits for those that are at work.

        Returns:
            How many entries were still to be moved.

        Raises:
            StoreError: What waits cannot be read, or not be moved; it is tried again by the next session.
        """
        return sum(self._finish(path, store) for path in self._noted())

    def _noted(self) -> list[Path]:
        try:
            with _told(self._folder, "listed"), os.scandir(self._folder) as found:
                names = [item.name for item in found]
        except FileNotFoundError:
            return []
        return [
            self._folder / name for name in sorted(names) if name.startswith(self._cassette) and name[-5:] == ".json"
        ]

    def _finish(self, path: Path, store: Store) -> int:
        with files.locked(path):
            data = files.read(path)
            if data is None:
                return 0  # the process that was at work has finished it
            try:
                said = json.loads(data)
                pending = self._waiting(str(said["part"]))
                steps = [step for move in said["moves"] if (step := _step(pending, *move))]
                _move(steps, store, [])
                _empty(steps, pending)
            except (StoreError, FormatError, SecretLeftError, ValueError, LookupError, TypeError) as error:
                raise StoreError(
                    f"{store.place}: an earlier run was stopped while it moved entries there, and the rest cannot:"
                    f" {error}; mend that, or remove {path} and record anew"
                ) from error
            _strike_out(path)
            return len(steps)


def promote(steps: Sequence[Step], pending: Store, store: Store, journal: Journal | None) -> list[Entry]:
    """Move entries from the pending store into the cassette, all or none.

    Args:
        steps: What is to be moved.
        pending: Where it waits.
        store: The cassette's.
        journal: Where it is noted, so that a killed process leaves no half; None where nothing outlives this process.

    Returns:
        The entries as they are in the cassette now.

    Raises:
        StoreError, SecretLeftError: One could not be written: the cassette is as it was, and all of them still wait.
    """
    before: list[_Before] = []
    # One entry alone is never half there.
    with journal.note(steps) if journal and len(steps) > 1 else nullcontext(_nothing) as strike_out:
        try:
            entries = _move(steps, store, before)
        except Exception as error:
            _put_back(before, store, error)
            strike_out()
            raise
        _empty(steps, pending)
        strike_out()
    return entries


@dataclass(frozen=True, slots=True)
class _Before:
    """What an entry takes the place of: another one's bytes, or nothing."""

    entry: Entry
    bytes: bytes | None


def _move(steps: Iterable[Step], store: Store, before: list[_Before]) -> list[Entry]:
    """Write entries into the cassette, and what was there before each into a list.

    What a killed process has moved, and is moved again, finds the same ordinals as the first time.
    """
    moved: dict[Slot, Entry] = {}
    for step in steps:
        entry = step.entry
        while (entry.key, entry.ordinal) in moved or not _write(entry, step, store, before):
            entry = replace(entry, ordinal=entry.ordinal + 1)
        moved[entry.key, entry.ordinal] = entry
    return list(moved.values())


def _write(entry: Entry, step: Step, store: Store, before: list[_Before]) -> bool:
    """Write one entry; False where another one has its ordinal, which stays.

    That of the same test is another process's, which ran it at the same time: what is stored first answers for both.
    """
    there = _there(store, entry)
    if there == dump_entry(entry)[0]:
        return True
    if not step.over and there is not None:
        return _is_of_same_test(there, entry, store)
    before.append(_Before(entry, there))
    return write(store, entry, step.side, over=step.over)


def _there(store: Store, entry: Entry) -> bytes | None:
    """Return what is in an entry's place; nothing of use where that cannot be read."""
    try:
        return store.get(entry.key, entry.ordinal)
    except StoreError:
        return b""


def _is_of_same_test(there: bytes, entry: Entry, store: Store) -> bool:
    try:
        stored = load_entry(there, store.get_side)
    except (FormatError, StoreError):
        return False
    return bool(stored.provenance.get("test")) and stored.provenance.get("test") == entry.provenance.get("test")


def _put_back(before: Iterable[_Before], store: Store, error: Exception) -> None:
    """Put back what was there, unless another process wrote over ours, or it could not be read before.

    Raises:
        StoreError: It cannot be put back.
    """
    try:
        for one in before:
            entry = one.entry
            if one.bytes == b"" or store.get(entry.key, entry.ordinal) != dump_entry(entry)[0]:
                continue
            if one.bytes is None:
                store.delete(entry.key, entry.ordinal)
            else:
                store.replace(entry.key, entry.ordinal, one.bytes, decoration(entry))
    except StoreError as worse:
        raise StoreError(f"{error}; and what was moved before it cannot be put back: {worse}") from error


def _empty(steps: Iterable[Step], pending: Store) -> None:
    for step in steps:
        pending.delete(step.entry.key, step.waits)


def _step(pending: Store, key: str, waits: int, ordinal: int, over: bool) -> Step | None:
    """Return what is still to be done of a noted move; None where it was done."""
    data = pending.get(key, waits)
    if data is None:
        return None
    entry = load_entry(data, pending.get_side)
    return Step(replace(entry, ordinal=ordinal), waits, schema_side(pending, entry), over)


def _strike_out(path: Path) -> None:
    with _told(path, "removed"):
        files.remove(path)


def _nothing() -> None:
    """Do nothing: nothing was noted."""


@contextmanager
def _told(path: Path, what: str = "written") -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"{path}: cannot be {what}: {error.strerror or error}") from error

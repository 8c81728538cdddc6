"""A change to the provenance of a stored entry, and to nothing else: so no answer is ever lost by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from onetake.cassette_files import read_file
from onetake.errors import FormatError, StoreError
from onetake.format import load_entry
from onetake.model import Entry
from onetake.stores import DiskStore, Store, open_store
from onetake.stores.naming import parse_name
from onetake.upkeep.limits import SECONDS, TookTooLongError, at_most
from onetake.writing import SecretLeftError, looked_over

_TRIES = 100
_Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class SecretThereError(SecretLeftError):
    """The entry itself holds a secret, whatever is changed in it; `args[0]` as there."""


def amend(path: Path, seen: Entry, change: _Change) -> bool:
    """Change an entry's provenance, whatever others write into it meanwhile.

    Args:
        path: Its file.
        seen: What was in it when somebody looked.
        change: Gives the new provenance, of the one that is there by now. May be called again.

    Returns:
        False if the file holds another interaction by now or none, or has not the name of what it holds; nothing was
        written.

    Raises:
        FormatError: The file cannot be read any more, or looking through it does not end.
        SecretLeftError: The new provenance holds a secret; nothing was written.
        SecretThereError: The entry does, without it; likewise.
        StoreError: It cannot be read or written.
    """
    with closing(open_store(path.parent)) as store:
        for _ in range(_TRIES):
            data = _read(path, store)
            changed = _changed(path, data, seen, change, store) if data is not None else None
            if data is None or changed is None:
                return False
            entry, new, sides = changed
            if new == data or exchange(store, entry, data, new, sides):
                return True
    raise StoreError(f"{path.as_posix()}: cannot be written: it is changed all the time")


def exchange(store: DiskStore, entry: Entry, was: bytes, data: bytes, sides: Mapping[str, bytes]) -> bool:
    """Write an entry over what it was made of, its sidecars before it.

    Args:
        store: Where it is.
        entry: It; its key and ordinal count.
        was: The bytes that it was read with.
        data: What it is now, as `looked_over` gives it.
        sides: Its sidecars, by name.

    Returns:
        False if the file has other bytes by now, or is gone; no entry was written.

    Raises:
        StoreError: It cannot be written.
    """
    _add_sides(store, sides)
    if not store.exchange(entry.key, entry.ordinal, was, data):
        return False
    _add_sides(store, sides)  # a prune that looked before took them for unused
    return True


def _add_sides(store: Store, sides: Mapping[str, bytes]) -> None:
    for name, content in sides.items():
        store.add_side(name, content)


def _changed(
    path: Path, data: bytes, seen: Entry, change: _Change, store: Store
) -> tuple[Entry, bytes, dict[str, bytes]] | None:
    """Return the entry in a file, and the bytes and sidecars of the changed one; None where it is another by now."""
    try:
        with at_most(SECONDS):
            entry = load_entry(data, store.get_side)
            is_seen = replace(entry, provenance={}) == replace(seen, provenance={})
            if not is_seen or parse_name(path.name) != (entry.key[:16], entry.ordinal):
                return None
            return entry, *_looked_over(entry, replace(entry, provenance=change(entry.provenance)))
    except TookTooLongError as error:
        raise FormatError(f"{path.as_posix()}: cannot be looked through: {error}") from None


def _looked_over(was: Entry, now: Entry) -> tuple[bytes, dict[str, bytes]]:
    try:
        return looked_over(now)
    except SecretLeftError:
        try:
            looked_over(was)
        except SecretLeftError as error:
            raise SecretThereError(*error.args) from None
        raise


def _read(path: Path, store: Store) -> bytes | None:
    try:
        return read_file(path, store)
    except OSError as error:
        raise StoreError(f"{path.as_posix()}: cannot be read: {error.strerror or error}") from error

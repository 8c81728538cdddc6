"""A change to the provenance of a stored entry, and to nothing else: so no answer is ever lost by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from onetake.errors import StoreError
from onetake.format import load_entry
from onetake.model import Entry
from onetake.stores import files
from onetake.stores.directory import DirectoryStore
from onetake.stores.naming import parse_name
from onetake.writing import looked_over

_TRIES = 100


def amend(path: Path, seen: Entry, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> bool:
    """Change an entry's provenance, whatever others write into it meanwhile.

    Args:
        path: Its file.
        seen: What was in it when somebody looked.
        change: Gives the new provenance, of the one that is there by now. May be called again.

    Returns:
        False if the file holds another interaction by now or none, or has not the name of what it holds; nothing was
        written.

    Raises:
        FormatError: The file cannot be read any more.
        SecretLeftError: The new provenance holds a secret; nothing was written.
        StoreError: It cannot be read or written.
    """
    store = DirectoryStore(path.parent)
    for _ in range(_TRIES):
        data = _read(path)
        entry = load_entry(data, store.get_side) if data is not None else None
        if data is None or entry is None or _without_provenance(entry) != _without_provenance(seen):
            return False
        if parse_name(path.name) != (entry.key[:16], entry.ordinal):
            return False
        new, sides = looked_over(replace(entry, provenance=change(entry.provenance)))
        for name, content in sides.items():
            store.add_side(name, content)
        if new == data or store.exchange(entry.key, entry.ordinal, data, new):
            return True
    raise StoreError(f"{path.as_posix()}: cannot be written: it is changed all the time")


def _read(path: Path) -> bytes | None:
    try:
        return files.read(path)
    except OSError as error:
        raise StoreError(f"{path.as_posix()}: cannot be read: {error.strerror or error}") from error


def _without_provenance(entry: Entry) -> Entry:
    return replace(entry, provenance={})

"""What is damaged leaves its store, as it is: then it is absent, and can be asked again."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from onetake.errors import StoreError
from onetake.stores import files, open_store
from onetake.stores.sqlite import SqliteStore
from onetake.upkeep.packing import Fault, read_or_fault


def quarantine(path: Path, into: Path) -> list[Fault]:
    """Take what is damaged out of a store, as it is, so that it is absent, and can be asked again.

    Args:
        path: A folder or a file.
        into: The folder that it goes to; made where something does.

    Returns:
        What was taken out: its new place, and what is wrong with it.

    Raises:
        StoreError: The store as a whole cannot be read, or something cannot be written.
    """
    store = open_store(path, str(path.absolute()))
    taken = []
    with closing(store):
        for key, ordinal in sorted(store.names()):
            fault = read_or_fault(store, key, ordinal)
            if isinstance(fault, Fault):
                name = Path(store.locate(key, ordinal)).name
                data = store.raw(key, ordinal) if isinstance(store, SqliteStore) else files.read(path / name)
                taken.append(Fault(_put_aside(into / name, data or b""), fault.why))
                store.delete(key, ordinal)
        for name in sorted(store.side_names()):
            try:
                store.get_side(name)
            except StoreError as error:
                data = b"" if isinstance(store, SqliteStore) else files.read(path / name) or b""
                taken.append(Fault(_put_aside(into / name, data), str(error)))
                _ = store.delete_side(name) if isinstance(store, SqliteStore) else files.remove(path / name)
    return taken


def _put_aside(path: Path, data: bytes) -> str:
    """Write bytes to a file that is not there yet, on disk before they leave their old place; returns its path."""
    free, number = path, 0
    try:
        files.make_folder(path.parent)
        while os.path.lexists(free):
            number += 1
            free = path.with_name(f"{path.name}~{number}")
        files.write(files.create(free), data)
        files.sync_folder(path.parent)
    except OSError as error:
        raise StoreError(f"{free}: cannot be written: {error.strerror or error}") from error
    return str(free)

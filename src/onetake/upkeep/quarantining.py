"""What is damaged leaves its store, as it is: then it is absent, and can be asked again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from onetake.errors import StoreError
from onetake.stores import files, leftovers, open_store
from onetake.stores.sqlite import SqliteStore
from onetake.stores.strays import Strays
from onetake.upkeep.packing import Fault, read_or_fault
from onetake.upkeep.salvaging import salvage


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
    taken = [*salvage(path, into), *_strays(path, into)] if isinstance(store, SqliteStore) else []
    with closing(store):
        for key, ordinal in store.names():
            fault = read_or_fault(store, key, ordinal)
            if isinstance(fault, Fault):
                name = Path(store.locate(key, ordinal)).name
                data = store.raw(key, ordinal)
                taken.append(Fault(_put_aside(into / name, data or b""), fault.why))
                store.delete(key, ordinal)
        for name in sorted(store.side_names()):
            try:
                store.get_side(name)
            except StoreError as error:
                data = store.raw_side(name)
                taken.append(Fault(_put_aside(into / name, data or b""), str(error)))
                store.delete_side(name)
    leftovers.sweep(path)
    return taken


def _strays(file: Path, into: Path) -> list[Fault]:
    """Take out what somebody else wrote into a store that is one file, under names of our own: theirs may lead away."""
    taken = []
    with closing(Strays(file, str(file.absolute()))) as strays:
        for stray in strays.all():
            taken.append(Fault(_put_aside(into / stray.name, strays.read(stray)), stray.why))
            strays.remove(stray)
    return taken


def _put_aside(path: Path, data: bytes) -> str:
    """Write bytes to a file that is not there yet, on disk before they leave their old place; returns its path."""
    free = files.free_name(path)
    try:
        files.make_folder(path.parent)
        files.write(files.create(free), data)
        files.sync_folder(path.parent)
    except OSError as error:
        raise StoreError(f"{free}: cannot be written: {error.strerror or error}") from error
    return str(free)

"""A store in one file whose pages are damaged, written anew from every row that proves itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from onetake.errors import StoreError
from onetake.stores import files
from onetake.stores.naming import digits, is_label, is_side, slot
from onetake.stores.one_file import is_store
from onetake.stores.packed import unpacked
from onetake.stores.pages import fold, rows
from onetake.stores.sqlite import SqliteStore
from onetake.upkeep.packing import Fault, beside


def salvage(file: Path, into: Path) -> list[Fault]:
    """Put a file that is damaged as a whole aside, as it is, and all of it that is whole into a new one in its place.

    Args:
        file: A store; nobody else may have it open.
        into: The folder that it goes to.

    Returns:
        Its new place, and what is wrong with it; nothing where the file is whole, or no store of ours.

    Raises:
        StoreError: Something cannot be written; the store is as it was.
    """
    with closing(SqliteStore(file, str(file.absolute()))) as store:
        wrong = store.verify()
    if not wrong or not is_store(file):
        return []
    try:
        kept = _copied(file, into)
        entries, sides = _written_anew(file)
    except OSError as error:
        raise StoreError(f"{file}: cannot be repaired: {error.strerror or error}") from error
    return [Fault(str(kept), f"{wrong[0]} ({entries} entries and {sides} sidecars of it are whole, and stay)")]


def _copied(file: Path, into: Path) -> Path:
    """Copy a file and its log, on disk before anything is changed; returns the copy of the file."""
    files.make_folder(into)
    kept = files.free_name(into / file.name)
    for suffix in ("", "-wal"):
        source, target = (path.with_name(path.name + suffix) for path in (file, kept))
        if source.exists():
            shutil.copyfile(source, target)
            with target.open("rb+") as copy:
                os.fsync(copy.fileno())
    files.sync_folder(into)
    return kept


def _written_anew(file: Path) -> tuple[int, int]:
    """Write all that is whole into a new file, and put it in the place of the old one; returns entries and sidecars."""
    log, index = (file.with_name(file.name + suffix) for suffix in ("-wal", "-shm"))
    fold(file, log)
    files.remove(index)
    temp = beside(file)
    try:
        with closing(SqliteStore(temp)) as store:
            store.add_all(_entries(file))
            for name, data in _sides(file):
                store.add_side(name, data)
            found = sum(1 for _ in store.names()), len(list(store.side_names()))
        if temp.exists():
            temp.replace(file)
        else:
            file.unlink()
        files.sync_folder(file.absolute().parent)
    finally:
        for suffix in ("", "-wal", "-shm"):
            files.remove(temp.with_name(temp.name + suffix))
    return found


def _entries(file: Path) -> Iterator[tuple[str, int, bytes, str]]:
    """Give the entries whose digest says that they are what was added under that name."""
    for row in _of_width(file, 7):
        _, number, ordinal, label, *stored = row
        try:
            key, _ = name = slot(digits(number), ordinal)
            data = unpacked(stored, name)
        except (ValueError, TypeError, AttributeError, OverflowError, StoreError):
            continue
        yield key, ordinal, data, label if isinstance(label, str) and is_label(label) else ""


def _sides(file: Path) -> Iterator[tuple[str, bytes]]:
    for name, *stored in _of_width(file, 4):
        if isinstance(name, str) and is_side(name):
            try:
                data = unpacked(stored, (name,))
            except ValueError:
                continue
            yield name, data


def _of_width(file: Path, width: int) -> Iterator[tuple[Any, ...]]:
    return (row for row in rows(file) if len(row) == width)

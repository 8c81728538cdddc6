"""The cassettes under a folder, opened for reading: which files are entries, and what each of them holds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from onetake.cassette import Damaged
from onetake.errors import FormatError, StoreError
from onetake.format import load_entry
from onetake.model import Entry
from onetake.printable import short_key
from onetake.stores import FILE, Store, files, open_store
from onetake.stores.naming import SIDE_FOLDERS, Slot, parse_name

_NOT_OURS = frozenset({"node_modules", "site-packages", "__pycache__", *SIDE_FOLDERS})
"""Folders that are not looked into, besides those whose names begin with a dot."""


@dataclass(frozen=True, slots=True)
class CassetteFolder:
    """A folder that holds entries, or that could not be listed; a store that is one file is a folder too.

    Args:
        folder: Its path, as it is reached from where the search started.
        files: Each file that is named as an entry, by what its name says; two files may say the same.
        why: What kept the folder from being listed, else empty.
    """

    folder: Path
    files: tuple[tuple[Slot, Path], ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """What a folder holds, by name, sorted; or what kept it from being listed.

    A store that is one file counts as a folder: its entries are files of that, by the names that they would have.
    """

    folder: Path
    names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    why: str = ""
    is_one_file: bool = False


def list_folders(start: Path) -> Iterator[Listed]:
    """List every folder in which a cassette may lie, in the order of their paths.

    Args:
        start: An existing folder. Below it links are not followed, and folders whose names begin with a dot, sidecars
            and installed packages are left out. Or a store that is one file, or the path of one.
    """
    if is_named_as_store(start):
        yield _listed_file(start)
        return
    unlisted: list[OSError] = []
    for path, folders, names in os.walk(start, onerror=unlisted.append):
        all_folders = tuple(sorted(folders))
        folders[:] = filter(is_looked_into, all_folders)
        yield from _told(unlisted)
        yield Listed(Path(path), tuple(sorted(names)), all_folders)
        yield from (_listed_file(file) for file in _stores_among(Path(path), names))
    yield from _told(unlisted)


def is_looked_into(name: str) -> bool:
    """Tell whether a folder of this name may hold cassettes."""
    return name not in _NOT_OURS and not name.startswith(".")


def is_one_file(path: Path) -> bool:
    """Tell whether a path is a store that is one file."""
    if path.suffix.lower() != FILE:
        return False
    from onetake.stores.one_file import is_store  # SQLite is loaded where there is such a file

    return is_store(path)


def is_named_as_store(path: Path) -> bool:
    """Tell whether a path that a person named can only mean a store in one file, be it a sound one or not."""
    return path.suffix.lower() == FILE and path.is_file()


def find_cassettes(start: Path) -> Iterator[CassetteFolder]:
    """Find every cassette in a folder and below it, by file names alone.

    Args:
        start: As for `list_folders`.

    Returns:
        In the order of their paths, each one's entries in the order of their names.
    """
    for listed in list_folders(start):
        found = tuple((slot, listed.folder / name) for name in listed.names if (slot := parse_name(name)))
        if found or listed.why:
            yield CassetteFolder(listed.folder, found, listed.why)


def read_file(path: Path, store: Store, most: int | None = None) -> bytes | None:
    """Return the bytes of an entry's file, None if there is none.

    Args:
        path: It.
        store: Of its folder; where that is one file, the store itself has the bytes.
        most: As for `files.read`.

    Raises:
        OSError, StoreError: It cannot be read.
    """
    slot = parse_name(path.name)
    if path.parent.suffix.lower() != FILE or slot is None or path.parent.is_dir():
        return files.read(path, most)
    return store.get(*slot)


def read_entry(path: Path, store: Store | None = None) -> Entry | Damaged:
    """Read the entry in a file.

    Args:
        path: Any file; only where its name is an entry's, the content must be of the key and ordinal that it says.
        store: Of its folder, where many are read.
    """
    if store is None:
        with closing(open_store(path.parent)) as opened:
            return read_entry(path, opened)
    try:
        data = read_file(path, store)
        if data is None:
            return Damaged(path.as_posix(), "there is no such file")
        entry = load_entry(data, store.get_side)
    except OSError as error:
        return Damaged(path.as_posix(), f"cannot be read: {error.strerror or error}")
    except (FormatError, StoreError) as error:
        return Damaged(path.as_posix(), str(error).removeprefix(f"{path.as_posix()}: "))
    said = parse_name(path.name)
    if said is not None and said != (entry.key[:16], entry.ordinal):
        own = f"key {short_key(entry.key)}, ordinal {entry.ordinal}"
        why = f"its name is not that of the entry in it ({own}): rename it"
        return Damaged(path.as_posix(), why)
    return entry


def _stores_among(folder: Path, names: list[str]) -> Iterator[Path]:
    return filter(is_one_file, (folder / name for name in sorted(names) if name.lower().endswith(FILE)))


def _listed_file(file: Path) -> Listed:
    """List a store that is one file as if it were a folder."""
    from onetake.stores.sqlite import SqliteStore

    try:
        with closing(SqliteStore(file)) as store:
            # Whatever is wrong with its sidecars is told where they are looked at: the entries are read all the same.
            return Listed(file, tuple(store.file_names()), SIDE_FOLDERS, is_one_file=True)
    except StoreError as error:
        return Listed(file, why=str(error).removeprefix(f"{file}: "), is_one_file=True)


def _told(unlisted: list[OSError]) -> Iterator[Listed]:
    while unlisted:
        error = unlisted.pop()
        yield Listed(Path(error.filename), why=f"cannot be listed: {error.strerror or error}")

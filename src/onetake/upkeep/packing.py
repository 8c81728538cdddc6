"""A folder of entries as one file, and back, byte for byte; and what a store holds, verified."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from onetake.errors import FormatError, StoreError, UsageError
from onetake.format import load_entry
from onetake.model import Entry
from onetake.stores import FILE, DiskStore, Store, files, open_store
from onetake.stores.naming import label_at
from onetake.stores.sqlite import SqliteStore
from onetake.stores.strays import Strays
from onetake.validity import moment

_MANY = 10_000
"""Entries of a folder above which it is said that one file would serve better: each costs an inode and an fsync."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What went from one store into another.

    Args:
        entries: How many entries.
        sides: How many sidecars.
    """

    entries: int
    sides: int


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one entry or sidecar of a store: where it is, and why."""

    place: str
    why: str


@dataclass(frozen=True, slots=True)
class Stats:
    """What a store holds.

    Args:
        kind: `file` or `folder`.
        entries: Entries that can be read.
        damaged: Entries and sidecars that cannot.
        sides: Sidecars.
        keys: Different requests.
        bytes: What its files take, in bytes.
        content: What the entries are, uncompressed, in bytes.
        verdicts: Entries by verdict.
        contracts: Entries by contract and `schema_version`: `items v2`; `` for those without.
        models: Entries by the model that was asked for.
        oldest: When the first was recorded, RFC 3339; empty where none says so.
        newest: When the last was.
    """

    kind: str
    entries: int
    damaged: int
    sides: int
    keys: int
    bytes: int
    content: int
    verdicts: dict[str, int]
    contracts: dict[str, int]
    models: dict[str, int]
    oldest: str
    newest: str


def pack(folder: Path, file: Path) -> Packed:
    """Write a folder of entries as one file.

    The same entries give the same bytes, in whatever order they were recorded (with the same SQLite). The folder stays.

    Args:
        folder: Holds entries.
        file: Ends in `.db`; must not be there.

    Raises:
        UsageError: There is no such folder, or the file is there.
        StoreError: An entry or sidecar cannot be read, or the file not be written; nothing is left of it.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder.as_posix()}: there is no such folder")
    _check_new(file)
    if file.suffix.lower() != FILE:
        raise UsageError(f"{file.as_posix()}: the name of a store that is one file ends in {FILE}")
    temp = beside(file)
    try:
        with closing(SqliteStore(temp)) as store:
            found = _copied(open_store(folder), store)
        whole = temp.with_suffix(f".whole{FILE}")
        try:
            _rewrite(temp, whole)
            if not files.place(whole, file):
                raise UsageError(f"{file.as_posix()}: is there already: name another file")
        finally:
            files.remove(whole)
        files.sync_folder(file.absolute().parent)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{file.as_posix()}: cannot be written: {error}") from error
    finally:
        for suffix in ("", "-wal", "-shm"):
            files.remove(temp.with_name(temp.name + suffix))
    return found


def unpack(file: Path, folder: Path) -> Packed:
    """Write the entries of one file as a folder of files.

    Args:
        file: A store; stays.
        folder: Must not be there.

    Raises:
        UsageError: There is no such file, or the folder is there.
        StoreError: An entry or sidecar cannot be read, or the folder not be written; nothing is left of it.
    """
    import shutil

    if not file.is_file():
        raise UsageError(f"{file.as_posix()}: there is no such file")
    _check_new(folder)
    temp = beside(folder)
    try:
        with closing(SqliteStore(file)) as store:
            found = _copied(store, open_store(temp))
        temp.mkdir(exist_ok=True)  # of a store without entries
        temp.rename(folder)
        files.sync_folder(folder.absolute().parent)
    except OSError as error:
        raise StoreError(f"{folder.as_posix()}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temp, ignore_errors=True)
    return found


def faults(path: Path) -> Iterator[Fault]:
    """Verify every entry and sidecar of a store: that its bytes are whole, and that they are an entry of that name.

    Args:
        path: A folder or a file.

    Raises:
        StoreError: The store as a whole cannot be read.
    """
    store = open_store(path)
    with closing(store):
        if wrong := store.verify():
            yield from (Fault(store.place, why) for why in wrong)
            return  # entries may be missing, and others be found in their place
        if isinstance(store, SqliteStore):
            with closing(Strays(path, store.place)) as strays:
                yield from (Fault(store.place, stray.why) for stray in strays.all())
        for key, ordinal in store.names():
            entry = read_or_fault(store, key, ordinal)
            if isinstance(entry, Fault):
                yield entry
        for name in sorted(store.side_names()):
            try:
                store.get_side(name)
            except StoreError as error:
                place = f"{store.place}/{name}"
                yield Fault(place, str(error).removeprefix(f"{place}: "))


def stats(path: Path) -> Stats:
    """Count what a store holds.

    Args:
        path: A folder or a file.

    Raises:
        StoreError: The store as a whole cannot be read.
    """
    store = open_store(path)
    verdicts, contracts, models = Counter[str](), Counter[str](), Counter[str]()
    keys: set[str] = set()
    times: list[tuple[datetime, str]] = []
    damaged = content = 0
    with closing(store):
        for key, ordinal in store.names():
            found = read_or_fault(store, key, ordinal)
            if isinstance(found, Fault):
                damaged += 1
                continue
            entry, size = found
            keys.add(entry.key)
            content += size
            verdicts[entry.verdict] += 1
            contracts[f"{entry.contract.name} v{entry.contract.schema_version}" if entry.contract else ""] += 1
            models[str(entry.provenance.get("model_asked") or "")] += 1
            said = entry.provenance.get("recorded_at")
            if at := moment(said):
                times = [min([*times, (at, str(said))]), max([*times, (at, str(said))])]
        sides = len(list(store.side_names()))
    return Stats(
        kind="file" if path.is_file() else "folder",
        entries=sum(verdicts.values()),
        damaged=damaged,
        sides=sides,
        keys=len(keys),
        bytes=size_of(path),
        content=content,
        verdicts=dict(sorted(verdicts.items())),
        contracts=dict(sorted(contracts.items())),
        models=dict(sorted(models.items())),
        oldest=times[0][1] if times else "",
        newest=times[-1][1] if times else "",
    )


def size_of(path: Path) -> int:
    """Return the bytes that the files of a store take."""
    return sum(one.stat().st_size for one in ([path] if path.is_file() else path.rglob("*")) if one.is_file())


def too_many(path: Path, store: Store) -> int:
    """Return how many entries a folder has where one file would serve better; 0 for all other stores.

    Args:
        path: Where the store is.
        store: It.

    Raises:
        StoreError: The folder cannot be listed.
    """
    count = sum(1 for _ in store.names()) if path.is_dir() else 0
    return count if count > _MANY else 0


def _copied(source: Store, target: DiskStore) -> Packed:
    """Copy entries in the order of their names, and verify nothing: what is damaged cannot be read."""
    names = sorted(source.names())
    sides = sorted(source.side_names())
    for name in sides:
        target.add_side(name, source.get_side(name) or b"")
    target.add_all((key, ordinal, *_bytes(source, key, ordinal)) for key, ordinal in names)
    return Packed(len(names), len(sides))


def _bytes(store: Store, key: str, ordinal: int) -> tuple[bytes, str]:
    """Return an entry's bytes and its decoration; one that is gone meanwhile is an error, not a smaller copy."""
    data = store.get(key, ordinal)
    place = store.locate(key, ordinal)
    if data is None:
        raise StoreError(f"{place}: went while it was copied: let nothing change the store meanwhile")
    return data, label_at(place)


def read_or_fault(store: Store, key: str, ordinal: int) -> tuple[Entry, int] | Fault:
    """Return an entry and its size, or what is wrong with it."""
    place = store.locate(key, ordinal)
    try:
        data = store.get(key, ordinal) or b""
        entry = load_entry(data, store.get_side)
    except (FormatError, StoreError) as error:
        return Fault(place, str(error).removeprefix(f"{place}: "))
    if (entry.key[:16], entry.ordinal) != (key[:16], ordinal):
        return Fault(place, f"its name is not that of the entry in it (key {entry.key}, ordinal {entry.ordinal})")
    return entry, len(data)


def _rewrite(file: Path, whole: Path) -> None:
    """Write a database anew, so that its bytes tell nothing of how it came about."""
    connection = sqlite3.connect(file, isolation_level=None)
    try:
        connection.execute("VACUUM INTO ?", (str(whole),))
    finally:
        connection.close()
    with whole.open("rb+") as written:
        os.fsync(written.fileno())


def _check_new(path: Path) -> None:
    if os.path.lexists(path):
        raise UsageError(f"{path.as_posix()}: is there already: name another one")


def beside(path: Path) -> Path:
    """Return a free name beside a path, for what is to be put in its place."""
    return path.absolute().with_name(f".onetake-{os.urandom(8).hex()}{path.suffix}")

"""Entries in one SQLite file: for batches, where a file for each would be an inode and an fsync for each."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from onetake.errors import StoreError
from onetake.quoting import quoted_path
from onetake.stores.naming import Slot, digits, entry_name, is_label, is_side, number, side_digest, slot
from onetake.stores.packed import digest, packed, unpacked
from onetake.stores.sqlite_file import SqliteFile
from onetake.stores.strays import FIRST_ROW, NAMED, RAW
from onetake.stores.tables import ENTRIES

_AT_ONCE = 1000
KEYS_AT_ONCE = 128
"""Keys that `get_all` takes at most."""
_BYTES_AT_ONCE = 8 << 20
_FIRST = (
    "SELECT key, codec, digest, body FROM entry"
    f" WHERE key IN ({', '.join('?' * KEYS_AT_ONCE)}) AND ordinal = 0 AND length(body) < 65536"
)
_NAMES = f"SELECT id, key, ordinal FROM entry WHERE id > ? AND {NAMED} ORDER BY id LIMIT ?"
_LABEL = "SELECT label FROM entry WHERE key = ? AND ordinal = ?"
_BODY = "SELECT codec, digest, body FROM entry WHERE key = ? AND ordinal = ?"


class SqliteStore:
    """Keep all entries in one file, committed in groups: what `add` has returned from survives power loss.

    Any number of threads and processes of one machine may share it. A row holds a digest of its name and its body, so
    that one which was damaged, or is found by a damaged index, is told from one that is not there; and before anything
    is taken for absent, or written, the file is compared with its indexes.

    Args:
        path: The file, `.db`; created by the first add, not before.
        place: What messages call it; the path as given where left out.
    """

    is_digested = True
    """`get` returns the bytes that were added, or none: so what an entry's own name says need not be proved again."""

    def __init__(self, path: Path, place: str | None = None) -> None:
        self._place = str(path) if place is None else place
        self._file = SqliteFile(path, self._place)

    @property
    def place(self) -> str:
        """The file as the user wrote it, for messages."""
        return self._place

    def get(self, key: str, ordinal: int) -> bytes | None:
        """Return an entry's bytes, None if there is none; bytes without their digest raise `StoreError`."""
        rows = self._file.read(_BODY, *_id(key, ordinal))
        if not rows:
            self._file.check()
            return None
        return self._unpacked(rows[0], slot(key, ordinal), lambda: self.locate(key, ordinal))

    def get_all(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the bytes of the first entry of each key, at a fraction of the cost of `get`.

        Args:
            keys: 64 lower-case hex digits each; from 1 to `KEYS_AT_ONCE`.

        Returns:
            By key; one that is not in it may still be there: large, or damaged, as `get` will say.
        """
        of_number: dict[Any, str] = {number(key): key for key in keys}
        numbers, found, size = [*of_number], dict[str, bytes](), 0
        numbers += numbers[:1] * (KEYS_AT_ONCE - len(numbers))
        for name, *row in self._file.read(_FIRST, *numbers):
            if name not in of_number:  # a damaged index leads anywhere
                continue
            with suppress(ValueError):
                found[of_number[name]] = data = unpacked(row, slot(of_number[name], 0))
                size += len(data)
            if size > _BYTES_AT_ONCE:
                break
        return found

    def add(self, key: str, ordinal: int, data: bytes, label: str = "") -> bool:
        """Create an entry, never over another one; see `Store.add`."""
        return bool(self._write(self._put("INSERT OR IGNORE", key, ordinal, data, label)))

    def add_all(self, rows: Iterable[tuple[str, int, bytes, str]]) -> None:
        """Create many entries at a fraction of the cost of `add`, never over others.

        Args:
            rows: Key, ordinal, bytes and label of each; what is there already is left as it is.
        """
        self._put_all("INSERT OR IGNORE", rows)

    def replace_all(self, rows: Iterable[tuple[str, int, bytes, str]]) -> None:
        """Write many entries, as `add_all` does, over the ones that are there."""
        self._put_all("INSERT OR REPLACE", rows)

    def replace(self, key: str, ordinal: int, data: bytes, label: str = "") -> None:
        """Write an entry over the one that is there (or none)."""
        self._write(self._put("INSERT OR REPLACE", key, ordinal, data, label))

    def exchange(self, key: str, ordinal: int, was: bytes, data: bytes) -> bool:
        """Write an entry over one that is there, unless that was changed meanwhile; False if it was, or is gone.

        Args:
            key: 64 lower-case hex digits.
            ordinal: 0 or more.
            was: The bytes that it was read with.
            data: The whole entry.
        """
        sql = "UPDATE entry SET codec = ?, digest = ?, body = ? WHERE key = ? AND ordinal = ? AND digest = ?"
        name = slot(key, ordinal)
        return bool(self._write(_Change(sql, (*packed(data, name), *_id(key, ordinal), digest(was, name)))))

    def delete(self, key: str, ordinal: int) -> bool:
        """Remove an entry; False if there was none."""
        wanted = _id(key, ordinal)
        if not self._file.path.exists():
            return False
        return bool(self._write(_Change("DELETE FROM entry WHERE key = ? AND ordinal = ?", wanted)))

    def names(self) -> Iterator[Slot]:
        """List (first 16 hex digits of the key, ordinal) a part at a time, so that memory stays flat.

        Raises:
            StoreError: The file is damaged: some may be missing. Told at the end at the latest.
        """
        last = FIRST_ROW
        while rows := self._file.read(_NAMES, last, _AT_ONCE):
            yield from ((digits(value), ordinal) for _, value, ordinal in rows)
            last = rows[-1][0]
        self._file.check()

    def file_names(self) -> list[str]:
        """List what the entries' own files would be called, sorted."""
        rows = self._file.read(f"SELECT key, ordinal, label FROM entry WHERE {NAMED}")
        return sorted(_name(digits(value), ordinal, label) for value, ordinal, label in rows)

    def ordinals(self, key: str) -> set[int]:
        """Return the ordinals that are stored for a key."""
        self._file.check()
        rows = self._file.read(f"SELECT ordinal FROM entry WHERE key = ? AND {NAMED}", _id(key, 0)[0])
        return {ordinal for (ordinal,) in rows}

    def locate(self, key: str, ordinal: int) -> str:
        """Return where an entry is, or would be: the file, and behind a slash what its own file would be called."""
        name = entry_name(key, ordinal)
        try:
            rows = self._file.read(_LABEL, *_id(key, ordinal))
        except StoreError:
            rows = []
        return f"{self._place}/{_name(key, ordinal, rows[0][0]) if rows else name}"

    def get_side(self, name: str) -> bytes | None:
        """Return a sidecar's bytes, None if there is none; bytes without their digest raise `StoreError`."""
        side_digest(name)
        rows = self._file.read("SELECT codec, digest, body FROM side WHERE name = ?", name)
        if not rows:
            self._file.check()
            return None
        return self._unpacked(rows[0], (name,), lambda: f"{self._place}/{name}")

    def add_side(self, name: str, data: bytes) -> None:
        """Keep a sidecar; one that is there stays, unless it is damaged."""
        if side_digest(name) not in (None, sha256(data).hexdigest()):
            raise StoreError(f"{self._place}/{name}: cannot be written: the bytes do not have the digest of the name")
        try:
            if self.get_side(name) is not None:
                return
        except StoreError:
            pass  # the whole one takes its place
        row = (name, *packed(data, (name,)))
        self._write(_Change("INSERT OR REPLACE INTO side (name, codec, digest, body) VALUES (?, ?, ?, ?)", row))

    def side_names(self) -> Iterable[str]:
        """List the sidecars, sorted."""
        self._file.check()
        rows = self._file.read("SELECT name FROM side ORDER BY name")
        return [name for (name,) in rows if isinstance(name, str) and is_side(name)]

    def raw(self, key: str, ordinal: int) -> bytes | None:
        """Return what is stored for an entry as it is, damaged or not, compressed or not; None if there is none."""
        rows = self._file.read(f"SELECT {RAW} FROM entry WHERE key = ? AND ordinal = ?", *_id(key, ordinal))
        return rows[0][0] if rows else None

    def raw_side(self, name: str) -> bytes | None:
        """Return what is stored for a sidecar, as `raw` does."""
        rows = self._file.read(f"SELECT {RAW} FROM side WHERE name = ?", name)
        return rows[0][0] if rows else None

    def delete_side(self, name: str) -> bool:
        """Remove a sidecar; False if there was none."""
        return bool(self._write(_Change("DELETE FROM side WHERE name = ?", (name,))))

    def verify(self) -> list[str]:
        """Return what SQLite itself finds wrong with the file, a line each; empty where nothing is."""
        return self._file.damage()

    def close(self) -> None:
        """Close the file, which is then one file again; what is asked afterwards opens it anew."""
        self._file.close()

    def _write(self, change: Callable[[sqlite3.Connection], int]) -> int:
        self._file.check()
        done: int = self._file.write(change)
        return done

    def _put_all(self, verb: str, rows: Iterable[tuple[str, int, bytes, str]]) -> None:
        rest = iter(rows)
        while some := [self._put(verb, *row) for row in islice(rest, _AT_ONCE)]:
            self._write(_Changes(some))

    def _put(self, verb: str, key: str, ordinal: int, data: bytes, label: str) -> _Put:
        entry_name(key, ordinal, label)
        sql = f"{verb} INTO entry (key, ordinal, label, codec, digest, body) VALUES (?, ?, ?, ?, ?, ?)"
        return _Put(sql, slot(key, ordinal), label, data)

    def _unpacked(self, row: Sequence[Any], name: Sequence[Any], place: Callable[[], str]) -> bytes:
        try:
            return unpacked(row, name)
        except ValueError as error:
            raise StoreError(f"{place()}: damaged: {error}{ENTRIES.mend.format(quoted_path(self._place))}") from None


class _Change:
    """One statement; called with the connection it says how many rows it changed."""

    __slots__ = ("_sql", "_values")

    def __init__(self, sql: str, values: tuple[Any, ...]) -> None:
        self._sql = sql
        self._values = values

    def __call__(self, connection: sqlite3.Connection) -> int:
        return connection.execute(self._sql, self._values).rowcount


class _Put:
    """One entry; packed by the thread that commits it: of many that pack at once, each waits for the others."""

    __slots__ = ("_data", "_label", "_name", "_sql")

    def __init__(self, sql: str, name: Slot, label: str, data: bytes) -> None:
        self._sql, self._name, self._label, self._data = sql, name, label, data

    def __call__(self, connection: sqlite3.Connection) -> int:
        row = *_id(*self._name), self._label, *packed(self._data, self._name)
        return connection.execute(self._sql, row).rowcount


class _Changes:
    """Several statements, in one transaction."""

    __slots__ = ("_some",)

    def __init__(self, some: list[_Put]) -> None:
        self._some = some

    def __call__(self, connection: sqlite3.Connection) -> int:
        return sum(one(connection) for one in self._some)


def _id(key: str, ordinal: int) -> tuple[int, int]:
    """Return what the table finds an entry by."""
    found, place = slot(key, ordinal)
    return number(found), place


def _name(key: str, ordinal: int, label: object) -> str:
    """Return what an entry's own file would be called; a label that is none leads nobody anywhere."""
    return entry_name(key, ordinal, label if isinstance(label, str) and is_label(label) else "")

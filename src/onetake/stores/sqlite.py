"""Entries in one SQLite file: for batches, where a file for each would be an inode and an fsync for each."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from onetake.errors import StoreError
from onetake.stores.naming import Slot, entry_name, side_digest, slot
from onetake.stores.sqlite_file import SqliteFile

_PLAIN, _ZLIB = 0, 1
_LEVEL = 1
_AT_ONCE = 1000
KEYS_AT_ONCE = 128
"""Keys that `get_all` takes at most."""
_BYTES_AT_ONCE = 8 << 20
_FIRST = (
    "SELECT key, codec, digest, body FROM entry"
    f" WHERE key IN ({', '.join('?' * KEYS_AT_ONCE)}) AND ordinal = 0 AND length(body) < 65536"
)
_NAMES = "SELECT id, key, ordinal FROM entry WHERE id > ? ORDER BY id LIMIT ?"
_SIGN, _WORD = 1 << 63, 1 << 64


class SqliteStore:
    """Keep all entries in one file, committed in groups: what `add` has returned from survives power loss.

    Any number of threads and processes of one machine may share it. A body is stored with its digest, so that one which
    was damaged is told from one that is not there.

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
        rows = self._file.read(
            "SELECT codec, digest, body FROM entry WHERE key = ? AND ordinal = ?", *_id(key, ordinal)
        )
        return _unpacked(rows[0], lambda: self.locate(key, ordinal)) if rows else None

    def get_all(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the bytes of the first entry of each key, at a fraction of the cost of `get`.

        Args:
            keys: 64 lower-case hex digits each; from 1 to `KEYS_AT_ONCE`.

        Returns:
            By key; one that is not in it may still be there: large, or damaged, as `get` will say.
        """
        of_number = {_id(key, 0)[0]: key for key in keys}
        numbers, found, size = [*of_number], dict[str, bytes](), 0
        numbers += numbers[:1] * (KEYS_AT_ONCE - len(numbers))
        for number, *row in self._file.read(_FIRST, *numbers):
            with suppress(StoreError):
                found[of_number[number]] = data = _unpacked(row, lambda: self._place)
                size += len(data)
            if size > _BYTES_AT_ONCE:
                break
        return found

    def add(self, key: str, ordinal: int, data: bytes, label: str = "") -> bool:
        """Create an entry, never over another one; see `Store.add`."""
        return bool(self._file.write(self._put("INSERT OR IGNORE", key, ordinal, data, label)))

    def add_all(self, rows: Iterable[tuple[str, int, bytes, str]]) -> None:
        """Create many entries at a fraction of the cost of `add`, never over others.

        Args:
            rows: Key, ordinal, bytes and label of each; what is there already is left as it is.
        """
        rest = iter(rows)
        while some := [self._put("INSERT OR IGNORE", *row) for row in islice(rest, _AT_ONCE)]:
            self._file.write(_Changes(some))

    def replace(self, key: str, ordinal: int, data: bytes, label: str = "") -> None:
        """Write an entry over the one that is there (or none)."""
        self._file.write(self._put("INSERT OR REPLACE", key, ordinal, data, label))

    def exchange(self, key: str, ordinal: int, was: bytes, data: bytes) -> bool:
        """Write an entry over one that is there, unless that was changed meanwhile; False if it was, or is gone.

        Args:
            key: 64 lower-case hex digits.
            ordinal: 0 or more.
            was: The bytes that it was read with.
            data: The whole entry.
        """
        sql = "UPDATE entry SET codec = ?, digest = ?, body = ? WHERE key = ? AND ordinal = ? AND digest = ?"
        return bool(self._file.write(_Change(sql, (*_packed(data), *_id(key, ordinal), sha256(was).digest()))))

    def delete(self, key: str, ordinal: int) -> bool:
        """Remove an entry; False if there was none."""
        wanted = _id(key, ordinal)
        if not self._file.path.exists():
            return False
        return bool(self._file.write(_Change("DELETE FROM entry WHERE key = ? AND ordinal = ?", wanted)))

    def names(self) -> Iterator[Slot]:
        """List (first 16 hex digits of the key, ordinal) a part at a time, so that memory stays flat."""
        last = 0
        while rows := self._file.read(_NAMES, last, _AT_ONCE):
            yield from ((_hex(number), ordinal) for _, number, ordinal in rows)
            last = rows[-1][0]

    def file_names(self) -> list[str]:
        """List what the entries' own files would be called, sorted."""
        rows = self._file.read("SELECT key, ordinal, label FROM entry")
        return sorted(entry_name(_hex(number), ordinal, label) for number, ordinal, label in rows)

    def ordinals(self, key: str) -> set[int]:
        """Return the ordinals that are stored for a key."""
        rows = self._file.read("SELECT ordinal FROM entry WHERE key = ?", _id(key, 0)[0])
        return {ordinal for (ordinal,) in rows}

    def locate(self, key: str, ordinal: int) -> str:
        """Return where an entry is, or would be: the file, and behind a slash what its own file would be called."""
        name = entry_name(key, ordinal)
        try:
            rows = self._file.read("SELECT label FROM entry WHERE key = ? AND ordinal = ?", *_id(key, ordinal))
        except StoreError:
            rows = []
        return f"{self._place}/{entry_name(key, ordinal, rows[0][0]) if rows else name}"

    def get_side(self, name: str) -> bytes | None:
        """Return a sidecar's bytes, None if there is none; bytes without their digest raise `StoreError`."""
        side_digest(name)
        rows = self._file.read("SELECT codec, digest, body FROM side WHERE name = ?", name)
        return _unpacked(rows[0], lambda: f"{self._place}/{name}") if rows else None

    def add_side(self, name: str, data: bytes) -> None:
        """Keep a sidecar; one that is there stays, unless it is damaged."""
        if side_digest(name) not in (None, sha256(data).hexdigest()):
            raise StoreError(f"{self._place}/{name}: cannot be written: the bytes do not have the digest of the name")
        try:
            if self.get_side(name) is not None:
                return
        except StoreError:
            pass  # the whole one takes its place
        row = (name, *_packed(data))
        self._file.write(_Change("INSERT OR REPLACE INTO side (name, codec, digest, body) VALUES (?, ?, ?, ?)", row))

    def side_names(self) -> Iterable[str]:
        """List the sidecars, sorted."""
        return [name for (name,) in self._file.read("SELECT name FROM side ORDER BY name")]

    def raw(self, key: str, ordinal: int) -> bytes | None:
        """Return what is stored for an entry as it is, damaged or not, compressed or not; None if there is none."""
        rows = self._file.read("SELECT body FROM entry WHERE key = ? AND ordinal = ?", *_id(key, ordinal))
        return bytes(rows[0][0]) if rows else None

    def delete_side(self, name: str) -> bool:
        """Remove a sidecar; False if there was none."""
        return bool(self._file.write(_Change("DELETE FROM side WHERE name = ?", (name,))))

    def verify(self) -> list[str]:
        """Return what SQLite itself finds wrong with the file, a line each; empty where nothing is."""
        rows = [text for (text,) in self._file.read("PRAGMA integrity_check")]
        return [] if rows in ([], ["ok"]) else rows

    def close(self) -> None:
        """Close the file, which is then one file again; what is asked afterwards opens it anew."""
        self._file.close()

    def _put(self, verb: str, key: str, ordinal: int, data: bytes, label: str) -> _Put:
        entry_name(key, ordinal, label)
        sql = f"{verb} INTO entry (key, ordinal, label, codec, digest, body) VALUES (?, ?, ?, ?, ?, ?)"
        return _Put(sql, (*_id(key, ordinal), label), data)


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

    __slots__ = ("_data", "_name", "_sql")

    def __init__(self, sql: str, name: tuple[int, int, str], data: bytes) -> None:
        self._sql, self._name, self._data = sql, name, data

    def __call__(self, connection: sqlite3.Connection) -> int:
        return connection.execute(self._sql, (*self._name, *_packed(self._data))).rowcount


class _Changes:
    """Several statements, in one transaction."""

    __slots__ = ("_some",)

    def __init__(self, some: list[_Put]) -> None:
        self._some = some

    def __call__(self, connection: sqlite3.Connection) -> int:
        return sum(one(connection) for one in self._some)


def _id(key: str, ordinal: int) -> tuple[int, int]:
    """Return what the table finds an entry by: the first 64 bits of its key as SQLite's signed whole number."""
    digits, number = slot(key, ordinal)
    value = int(digits, 16)
    return value - _WORD if value & _SIGN else value, number


def _hex(value: int) -> str:
    return f"{value % _WORD:016x}"


def _packed(data: bytes) -> tuple[int, bytes, bytes]:
    """Return codec, digest and body of what is stored: compressed where that makes it smaller."""
    small = zlib.compress(data, _LEVEL)
    codec, body = (_ZLIB, small) if len(small) < len(data) else (_PLAIN, bytes(data))
    return codec, sha256(data).digest(), body


def _unpacked(row: Sequence[Any], place: Callable[[], str]) -> bytes:
    codec, digest, body = row
    try:
        data = zlib.decompress(body) if codec == _ZLIB else bytes(body)
    except (zlib.error, TypeError, ValueError) as error:
        raise StoreError(f"{place()}: damaged: {error}") from None
    if sha256(data).digest() != digest:
        raise StoreError(f"{place()}: damaged: its bytes do not have the digest that was stored with them")
    return data

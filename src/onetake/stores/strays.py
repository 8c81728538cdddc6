"""What somebody else wrote into a store that is one file: rows that nothing finds, and labels that are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from onetake.stores.naming import is_label, is_side
from onetake.stores.sqlite_file import SqliteFile

NAMED = "typeof(key) = 'integer' AND typeof(ordinal) = 'integer' AND ordinal BETWEEN 0 AND 999999999"
"""Of a row of `entry`: that it can be found. Anybody may write into a file that is shared."""
RAW = "CAST(body AS BLOB)"
"""A body as it is, whatever was put there in its place."""
FIRST_ROW = -(1 << 63)
_AT_ONCE = 1000
_ROWS = f"SELECT id, {NAMED}, label FROM entry WHERE id > ? ORDER BY id LIMIT ?"


@dataclass(frozen=True, slots=True)
class Stray:
    """A row, or the label of one.

    Args:
        table: Its table.
        row: Its `rowid`.
        column: `label`, or `body` where it is the whole row.
        why: What is wrong.
    """

    table: str
    row: int
    column: str
    why: str

    @property
    def name(self) -> str:
        """What a file of its bytes is called."""
        return f"{self.table}-{self.row}.{self.column}"


class Strays:
    """The strays of a store.

    Args:
        path: The file.
        place: What messages call it.
    """

    def __init__(self, path: Path, place: str) -> None:
        self._file = SqliteFile(path, place)

    def all(self) -> Iterator[Stray]:
        """List them.

        Raises:
            StoreError: A table is gone, or cannot be read.
        """
        last = FIRST_ROW
        while rows := self._file.read(_ROWS, last, _AT_ONCE):
            for last, is_named, label in rows:
                if not is_named:
                    yield Stray("entry", last, "body", f"row {last} of its entries has no key or no ordinal")
                elif not (isinstance(label, str) and is_label(label)):
                    yield Stray("entry", last, "label", f"row {last} of its entries has a label that is none")
        for row, name in self._file.read("SELECT rowid, name FROM side ORDER BY rowid"):
            if not (isinstance(name, str) and is_side(name)):
                yield Stray("side", row, "body", f"row {row} of its sidecars has a name that is none of a sidecar")

    def read(self, stray: Stray) -> bytes:
        """Return the bytes that a stray is of."""
        column = RAW if stray.column == "body" else "CAST(label AS BLOB)"
        rows = self._file.read(f"SELECT {column} FROM {stray.table} WHERE rowid = ?", stray.row)
        return rows[0][0] or b"" if rows else b""

    def remove(self, stray: Stray) -> None:
        """Remove a row; or its label, and the entry stays."""
        is_label_alone = stray.column == "label"
        sql = "UPDATE entry SET label = ''" if is_label_alone else f"DELETE FROM {stray.table}"
        self._file.write(lambda connection: connection.execute(f"{sql} WHERE rowid = ?", (stray.row,)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

"""Keys that came by, on disk: a set of ten million would fill the memory."""

from __future__ import annotations

import sqlite3

from onetake.stores.naming import number


class Seen:
    """Several sets of keys, each known by its first 64 bits; a temporary file that nobody else sees.

    Args:
        kinds: What the sets are called.
    """

    def __init__(self, *kinds: str) -> None:
        self._table = sqlite3.connect("", isolation_level=None)
        for kind in kinds:
            self._table.execute(f"CREATE TABLE {kind} (id INTEGER PRIMARY KEY, number INTEGER)")
        self._table.execute("BEGIN")

    def add(self, kind: str, key: str) -> bool:
        """Note a key; False where it came before.

        Args:
            kind: The set.
            key: At least 16 hex digits.
        """
        return self._table.execute(f"INSERT OR IGNORE INTO {kind} (id) VALUES (?)", (number(key),)).rowcount == 1

    def has(self, kind: str, key: str) -> bool:
        """Tell whether a key came by."""
        return self._table.execute(f"SELECT 1 FROM {kind} WHERE id = ?", (number(key),)).fetchone() is not None

    def note(self, kind: str, key: str, value: int) -> None:
        """Note a key and a number with it, in the place of an earlier one."""
        self._table.execute(f"INSERT OR REPLACE INTO {kind} VALUES (?, ?)", (number(key), value))

    def number(self, kind: str, key: str) -> int | None:
        """Return the number that was noted last with a key; None for a key that did not come by."""
        found = self._table.execute(f"SELECT number FROM {kind} WHERE id = ?", (number(key),)).fetchone()
        return found[0] if found else None

    def close(self) -> None:
        """Forget everything."""
        self._table.close()

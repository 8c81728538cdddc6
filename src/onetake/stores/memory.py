"""Entries in the memory of one process: for tests of stores' users, and for sessions that keep nothing."""

from __future__ import annotations

from hashlib import sha256
from threading import Lock

from onetake.errors import StoreError
from onetake.stores.naming import Slot, entry_name, side_digest, slot


class MemoryStore:
    """Keep entries until the process ends; threads may share one.

    Args:
        place: What messages call it.
    """

    def __init__(self, place: str = "memory") -> None:
        self._place = place
        self._entries: dict[Slot, bytes] = {}
        self._sides: dict[str, bytes] = {}
        self._ordinals: dict[str, set[int]] = {}
        self._lock = Lock()

    @property
    def place(self) -> str:
        """What messages call it."""
        return self._place

    def get(self, key: str, ordinal: int) -> bytes | None:
        """Return an entry's bytes, None if there is none."""
        return self._entries.get(slot(key, ordinal))

    def add(self, key: str, ordinal: int, data: bytes, label: str = "") -> bool:
        """Create an entry, never over another one."""
        entry_name(key, ordinal, label)
        with self._lock:
            if slot(key, ordinal) in self._entries:
                return False
            self._put(slot(key, ordinal), data)
        return True

    def replace(self, key: str, ordinal: int, data: bytes, label: str = "") -> None:
        """Write an entry over the one that is there (or none)."""
        entry_name(key, ordinal, label)
        with self._lock:
            self._put(slot(key, ordinal), data)

    def delete(self, key: str, ordinal: int) -> bool:
        """Remove an entry; False if there was none."""
        wanted = slot(key, ordinal)
        with self._lock:
            self._ordinals.get(wanted[0], set()).discard(ordinal)
            return self._entries.pop(wanted, None) is not None

    def names(self) -> list[tuple[str, int]]:
        """List (first 16 hex digits of the key, ordinal)."""
        with self._lock:
            return list(self._entries)

    def ordinals(self, key: str) -> set[int]:
        """Return the ordinals that are stored for a key."""
        wanted, _ = slot(key, 0)
        with self._lock:
            return set(self._ordinals.get(wanted, ()))

    def locate(self, key: str, ordinal: int) -> str:
        """Return where an entry is (or would be), for messages."""
        return f"{self._place}/{entry_name(key, ordinal)}"

    def get_side(self, name: str) -> bytes | None:
        """Return a sidecar's bytes, None if there is none."""
        side_digest(name)
        return self._sides.get(name)

    def add_side(self, name: str, data: bytes) -> None:
        """Keep a sidecar; one that is there stays."""
        if side_digest(name) not in (None, sha256(data).hexdigest()):
            raise StoreError(f"{self._place}/{name}: cannot be written: the bytes do not have the digest of the name")
        with self._lock:
            self._sides.setdefault(name, bytes(data))

    def side_names(self) -> list[str]:
        """List the sidecars."""
        with self._lock:
            return list(self._sides)

    def close(self) -> None:
        """Keep everything: there is nothing to let go of."""

    def _put(self, wanted: Slot, data: bytes) -> None:
        # A copy: the caller's bytearray may change later.
        self._entries[wanted] = bytes(data)
        self._ordinals.setdefault(wanted[0], set()).add(wanted[1])

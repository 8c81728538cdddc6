"""Where entries are kept: a few verbs over bytes.

A store knows nothing of what the bytes mean. Unlike a cache, a failed write is an error and nothing is ever evicted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Store(Protocol):
    """One cassette's entries, by key and ordinal, and the sidecars that they refer to.

    Keys are 64 lower-case hex digits; ordinals are 0 or more. Every verb may raise `StoreError`; none may lose
    committed bytes. What `add` has returned from survives kill -9 and power loss (fsync).
    """

    @property
    def place(self) -> str:
        """Where this store is, for messages: a path as the user wrote it, or a word."""
        ...

    def get(self, key: str, ordinal: int) -> bytes | None:
        """Return the bytes of an entry, None if there is none. Bytes that cannot be read raise `StoreError`."""
        ...

    def add(self, key: str, ordinal: int, data: bytes, label: str = "") -> bool:
        """Create an entry, never over another one.

        Args:
            key: 64 lower-case hex digits.
            ordinal: 0 or more.
            data: The whole entry.
            label: Decoration for the eyes, `[a-z0-9._-]`, at most 40 characters; never used to find an entry.

        Returns:
            True if it was created; False if (key, ordinal) is taken: exactly one of several processes gets True.
        """
        ...

    def replace(self, key: str, ordinal: int, data: bytes, label: str = "") -> None:
        """Write an entry over the one that is there (or none); a reader sees the old or the new, never a mixture."""
        ...

    def delete(self, key: str, ordinal: int) -> bool:
        """Remove an entry; False if there was none."""
        ...

    def names(self) -> Iterable[tuple[str, int]]:
        """List what is there as (at least the first 16 hex digits of the key, ordinal), unordered, without reading."""
        ...

    def stamp(self) -> object:
        """Return a value that differs (`!=`) once another process may have added or removed an entry."""
        ...

    def locate(self, key: str, ordinal: int) -> str:
        """Return where an entry is (or would be), for messages."""
        ...

    def get_side(self, name: str) -> bytes | None:
        """Return a sidecar's bytes, digest checked, None if there is none.

        Args:
            name: `_raw/<64 hex>.<ext>` or `_schemas/<64 hex>.json`; anything else raises `StoreError`.
        """
        ...

    def add_side(self, name: str, data: bytes) -> None:
        """Keep a sidecar; the same name always holds the same bytes, so adding it again changes nothing."""
        ...

    def side_names(self) -> Iterable[str]:
        """List the sidecars, unordered."""
        ...

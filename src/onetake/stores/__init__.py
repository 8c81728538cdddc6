"""Where entries are kept: a few verbs over bytes.

A store knows nothing of what the bytes mean. Unlike a cache, a failed write is an error and nothing is ever evicted.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

FILE = ".db"
"""What the name of a store ends in that is one file."""


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

    def ordinals(self, key: str) -> set[int]:
        """Return the ordinals that are stored for a key; what another process added for a key that had none is seen."""
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

    def close(self) -> None:
        """Let go of what is held open; what is asked afterwards opens it again."""
        ...


class DiskStore(Store, Protocol):
    """A store on disk, whose entries people amend."""

    def exchange(self, key: str, ordinal: int, was: bytes, data: bytes) -> bool:
        """Write an entry over one that is there with the bytes *was*; False if it has others by now, or is gone."""
        ...

    def add_all(self, rows: Iterable[tuple[str, int, bytes, str]]) -> None:
        """Create many entries at a fraction of the cost of `add`, never over others.

        Args:
            rows: Key, ordinal, bytes and label of each; what is there already is left as it is.
        """
        ...

    def replace_all(self, rows: Iterable[tuple[str, int, bytes, str]]) -> None:
        """Write many entries, as `add_all` does, over the ones that are there."""
        ...

    def delete_side(self, name: str) -> bool:
        """Remove a sidecar; False if there was none."""
        ...

    def raw(self, key: str, ordinal: int) -> bytes | None:
        """Return what is stored for an entry as it is, damaged or not, compressed or not; None if there is none."""
        ...

    def raw_side(self, name: str) -> bytes | None:
        """Return what is stored for a sidecar, as `raw` does."""
        ...

    def verify(self) -> list[str]:
        """Return what is wrong with the store as a whole, a line each; of its entries `get` tells."""
        ...


def open_store(path: Path, place: str | None = None) -> DiskStore:
    """Return the store that a path means: one file where it ends in `.db`, else a folder of files.

    Args:
        path: It need not exist; the first add makes it.
        place: What messages call it; the path as given where left out.
    """
    if path.suffix.lower() == FILE and not path.is_dir():
        from onetake.stores.sqlite import SqliteStore  # SQLite is loaded where it is used

        return SqliteStore(path, place)
    from onetake.stores.directory import DirectoryStore

    return DirectoryStore(path, place)

"""Entries as files of one folder: to be read, reviewed, merged and moved with the tools that people have for files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path

from onetake.errors import StoreError
from onetake.stores import files
from onetake.stores.listing import Listing
from onetake.stores.naming import SIDE_FOLDERS, entry_name, is_side, side_digest, slot

_TRIES = 100
_WRITERS = 8
_AT_ONCE = 64
_LARGEST_SIDE = 1 << 30
"""Bytes; a body that was recorded was held in memory, and one that is larger was put there by somebody else."""


class DirectoryStore:
    """Keep each entry in a file of its own: `<label>-<16 hex>[-<ordinal>].json`.

    Files are found by hex and ordinal, whatever stands before. Several threads and processes may use one folder.
    Of two that add one key and ordinal exactly one wins: the folder is locked while the name is looked for and given.
    Where folders cannot be locked (Windows, some network file systems), the name itself decides, so there it must be
    the same in both; it is, because the label is a pure function of the keyed request.

    Args:
        folder: Created by the first add, not before.
        place: What messages call it; the folder as given where left out.
    """

    def __init__(self, folder: Path, place: str | None = None) -> None:
        self._folder = folder.absolute()
        self._folder_text = f"{self._folder}{os.sep}"  # A path is dearer to make than the file to open.
        self._place = str(folder) if place is None else place
        self._listing = Listing(self._folder)

    @property
    def place(self) -> str:
        """The folder as the user wrote it, for messages."""
        return self._place

    def get(self, key: str, ordinal: int) -> bytes | None:
        """Return an entry's bytes, None if there is none; a link, a folder, an unreadable file raise `StoreError`."""
        wanted = slot(key, ordinal)
        name = None
        try:
            for _ in range(_TRIES):
                name = self._listing.find(wanted)
                if name is None:
                    return None
                data = files.read(f"{self._folder_text}{name}")
                if data is not None:
                    return data
                self._listing.forget(wanted)
        except OSError as error:
            raise self._error("cannot be read", name or "", error) from error
        raise StoreError(f"{self.locate(key, ordinal)}: cannot be read: it is renamed all the time")

    def add(self, key: str, ordinal: int, data: bytes, label: str = "") -> bool:
        """Create an entry, never over another one; see `Store.add`."""
        name = entry_name(key, ordinal, label)
        wanted = slot(key, ordinal)
        with self._told("cannot be written", name):
            if self._is_there(self._listing.find(wanted)):
                return False
            with self._temp(data) as temp, self._listing.changing():
                if any(map(self._is_there, self._listing.names_of(wanted))):
                    return False
                if not files.place(temp, self._path(name)):
                    self._listing.forget(wanted)
                    return False
                files.remove(temp)
                self._listing.note(wanted, name)
            files.sync_folder(self._folder)
        return True

    def add_all(self, rows: Iterable[tuple[str, int, bytes, str]]) -> None:
        """Create many entries, some side by side, as each waits for the disk; see `DiskStore.add_all`."""
        _side_by_side(self.add, rows)

    def replace_all(self, rows: Iterable[tuple[str, int, bytes, str]]) -> None:
        """Write many entries, as `add_all` does, over the ones that are there."""
        _side_by_side(self.replace, rows)

    def replace(self, key: str, ordinal: int, data: bytes, label: str = "") -> None:
        """Write an entry over the one that is there (or none); the old one goes when the new one is on disk."""
        name = entry_name(key, ordinal, label)
        wanted = slot(key, ordinal)
        with self._told("cannot be written", name):
            with self._temp(data) as temp, self._listing.changing():
                old = [other for other in self._listing.names_of(wanted) if other != name]
                temp.replace(self._path(name))
                if old:
                    files.sync_folder(self._folder)
                for other in old:
                    files.remove(self._path(other))
                self._listing.note(wanted, name)
            files.sync_folder(self._folder)

    def exchange(self, key: str, ordinal: int, was: bytes, data: bytes) -> bool:
        """Write an entry over one that is there, under the name that it has, unless that was changed meanwhile.

        Args:
            key: 64 lower-case hex digits.
            ordinal: 0 or more.
            was: The bytes that it was read with.
            data: The whole entry.

        Returns:
            False if the file has other bytes by now, or is gone; nothing was written.
        """
        wanted = slot(key, ordinal)
        with self._told("cannot be written", entry_name(key, ordinal)):
            with self._temp(data) as temp, self._listing.changing():
                paths = map(self._path, self._listing.names_of(wanted))
                path = next((one for one in paths if files.read(one) == was), None)
                if path is None:
                    return False
                temp.replace(path)
            files.sync_folder(self._folder)
        return True

    def delete(self, key: str, ordinal: int) -> bool:
        """Remove an entry; False if there was none."""
        wanted = slot(key, ordinal)
        with self._told("cannot be removed", entry_name(key, ordinal)):
            with self._listing.changing():
                removed = [files.remove(self._path(name)) for name in self._listing.names_of(wanted)]
                self._listing.note(wanted, None)
            if any(removed):
                files.sync_folder(self._folder)
        return any(removed)

    def names(self) -> list[tuple[str, int]]:
        """List (first 16 hex digits of the key, ordinal) from the file names alone."""
        with self._told("cannot be listed"), self._listing.steady():
            return self._listing.slots()

    def ordinals(self, key: str) -> set[int]:
        """Return the ordinals that are stored for a key, from the file names alone."""
        digits, _ = slot(key, 0)
        with self._told("cannot be listed"):
            return self._listing.ordinals(digits)

    def locate(self, key: str, ordinal: int) -> str:
        """Return the path of an entry, or the least that its name would be."""
        with suppress(OSError):
            return f"{self._place}/{self._listing.find(slot(key, ordinal)) or entry_name(key, ordinal)}"
        return f"{self._place}/{entry_name(key, ordinal)}"

    def get_side(self, name: str) -> bytes | None:
        """Return a sidecar's bytes, None if there is none.

        Line ends that a tool turned into CRLF are turned back where the digest proves it.

        Raises:
            StoreError: The name is none of a sidecar, or the bytes of a `_raw` one do not have the digest of its name.
        """
        digest = side_digest(name)
        with self._told("cannot be read", name):
            self._refuse_link(name)
            data = files.read(f"{self._folder_text}{name}", _LARGEST_SIDE)
        if data is None or digest is None:
            return data
        for version in (data, data.replace(b"\r\n", b"\n")):
            if sha256(version).hexdigest() == digest:
                return version
        raise StoreError(
            f"{self._place}/{name}: damaged: its bytes do not have the digest of its name; restore it from version"
            " control, or delete the entry and record what is then missing"
        )

    def add_side(self, name: str, data: bytes) -> None:
        """Keep a sidecar, whole or not at all; one that is there stays, unless it is damaged."""
        digest = side_digest(name)
        if digest not in (None, sha256(data).hexdigest()):
            raise StoreError(f"{self._place}/{name}: cannot be written: the bytes do not have the digest of the name")
        if self._has_whole_side(name):
            return
        folder = self._path(name.split("/")[0])
        with self._told("cannot be written", name):
            with self._temp(data) as temp, self._listing.changing():
                files.make_folder(folder)
                # Over whatever is there: any two writers of one sidecar write the same.
                temp.replace(self._path(name))
            files.sync_folder(folder)

    def side_names(self) -> list[str]:
        """List the sidecars."""
        found = []
        for folder in SIDE_FOLDERS:
            with self._told("cannot be listed", folder):
                self._refuse_link(folder)
                with suppress(FileNotFoundError):
                    found += [f"{folder}/{path.name}" for path in self._path(folder).iterdir()]
        return list(filter(is_side, found))

    def delete_side(self, name: str) -> bool:
        """Remove a sidecar; False if there was none."""
        side_digest(name)
        with self._told("cannot be removed", name):
            self._refuse_link(name)
            return files.remove(self._path(name))

    def raw(self, key: str, ordinal: int) -> bytes | None:
        """Return an entry's bytes: they are stored as they are."""
        return self.get(key, ordinal)

    def raw_side(self, name: str) -> bytes | None:
        """Return a sidecar's bytes, whatever their digest."""
        side_digest(name)
        with self._told("cannot be read", name):
            self._refuse_link(name)
            return files.read(f"{self._folder_text}{name}", _LARGEST_SIDE)

    def verify(self) -> list[str]:
        """Return nothing: a folder has no parts besides its files."""
        return []

    def close(self) -> None:
        """Do nothing: no file is held open between two verbs."""

    @contextmanager
    def _temp(self, data: bytes) -> Iterator[Path]:
        """Write a temporary file beside the entries; it is gone afterwards, whatever happens."""
        files.make_folder(self._folder)
        with ExitStack() as writing:
            with self._listing.changing() as alone:
                while self._listing.leftovers:
                    from onetake.stores import leftovers  # nearly never is anything left over

                    leftovers.remove(self._path(self._listing.leftovers.pop()), alone=alone)
                path, descriptor = files.create_temporary(self._folder, writing)
            files.write(descriptor, data)
            yield path

    def _has_whole_side(self, name: str) -> bool:
        try:
            return self.get_side(name) is not None
        except StoreError:
            with self._told("cannot be written", name):
                self._refuse_link(name)
            return False

    def _refuse_link(self, name: str) -> None:
        """Refuse a sidecar whose folder is a link: it could lead anywhere."""
        if self._path(name.split("/")[0]).is_symlink():
            raise OSError("its folder is a symbolic link, and none is followed")

    def _is_there(self, name: str | None) -> bool:
        return name is not None and os.path.lexists(self._path(name))

    def _path(self, name: str) -> Path:
        return self._folder / name

    @contextmanager
    def _told(self, what: str, name: str = "") -> Iterator[None]:
        """Turn an error of the system into ours, which says where and why."""
        try:
            yield
        except OSError as error:
            raise self._error(what, name, error) from error

    def _error(self, what: str, name: str, error: OSError) -> StoreError:
        where = f"{self._place}/{name}" if name else self._place
        return StoreError(f"{where}: {what}: {error.strerror or error}")


def _side_by_side(write: Callable[..., object], rows: Iterable[tuple[str, int, bytes, str]]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    rest = iter(rows)
    with ThreadPoolExecutor(_WRITERS) as pool:
        while some := list(islice(rest, _AT_ONCE)):
            list(pool.map(lambda row: write(*row), some))

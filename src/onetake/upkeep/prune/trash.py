"""The trash, `.onetake/trash/`: what was put away lies there under the path that it had from the settings' folder.

A file is in the trash before it leaves its place, so that whatever stops the move loses nothing: to move it again finds
it there, and ends what was begun.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import count, islice
from pathlib import Path

from onetake.aside import aside, hide
from onetake.errors import FormatError, StoreError
from onetake.format import load_entry
from onetake.model import Entry
from onetake.stores import files, leftovers
from onetake.stores.directory import DirectoryStore
from onetake.stores.naming import parse_name, side_hex
from onetake.upkeep.holding import digests_in

_AT_ONCE = 200
"""Files that are moved while their folder is locked: who records there waits so long."""


@dataclass(frozen=True, slots=True)
class Trashed:
    """One file that lies in the trash.

    Args:
        path: The file.
        size: In bytes.
        at: When it was last written, in seconds since 1970.
    """

    path: Path
    size: int
    at: float


def mark_of(entry: Entry) -> bytes:
    """Return a digest that differs where another answer was written in an entry's place, or a word about it."""
    said = (entry.key, entry.ordinal, entry.verdict, entry.contract, dict(entry.provenance), entry.response.status)
    return sha256(repr(said).encode("utf-8", "surrogatepass") + entry.response.body).digest()


def put_away(root: Path, folder: Path, marks: Mapping[Path, bytes]) -> dict[Path, str]:
    """Move entries to the trash with the sidecars that they name; what lies there already stays.

    Args:
        root: The settings' folder.
        folder: Where the entries lie.
        marks: What each of the files held when it was chosen, as `mark_of` has it.

    Returns:
        The files that stay, and why: they have changed since, or are gone.

    Raises:
        OSError, StoreError: The trash cannot be written, or a file not be removed; nothing is lost.
    """
    place = aside(root, "trash", folder)
    with _told(place):
        return _put_away(folder, _made(root, place), marks)


def _put_away(folder: Path, place: Path, marks: Mapping[Path, bytes]) -> dict[Path, str]:
    moving = _Moving(DirectoryStore(folder), DirectoryStore(place), place)
    left: dict[Path, str] = {}
    waiting = iter(marks.items())
    while some := list(islice(waiting, _AT_ONCE)):
        with files.locked(folder):
            found = {path: moving.copy(path, mark) for path, mark in some}
            files.sync_folder(place)
            for path in (path for path, why in found.items() if not why):
                files.remove(path)
        files.sync_folder(folder)
        left |= {path: why for path, why in found.items() if why}
    return left


class _Moving:
    """The way from one folder into the trash.

    Args:
        store: Of the folder.
        trash: Of its place in the trash.
        place: That place.
    """

    def __init__(self, store: DirectoryStore, trash: DirectoryStore, place: Path) -> None:
        self._store = store
        self._trash = trash
        self._place = place
        self._sides: dict[str, str] = {}
        with suppress(StoreError):  # the folder of the sidecars is a link: what lies behind it is not ours
            self._sides = {side_hex(name): name for name in store.side_names()}

    def copy(self, path: Path, mark: bytes) -> str:
        """Put one entry's file into the trash too; returns why it has to stay where it is, or nothing."""
        try:
            data = files.read(path)
            entry = None if data is None else load_entry(data, self._store.get_side)
        except (OSError, FormatError, StoreError):
            return "it cannot be read any more"
        if data is None or entry is None:
            return "it is gone"
        if mark_of(entry) != mark:
            return "it has changed meanwhile"
        self.copy_bytes(path, data)
        return ""

    def copy_bytes(self, path: Path, data: bytes) -> None:
        """Put a file into the trash too, whatever it holds, with the sidecars that it names."""
        for digest in sorted(digests_in(data) & self._sides.keys()):
            side = None
            with suppress(StoreError):  # damaged: it stays where it is, as nobody can read it anyway
                side = self._store.get_side(self._sides[digest])
            if side is not None:
                self._trash.add_side(self._sides[digest], side)
        _place(path, data, self._place)


def keep_copy(root: Path, path: Path, data: bytes, *, removing: bool) -> bool:
    """Put a file into the trash too, readable or not, with the sidecars that it names.

    Args:
        root: The settings' folder.
        path: The file.
        data: What it held when it was chosen.
        removing: True removes it where it was.

    Returns:
        False if it has changed since, or is gone: nothing was moved.

    Raises:
        OSError, StoreError: The trash cannot be written, or the file not be removed; nothing is lost.
    """
    folder = path.parent
    place = aside(root, "trash", folder)
    with _told(place):
        moving = _Moving(DirectoryStore(folder), DirectoryStore(_made(root, place)), place)
        with files.locked(folder):
            if files.read(path) != data:
                return False
            moving.copy_bytes(path, data)
            files.sync_folder(place)
            if removing:
                files.remove(path)
        files.sync_folder(folder)
    return True


def put_side_away(root: Path, folder: Path, name: str) -> None:
    """Move a sidecar to the trash; the folder has to be locked.

    Args:
        root: The settings' folder.
        folder: Where the entries lie that no longer name it.
        name: `_raw/<64 hex>.<ext>` or `_schemas/<64 hex>.json`.

    Raises:
        OSError, StoreError: It cannot be read, written there, or removed.
    """
    path = folder / name
    with _told(path):
        data = files.read(path)
        if data is None:
            return
        place = _made(root, aside(root, "trash", folder) / name.split("/")[0])
        _place(path, data, place)
        files.sync_folder(place)
        files.remove(path)


def put_left_over_away(root: Path, folder: Path) -> list[Path]:
    """Move what killed processes left in a folder to the trash; returns where it was.

    It gets another name there, as nobody who writes into the trash would leave it under its own.

    Args:
        root: The settings' folder.
        folder: The folder.

    Raises:
        OSError, StoreError: Something cannot be read, written there, or removed.
    """
    gone = []
    with files.locked(folder) as alone:
        for path in leftovers.temporary_in(folder):
            if not leftovers.is_left_over(path, alone=alone):
                continue
            with _told(path):
                place = _made(root, aside(root, "trash", folder))
                _place_as(files.free_name(place / path.name.lstrip(".")), path, files.read(path) or b"")
                files.sync_folder(place)
                files.remove(path)
            gone.append(path)
    return gone


def contents(place: Path) -> Iterator[Trashed]:
    """List the files in a place of the trash and below it; no link is followed."""
    for folder, folders, names in os.walk(place):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for path in (Path(folder, name) for name in sorted([*names, *links])):
            with suppress(OSError):  # another process empties it too
                found = path.lstat()
                yield Trashed(path, found.st_size, found.st_mtime)


def remove(trashed: Iterable[Trashed], root: Path) -> list[Trashed]:
    """Remove files from the trash for good, and the folders that are empty then; returns those that are gone.

    Args:
        trashed: The files.
        root: The settings' folder.

    Raises:
        OSError: One cannot be removed.
    """
    gone = [one for one in trashed if files.remove(one.path)]
    top = root / ".onetake" / "trash"
    for folder in sorted(
        {parent for one in gone for parent in one.path.parents if parent.is_relative_to(top)}, reverse=True
    ):
        with suppress(OSError):  # something lies in it
            folder.rmdir()
    return gone


def is_linked(root: Path, place: Path) -> bool:
    """Tell whether a link lies on the way from a settings folder to a place below it: such a one is not followed.

    Args:
        root: The settings' folder; it may itself be reached by a link.
        place: Below it; it need not exist.
    """
    straight = Path(os.path.realpath(root), place.relative_to(root))
    return os.path.normcase(os.path.realpath(place)) != os.path.normcase(straight)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say of which file an error is that says no name: a disk that is full, say."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def _made(root: Path, place: Path) -> Path:
    if is_linked(root, place):
        raise StoreError(f"{place}: cannot be written: there is a symbolic link on the way, and none is followed")
    hide(root)
    files.make_folder(place)
    return place


def _place(path: Path, data: bytes, place: Path) -> None:
    """Give a file a name in another folder too, its own unless another file has it: then the next ordinal."""
    for name in _names(path.name):
        if _place_as(place / name, path, data):
            return


def _place_as(target: Path, path: Path, data: bytes) -> bool:
    """Give a file another name too; False where another file has that."""
    return _is_placed(path, data, target) or files.read(target) == data


def _is_placed(path: Path, data: bytes, target: Path) -> bool:
    try:
        return files.place(path, target)
    except OSError:
        pass  # the trash lies on another file system, say
    with files.temporary(target.parent, data) as temp:
        return files.place(temp, target)


def _names(name: str) -> Iterator[str]:
    yield name
    ordinal = (parse_name(name) or ("", 0))[1]
    base = name.removesuffix(".json").removesuffix(f"-{ordinal}" if ordinal else "")
    for number in count(ordinal + 1):
        yield f"{base}-{number}.json"

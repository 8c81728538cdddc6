"""Sidecars that no entry names any more: found, and moved to the trash."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from onetake.cassette_files import list_folders
from onetake.errors import StoreError
from onetake.model import Entry
from onetake.stores import files
from onetake.stores.directory import DirectoryStore
from onetake.stores.naming import SIDE_FOLDERS, side_hex
from onetake.upkeep.holding import Holding, digests_in, holding_of
from onetake.upkeep.prune.trash import put_side_away


def holdings_in(start: Path) -> Iterator[Holding]:
    """Yield what each folder at *start* and below it holds of entries and sidecars."""
    for listed in list_folders(start):
        if not listed.why and (holding := holding_of(listed)):
            yield holding


def holding_at(folder: Path) -> Holding | None:
    """Return what one folder holds of entries and sidecars; None where that is nothing, or it cannot be listed."""
    listed = next(list_folders(folder), None)
    return holding_of(listed) if listed and not listed.why else None


def sides_of(folder: Path) -> list[Path]:
    """Return the files of the sidecars in a folder; none where their own folder is a link."""
    with suppress(StoreError):
        return [folder / name for name in DirectoryStore(folder).side_names()]
    return []


Named = Mapping[Path, frozenset[str] | None]
"""By file of an entry: the digests that it names; None for one that cannot be read, and may name any."""


def names_of(entry: Entry | None, data: bytes) -> frozenset[str] | None:
    """Return the digests that a file names, of which the entry is known; None of one that cannot be read."""
    return None if entry is None else frozenset(digests_in(data))


def read_names(holding: Holding) -> dict[Path, frozenset[str] | None]:
    """Return the digests that each entry of a cassette names; where no sidecar lies, none is read."""
    return {held.path: names_of(held.entry, held.data) for held in (holding.read() if holding.sides else ())}


def unnamed(holding: Holding) -> list[str]:
    """Return the sidecars of a cassette that none of its entries names; none where an entry cannot be read."""
    return unnamed_by(holding.sides, read_names(holding))


def unnamed_by(sides: Iterable[str], named: Named, without: Collection[Path] = ()) -> list[str]:
    """Return the sidecars that no entry names; none where an entry cannot be read.

    Args:
        sides: The sidecars of a cassette.
        named: What its entries name.
        without: Files of entries that do not count, as they are about to go.
    """
    found: set[str] = set()
    for path, digests in named.items():
        if path in without:
            continue
        if digests is None:
            return []
        found |= digests
    return [name for name in sides if side_hex(name) not in found]


def sweep(root: Path, folder: Path) -> list[str]:
    """Move the sidecars of a cassette that no entry names to the trash; returns them.

    The folder is locked meanwhile, and what lies there was read before: under the lock only what others have written
    since is. Who is about to add an entry that names one of them looks for it once more when the entry is there, and
    brings it back: see `writing.write`.

    Args:
        root: The settings' folder.
        folder: The cassette's.

    Raises:
        OSError, StoreError: One cannot be moved; it stays.
    """
    read = _read_marked(holding_at(folder), {})
    with files.locked(folder):
        holding = holding_at(folder)
        named = {path: names for path, (_, names) in _read_marked(holding, read).items()}
        found = unnamed_by(holding.sides, named) if holding else []
        for name in found:
            put_side_away(root, folder, name)
        for name in {name.split("/")[0] for name in found} & set(SIDE_FOLDERS):
            with suppress(OSError):  # something else lies in it
                (folder / name).rmdir()
    return found


_Marked = dict[Path, tuple[tuple[int, int, int] | None, frozenset[str] | None]]
"""By file: what tells that it was written anew, and the digests that it names."""


def _read_marked(holding: Holding | None, read: _Marked) -> _Marked:
    """Return what each entry names; only those are read that were not, or were written since."""
    found: _Marked = {}
    for path in holding.paths if holding and holding.sides else ():
        mark = _mark(path)
        before = read.get(path)
        if holding and (before is None or mark is None or before[0] != mark):
            held = holding.held(path)
            before = mark, names_of(held.entry, held.data)
        if before:
            found[path] = before
    return found


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino

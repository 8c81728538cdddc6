"""Sidecars that no entry names any more: found, and moved to the trash."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from onetake.cassette_files import list_folders
from onetake.errors import StoreError
from onetake.stores import files
from onetake.stores.directory import DirectoryStore
from onetake.stores.naming import SIDE_FOLDERS
from onetake.upkeep.holding import Holding, digests_in, holding_of
from onetake.upkeep.trash import put_side_away, side_of


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


def unnamed(holding: Holding, without: Collection[Path] = ()) -> list[str]:
    """Return the sidecars of a cassette that none of its entries names; none where an entry cannot be read.

    Args:
        holding: The cassette.
        without: Files of entries that do not count, as they are about to go.
    """
    named: set[str] = set()
    for held in holding.read() if holding.sides else ():
        if held.path in without:
            continue
        if held.entry is None:
            return []
        named |= digests_in(held.data)
    return [name for name in holding.sides if side_of(name) not in named]


def sweep(root: Path, folder: Path) -> list[str]:
    """Move the sidecars of a cassette that no entry names to the trash; returns them.

    The folder is locked meanwhile. Who is about to add an entry that names one of them looks for it once more when the
    entry is there, and brings it back: see `writing.write`.

    Args:
        root: The settings' folder.
        folder: The cassette's.

    Raises:
        OSError, StoreError: One cannot be moved; it stays.
    """
    with files.locked(folder):
        holding = holding_at(folder)
        found = unnamed(holding) if holding else []
        for name in found:
            put_side_away(root, folder, name)
        for name in {name.split("/")[0] for name in found} & set(SIDE_FOLDERS):
            with suppress(OSError):  # something else lies in it
                (folder / name).rmdir()
    return found

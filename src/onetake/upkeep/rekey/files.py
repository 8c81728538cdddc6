"""Re-keying on disk: a new file is there before the old one goes.

All entries that come to one key are there before any of their old files goes. So what a stopped run left half done
says itself how it ends, whoever comes next.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from onetake.errors import FormatError, StoreError
from onetake.format import dump_entry, load_entry
from onetake.model import Entry
from onetake.stores import files
from onetake.stores.naming import side_digest
from onetake.upkeep.amending import exchange
from onetake.upkeep.holding import digests_in
from onetake.upkeep.prune.sidecars import holding_at, unnamed
from onetake.upkeep.rekey.cassette import CassetteRekeying
from onetake.upkeep.rekey.colliding import Mover
from onetake.upkeep.rekey.found import Left, Rekeying
from onetake.upkeep.rekey.grouping import note
from onetake.writing import looked_over, write

_CHANGED = "another process changed it meanwhile"
_AGAIN = "run it again"


def carry_out(planned: CassetteRekeying, found: Rekeying) -> None:
    """Do what was found for one cassette.

    Args:
        planned: It.
        found: Takes what was done, and what another process was in the way of.

    Raises:
        StoreError: A file cannot be written or removed.
    """
    stale = planned.left_over()
    for groups in planned.rounds:
        done: list[Mover] = []
        for group in groups:
            named = [_written(planned, found, group.key, one, ordinal) for one, ordinal in group.members]
            if None in named:
                continue
            stale |= set().union(*filter(None, named))
            done += [one for one, _ in group.members if one.key != group.key]
            note(group, found)
        # Behind all that is written: a folder that is changed otherwise is listed anew before the next file.
        for one in done:
            if not _removed(one):
                found.left.append(Left(one.path, _CHANGED, _AGAIN))
        if done:
            _sync(planned.holding.folder)
    if stale:
        _sweep(planned, stale)


def _written(planned: CassetteRekeying, found: Rekeying, key: str, mover: Mover, ordinal: int) -> set[str] | None:
    """Write the new file of an entry; returns the digests that only the old one names, None where it was not done."""
    read = planned.read(mover.path, mover.digest)
    if read is None:
        found.left.append(Left(mover.path, _CHANGED, _AGAIN))
        return None
    data, new = read[0], replace(read[1], ordinal=ordinal)
    store = planned.holding.store
    if mover.key == key:
        is_done, why = exchange(store, new, data, *looked_over(new)), _CHANGED
    else:
        is_done, why = write(store, new, {}, over=False), "another process took its new place meanwhile"
    if not (is_done or _is_stored(planned, new)):
        found.left.append(Left(mover.path, why, _AGAIN))
        return None
    return digests_in(data) - digests_in(dump_entry(new)[0]) if planned.holding.sides else set()


def _is_stored(planned: CassetteRekeying, entry: Entry) -> bool:
    """Tell whether an entry lies in its place already: a stopped run, or one beside this one, put it there."""
    store = planned.holding.store
    there = store.get(entry.key, entry.ordinal)
    try:
        return there is not None and dump_entry(load_entry(there, store.get_side)) == dump_entry(entry)
    except FormatError:
        return False


def _removed(mover: Mover) -> bool:
    """Remove the old file of an entry; False where it is another one by now."""
    with _told(mover.path), files.locked(mover.path.parent):
        data = files.read(mover.path)
        if data is not None and sha256(data).digest() != mover.digest:
            return False
        files.remove(mover.path)
        return True


def _sweep(planned: CassetteRekeying, stale: set[str]) -> None:
    """Remove the sidecars that only old files named, which hold what is scrubbed now; none while one is unreadable."""
    folder = planned.holding.folder
    today = holding_at(folder)
    for name in unnamed(today) if today else ():
        if side_digest(name) in stale:
            with _told(folder / name):
                files.remove(folder / name)


def _sync(folder: Path) -> None:
    with _told(folder):
        files.sync_folder(folder)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path.as_posix()}: cannot be removed: {error.strerror or error}") from error

"""What the commit has of an entry, brought back: only what is that entry, whole, and never through a link."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from onetake.aside import place_of
from onetake.errors import FormatError
from onetake.format import load_entry
from onetake.quoting import quoted
from onetake.review.base import Base
from onetake.review.change import Kind
from onetake.review.decided import CHANGED, Decided, in_trash, no, told_path
from onetake.review.reading import Read
from onetake.stores import DiskStore, files, open_store
from onetake.stores.naming import label_in, parse_name, side_hex
from onetake.upkeep.holding import digests_in
from onetake.upkeep.prune.trash import is_linked, keep_copy, put_side_away


def restore(read: Read, base: Base) -> Decided:
    """Let an entry be as the commit has it; what is there now goes to the trash."""
    change = read.change
    before = change.before or change.path
    for path in (before, change.path):
        if is_linked(change.root, path.parent):
            return no(f"{told_path(path.parent, change.root)}: a link is on the way there, and none is followed")
    old = base.read(before)
    if old is None:
        return no(f"git does not give what it was at {base.name}")
    sides = _sides(before, old, base)
    if why := _why_not(before, old, sides):
        words = f"git checkout {quoted(base.name)} -- {quoted(place_of(before.absolute(), change.root))}"
        return no(f"what git has of it is not the entry as it lies in a work tree ({why}): `{words}` brings that back")
    if change.kind is Kind.GONE:
        return _bring_back(before, old, sides, base)
    if change.kind is Kind.MOVED:
        return _move_back(read, old, sides, base)
    return _write_over(read, old, sides, base)


def _why_not(path: Path, data: bytes, sides: dict[str, bytes]) -> str:
    """Say why bytes are not the entry that a file's name says; empty where they are."""
    try:
        entry = load_entry(data, sides.get)
    except (FormatError, RecursionError) as error:
        return str(error) or "nested too deep"
    is_named = (entry.key[:16], entry.ordinal) == parse_name(path.name)
    return "" if is_named else "its name is that of another entry"


def _sides(path: Path, data: bytes, base: Base) -> dict[str, bytes]:
    """Return the sidecars of the commit that an entry of it names."""
    wanted = digests_in(data)
    names = [name for name in base.sides.get(path.parent, ()) if side_hex(name) in wanted]
    return {name: side for name in names if (side := base.read(path.parent / name)) is not None}


def _write_over(read: Read, old: bytes, sides: dict[str, bytes], base: Base) -> Decided:
    change = read.change
    key, ordinal = change.slot
    if not keep_copy(change.root, change.path, read.data, removing=False):
        return no(CHANGED)
    with closing(open_store(change.path.parent)) as store:
        _bring_sides(read, store, sides)
        if not store.exchange(key, ordinal, read.data, old):
            return no(CHANGED)
    where = in_trash(change.root, change.path.parent)
    return Decided(True, f"as at {base.name} again; what was there is in the trash: {where}")


def _bring_back(path: Path, old: bytes, sides: dict[str, bytes], base: Base) -> Decided:
    with closing(open_store(path.parent)) as store:
        for name, side in sides.items():
            store.add_side(name, side)
        slot = parse_name(path.name) or ("", 0)
        if not store.add(*slot, old, label_in(path.name)):
            return no("another entry has taken its place meanwhile")
    return Decided(True, f"brought back as at {base.name}")


def _move_back(read: Read, old: bytes, sides: dict[str, bytes], base: Base) -> Decided:
    """Bring an entry back to where it was; then that of now goes to the trash."""
    change = read.change
    if files.read(change.path) != read.data:
        return no(CHANGED)
    done = _bring_back(change.before or change.path, old, sides, base)
    if not done.is_done:
        return done
    if not keep_copy(change.root, change.path, read.data, removing=True):
        return Decided(True, f"{done.said}; what it was moved to has changed meanwhile, and stays")
    where = in_trash(change.root, change.path.parent)
    return Decided(True, f"{done.said}; what it was moved to is in the trash: {where}")


def _bring_sides(read: Read, store: DiskStore, sides: dict[str, bytes]) -> None:
    """Bring sidecars back that are missing; one that holds something else goes to the trash first."""
    change = read.change
    for name, side in sides.items():
        if name in change.lacks:
            with files.locked(change.path.parent):
                put_side_away(change.root, change.path.parent, name)
        store.add_side(name, side)

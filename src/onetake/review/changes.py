"""What there is to review: entries that differ from a commit, and what waits or was refused under `.onetake/`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from onetake.cassette_files import Listed, list_folders
from onetake.printable import one_line
from onetake.review import marks
from onetake.review.base import Base, base_of, is_pointer_to, is_same
from onetake.review.change import Change, Changes, Kind, Left, mark_of
from onetake.review.waiting import waiting
from onetake.stores import files
from onetake.stores.naming import Slot, parse_name, side_hex
from onetake.upkeep import mends
from onetake.upkeep.holding import digests_in
from onetake.upkeep.neighbours import roots_below
from onetake.upkeep.projects import Projects


def changes(start: Path, against: str | None, projects: Projects) -> Changes:
    """List what there is to review; nothing is changed.

    Args:
        start: A folder, or a store that is one file.
        against: The revision to compare with; None for HEAD.
        projects: Of the start.

    Raises:
        UsageError: Git knows no such commit, or settings are wrong.
    """
    start = start.absolute()
    folder = start if start.is_dir() else start.parent
    made = Changes(start, base_of(folder, against))
    entries = list(_entries(made, projects))
    roots = {*roots_below(start), projects.of(folder).settings.root.absolute()}
    aside = [one for root in sorted(roots) for one in waiting(root, start)]
    made.found = sorted((*entries, *aside), key=_order)
    known = {root: marks.read(root) for root in {one.root for one in made.found}}
    made.found = [replace(one, is_accepted=mark_of(one, made.base) in known[one.root]) for one in made.found]
    return made


def _order(one: Change) -> tuple[str, int, str]:
    return str(one.folder or one.path.parent), list(Kind).index(one.kind), one.path.name


def _entries(made: Changes, projects: Projects) -> Iterator[Change]:
    """Yield what differs from the commit; without one, nothing does."""
    base, there = made.base, []
    for listed in list_folders(made.start):
        if listed.is_one_file:
            git_has = "git keeps it as one file of no text, so what changed in it cannot be compared"
            made.left.append(Left(listed.folder, f"a store in one file: {git_has}; {mends.unpack(listed.folder)}"))
        elif listed.why:
            made.left.append(Left(listed.folder, one_line(listed.why)))
        elif ".git" in (*listed.names, *listed.folders) and not _is_top(listed.folder, base):
            made.left.append(Left(listed.folder, "a repository of its own: review it there"))
        elif not _is_foreign(listed, made.left):
            there += [listed.folder / name for name in listed.names if parse_name(name)]
    if base.top is None or not made.start.is_dir():
        return
    differing = _differing(there, base)
    ignored = base.ignored(one.path for one in differing if one.before is None and not one.why)
    gone = _gone(set(there), base, made.left)
    made.ignored = len(ignored)
    for one in _paired([one for one in differing if one.path not in ignored], gone, base):
        yield replace(one, root=projects.of(one.path.parent).settings.root.absolute())


def _is_top(folder: Path, base: Base) -> bool:
    return base.top is not None and os.path.realpath(folder) == os.path.realpath(base.top)


def _is_foreign(listed: Listed, left: Iterable[Left]) -> bool:
    """Tell whether a folder lies in a repository of its own."""
    return any((one.path / ".git").exists() and listed.folder.is_relative_to(one.path) for one in left)


def _differing(there: Iterable[Path], base: Base) -> list[Change]:
    found = []
    lacking = _Lacking(base)
    for path in there:
        known = base.files.get(path)
        try:
            data, why = files.read(path) or b"", ""
        except OSError as error:
            data, why = b"", f"cannot be read: {error.strerror or error}"
        is_as_before = known is not None and not why and is_same(data, known)
        lacks = lacking.of(path, data) if is_as_before else ()
        if not is_as_before or lacks:
            kind = Kind.RERECORDED if known else Kind.NEW
            digest = "" if why else sha256(data).hexdigest()
            found.append(Change(kind, path, path.parent, path, digest, path if known else None, lacks, why))
    return _without_filtered(found, base)


class _Lacking:
    """Which sidecars that a commit has are missing, or hold something else; each is looked at once."""

    def __init__(self, base: Base) -> None:
        self._base = base
        self._is_whole: dict[Path, bool] = {}

    def of(self, path: Path, data: bytes) -> tuple[str, ...]:
        """Return those that an entry names, which is as it is at the commit."""
        names = self._base.sides.get(path.parent, ())
        named = digests_in(data) if names else ()
        own = (name for name in names if side_hex(name) in named)
        return tuple(sorted(name for name in own if not self._is_there(path.parent, name)))

    def _is_there(self, folder: Path, name: str) -> bool:
        path = folder / name
        if path not in self._is_whole:
            try:
                data = files.read(path)
            except OSError:
                data = None
            self._is_whole[path] = data is not None and (
                is_same(data, self._base.beside[path]) or sha256(data).hexdigest() == side_hex(name)
            )
        return self._is_whole[path]


def _without_filtered(differing: list[Change], base: Base) -> list[Change]:
    """Leave out what is as at the commit, of which git has another form: a pointer of Git LFS, say, or a cipher."""
    filtered = base.filtered(one.path for one in differing if one.before and not one.lacks)
    touched = base.touched(filtered)
    return [one for one in differing if one.path not in filtered or not _is_kept(one, touched, base)]


def _is_kept(one: Change, touched: frozenset[Path], base: Base) -> bool:
    """Tell whether git has just what a file holds, in a form of its own."""
    return one.path not in touched or _is_pointed_to(one, base)


def _is_pointed_to(one: Change, base: Base) -> bool:
    return bool(one.digest) and is_pointer_to(one.digest, base.read(one.path) or b"")


def _gone(there: set[Path], base: Base, left: list[Left]) -> list[Change]:
    apart = [one.path for one in left]
    missing = [path for path in base.files if path not in there and not any(map(path.is_relative_to, apart))]
    away = base.left_out(missing)
    if away:
        many = f"{len(away)} entries" if len(away) > 1 else "1 entry"
        left.append(Left(base.start, f"a sparse checkout leaves {many} out of the work tree"))
    behind = {path: link for path in missing if (link := _link_to(path.parent, base.start))}
    left += [Left(link, "a link is there now, and none is followed") for link in dict.fromkeys(behind.values())]
    return [
        Change(Kind.GONE, path, path.parent, path, before=path)
        for path in missing
        if path not in away and path not in behind
    ]


def _link_to(folder: Path, start: Path) -> Path | None:
    """Return the first link on the way from the start to a folder below it."""
    below = folder.relative_to(start).parts
    ways = (start.joinpath(*below[:many]) for many in range(1, len(below) + 1))
    return next((way for way in ways if way.is_symlink()), None)


def _paired(differing: list[Change], gone: list[Change], base: Base) -> list[Change]:
    """Take an entry for the same one whose file has another decoration now, or lies in another folder."""
    left = {one.path: one for one in gone}
    by_slot: dict[Slot, list[Change]] = {}
    for one in gone:
        by_slot.setdefault(one.slot, []).append(one)
    found = []
    for one in differing:
        alike = [old for old in by_slot.get(one.slot, ()) if old.path in left] if one.kind is Kind.NEW else []
        old = _before(one, alike, base) if alike else None
        if old is None:
            found.append(one)
            continue
        del left[old.path]
        kind = Kind.RERECORDED if old.folder == one.folder else Kind.MOVED
        found.append(replace(one, kind=kind, before=old.before))
    return [*found, *left.values()]


def _before(one: Change, alike: list[Change], base: Base) -> Change | None:
    """Return the entry that is gone and that a new one was, of those that have the same hex in their names.

    In another folder it may be another test's answer to the same request: it is the same one only where it holds the
    same, or where that folder is gone.
    """
    near = [old for old in alike if old.folder == one.folder]
    data = b"" if one.why else files.read(one.path) or b""
    whole = [old for old in alike if is_same(data, base.files[old.path])]
    lost = [old for old in alike if old.folder and not old.folder.exists()]
    return next(iter((*near, *whole, *(lost if len(alike) == 1 else ()))), None)

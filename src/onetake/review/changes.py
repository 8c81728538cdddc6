"""What there is to review: entries that differ from a commit, and what waits or was refused under `.onetake/`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from onetake.aside import aside
from onetake.cassette_files import Listed, list_folders
from onetake.printable import one_line
from onetake.review import marks
from onetake.review.base import Base, base_of, is_pointer_to, is_same
from onetake.stores import files
from onetake.stores.naming import SIDE_FOLDERS, Slot, folder_name, parse_name
from onetake.upkeep import mends
from onetake.upkeep.neighbours import roots_below
from onetake.upkeep.projects import Projects
from onetake.upkeep.prune.trash import is_linked

_ANOTHER_PLACE = re.compile(r"~[1-9][0-9]{0,3}$")
"""What a process adds to the name of a test's place while another one holds that."""
_OUTSIDE = re.compile(r"~[0-9a-f]{16}$")
"""How the place of a cassette ends that lies outside of the settings' folder."""


class Kind(StrEnum):
    """What became of an entry."""

    NEW = "new"
    RERECORDED = "re-recorded"
    GONE = "gone"
    PENDING = "pending"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Change:
    """One entry to be reviewed.

    Args:
        kind: What became of it.
        path: Its file, absolute; of one that is gone where it was.
        folder: The folder of the cassette that it belongs to; of what lies aside the one that it would go into, None
            where that is not told by its place.
        root: The settings' folder, absolute.
        digest: SHA-256 of the bytes that lie there; empty where there are none, or they cannot be read.
        before: The file that the commit has of it; None where it has none.
        why: What keeps its file from being read; else empty.
        is_accepted: Whether a person accepted just this before.
    """

    kind: Kind
    path: Path
    folder: Path | None
    root: Path
    digest: str = ""
    before: Path | None = None
    why: str = ""
    is_accepted: bool = False

    @property
    def slot(self) -> Slot:
        """What its name says."""
        return parse_name(self.path.name) or ("", 0)


@dataclass(frozen=True, slots=True)
class Left:
    """What is not reviewed, and why."""

    path: Path
    why: str


@dataclass(slots=True)
class Changes:
    """All that there is to review below a folder.

    Args:
        start: The folder, absolute.
        base: What is compared with.
        found: The changes: cassette after cassette.
        left: What is not reviewed.
        ignored: Entries that git is told to ignore, and that no commit has: they are never committed.
    """

    start: Path
    base: Base
    found: list[Change] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    ignored: int = 0


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
    waiting = [one for root in sorted(roots) for one in _waiting(root, start)]
    made.found = sorted((*entries, *waiting), key=_order)
    known = {root: marks.read(root) for root in {one.root for one in made.found}}
    made.found = [replace(one, is_accepted=mark_of(one, made.base) in known[one.root]) for one in made.found]
    return made


def mark_of(change: Change, base: Base) -> str:
    """Return what an acceptance is noted by: which file it was, and what was in it, or in the one that is gone."""
    if change.kind is Kind.GONE and change.before:
        return mark_at(change.path, change.root, f"gone {base.files[change.before]}")
    return mark_at(change.path, change.root, change.digest)


def mark_at(path: Path, root: Path, content: str) -> str:
    """Return what the acceptance of a file is noted by.

    Args:
        path: It.
        root: The settings' folder.
        content: SHA-256 of its bytes, as hex digits.
    """
    place = os.path.relpath(path, root)
    return sha256(f"{place}\0{content}".encode("utf-8", "surrogateescape")).hexdigest()


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
    ignored = base.ignored(one.path for one in differing if one.before is None)
    gone = _gone(set(there), base, made.left)
    made.ignored = len(ignored)
    for one in _paired([one for one in differing if one.path not in ignored], gone):
        yield replace(one, root=projects.of(one.path.parent).settings.root.absolute())


def _is_top(folder: Path, base: Base) -> bool:
    return base.top is not None and os.path.realpath(folder) == os.path.realpath(base.top)


def _is_foreign(listed: Listed, left: Iterable[Left]) -> bool:
    """Tell whether a folder lies in a repository of its own."""
    return any((one.path / ".git").exists() and listed.folder.is_relative_to(one.path) for one in left)


def _differing(there: Iterable[Path], base: Base) -> list[Change]:
    found = []
    for path in there:
        known = base.files.get(path)
        try:
            data, why = files.read(path) or b"", ""
        except OSError as error:
            data, why = b"", f"cannot be read: {error.strerror or error}"
        if why or known is None or not is_same(data, known):
            kind = Kind.RERECORDED if known else Kind.NEW
            digest = "" if why else sha256(data).hexdigest()
            found.append(Change(kind, path, path.parent, path, digest, path if known else None, why))
    return _without_pointers(found, base)


def _without_pointers(differing: list[Change], base: Base) -> list[Change]:
    """Leave out what is as at the commit, of which git has but a pointer."""
    pointed = base.in_lfs(one.path for one in differing if one.before)
    return [one for one in differing if one.path not in pointed or not _is_pointed_to(one, base)]


def _is_pointed_to(one: Change, base: Base) -> bool:
    return bool(one.digest) and is_pointer_to(one.digest, base.read(one.path) or b"")


def _gone(there: set[Path], base: Base, left: Iterable[Left]) -> list[Change]:
    return [
        Change(Kind.GONE, path, path.parent, path, before=path)
        for path in base.files
        if path not in there and not any(path.is_relative_to(one.path) for one in left)
    ]


def _paired(differing: list[Change], gone: list[Change]) -> list[Change]:
    """Take an entry whose file has another decoration now for the same one: it is found by its hex."""
    by_slot = {(one.folder, one.slot): one for one in gone}
    found = []
    for one in differing:
        old = by_slot.pop((one.folder, one.slot), None) if one.kind is Kind.NEW else None
        found.append(replace(one, kind=Kind.RERECORDED, before=old.before) if old else one)
    kept = {one.path for one in by_slot.values()}
    return [*found, *(one for one in gone if one.path in kept)]


def _waiting(root: Path, start: Path) -> Iterator[Change]:
    """Yield what lies under `.onetake/` for the cassettes at the start and below it."""
    is_whole = start == root or not start.is_relative_to(root)
    for kind, name in ((Kind.PENDING, "pending"), (Kind.REJECT, "rejects")):
        top = root / ".onetake" / name
        place = top if is_whole else aside(root, name, start)
        if not place.is_dir() or is_linked(root, place):
            continue
        for folder, folders, names in os.walk(place):
            folders[:] = sorted(one for one in folders if one not in SIDE_FOLDERS)
            for each in sorted(filter(parse_name, names)):
                yield _one_aside(kind, Path(folder, each), top, root)


def _one_aside(kind: Kind, path: Path, top: Path, root: Path) -> Change:
    try:
        data, why = files.read(path) or b"", ""
    except OSError as error:
        data, why = b"", f"cannot be read: {error.strerror or error}"
    folder = cassette_of(path.parent.relative_to(top), root, _test_in(data))
    return Change(kind, path, folder, root, "" if why else sha256(data).hexdigest(), why=why)


def cassette_of(place: Path, root: Path, test: str) -> Path | None:
    """Return the folder of the cassette that a place under `.onetake/pending` or `rejects` belongs to.

    Args:
        place: The place, from there.
        root: The settings' folder.
        test: The id of the test that recorded what lies there: tests that share a cassette have a part of it each.

    Returns:
        None for a cassette outside of the settings' folder: its place says no path.
    """
    name = _ANOTHER_PLACE.sub("", place.name)
    if not name or (test and folder_name(test) in (name, place.name)):
        place = place.parent
    is_outside = _OUTSIDE.search(place.parts[0]) if place.parts else True
    return None if is_outside else root / place


def _test_in(data: bytes) -> str:
    """Return the test that an entry's file names; empty where it names none, or is no entry."""
    try:
        test = json.loads(data)["provenance"]["test"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return ""
    return test if isinstance(test, str) else ""

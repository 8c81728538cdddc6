"""One change among entries: what became of which file, and what an acceptance of it is noted by."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from onetake.review.base import Base
from onetake.stores.naming import Slot, parse_name


class Kind(StrEnum):
    """What became of an entry."""

    NEW = "new"
    RERECORDED = "re-recorded"
    MOVED = "moved"
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
        lacks: The sidecars of it that the commit has, and that are missing here or hold something else.
        why: What keeps its file from being read; else empty.
        is_accepted: Whether a person accepted just this before.
    """

    kind: Kind
    path: Path
    folder: Path | None
    root: Path
    digest: str = ""
    before: Path | None = None
    lacks: tuple[str, ...] = ()
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


def mark_of(change: Change, base: Base) -> str:
    """Return what an acceptance is noted by: which file it was, and what was in it, or in the one that is gone."""
    if change.kind is Kind.GONE and change.before:
        return mark_at(change.path, change.root, f"gone {base.files[change.before]}")
    return mark_at(change.path, change.root, "\0".join((change.digest, *change.lacks)))


def mark_at(path: Path, root: Path, content: str) -> str:
    """Return what the acceptance of a file is noted by.

    Args:
        path: It.
        root: The settings' folder.
        content: SHA-256 of its bytes, as hex digits.
    """
    place = os.path.relpath(path, root)
    return sha256(f"{place}\0{content}".encode("utf-8", "surrogateescape")).hexdigest()

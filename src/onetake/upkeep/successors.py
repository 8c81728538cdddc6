"""An entry that no test asks for any more, and what is asked for in its place."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from onetake.compare import Difference, differences
from onetake.printable import one_line, spelled
from onetake.upkeep.adopt.changes import changes
from onetake.upkeep.adopt.nearness import Asked
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.limits import SECONDS, TookTooLongError, at_most

_DIFFERENCES = 20
_TOLD = 5
"""Differences that the message names."""


@dataclass(frozen=True, slots=True)
class Successor:
    """What is asked for in an orphan's place.

    Args:
        key: Its key.
        ordinal: 0 or more.
        path: Its file; None where it is not stored: a run asked for it in vain.
        changed: What changed, in words: `the prompt changed`, `field seed added`; see `changes`.
        differences: What is asked now (`asked`) against what the orphan holds (`stored`), at most 20.
    """

    key: str
    ordinal: int
    path: Path | None
    changed: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def lines(self) -> list[str]:
        """What changed, and the first places of it."""
        more = len(self.differences) - _TOLD
        places = [*map(_line, self.differences[:_TOLD]), *([f"and {more} more places"] if more > 0 else [])]
        return (
            [", ".join(self.changed), *places] if self.changed else ["only its number among identical requests changed"]
        )


@dataclass(frozen=True, slots=True)
class Orphan:
    """An entry that no test asks for any more.

    Args:
        path: Its file.
        successor: What is asked for in its place, where that is known.
        is_unused: Whether a run of all tests left it without use, so that a prune may take it; else a test alone did
            not ask for it.
        is_superseded: Whether it is unused, and another one is used in its place: a newer one of the same test, or one
            that was adopted from it.
        finding: What the check says of it.
    """

    path: Path
    successor: Successor | None
    is_unused: bool
    is_superseded: bool
    finding: Finding


def orphan_of(old: Asked, new: Asked | None, why: tuple[str, ...], mend: str) -> Orphan:
    """Return an orphan, and what is asked for in its place.

    Args:
        old: What it holds.
        new: What is asked for now; None where nobody knows.
        why: The lines that say why it is one.
        mend: What to do.
    """
    path = old.path or Path()
    found: tuple[Difference, ...] = ()
    with suppress(TookTooLongError), at_most(SECONDS):
        found = tuple(differences(new.parts(), old.parts(), _DIFFERENCES)) if new else ()
    if new is None:
        return Orphan(path, None, False, False, finding(Code.ORPHAN, path, "\n".join(why), mend))
    place = f" ({spelled(new.path.name)}) took its place" if new.path else " is asked for now, and is not stored"
    successor = Successor(new.key, new.ordinal, new.path, changes(found), found)
    message = "\n".join([*why, f"{new.key[:16]}{place}", *successor.lines])
    return Orphan(path, successor, False, False, finding(Code.ORPHAN, path, message, mend))


def _line(one: Difference) -> str:
    path = one_line(one.path, 160)
    if one.kind == "order":
        return f"{path}: only the order differs"
    return f"{path}: was {one.stored or 'absent'}, is {one.asked or 'absent'}"

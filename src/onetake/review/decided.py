"""What became of a decision, told; and what keeps one from being done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from onetake import placing
from onetake.aside import aside, place_of
from onetake.errors import FormatError, StoreError, UsageError
from onetake.making import is_being_made
from onetake.printable import one_line, spelled
from onetake.review.reading import Read
from onetake.writing import SecretLeftError

CHANGED = "it has changed since it was shown: look at it again"


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of a decision.

    Args:
        is_done: Whether it was done; else nothing was changed.
        said: What was done, or why it was not: one sentence without its full stop.
    """

    is_done: bool
    said: str


def no(why: str) -> Decided:
    """Say that a decision was not done."""
    return Decided(False, one_line(why, 600))


def told(decide: Callable[..., Decided]) -> Callable[..., Decided]:
    """Let a decision that cannot be done say so, and stop nothing."""

    @wraps(decide)
    def tell(read: Read, *others: Any) -> Decided:
        try:
            return decide(read, *others)
        except SecretLeftError as error:
            kinds = ", ".join(sorted({one.kind for one in error.args[0]}))
            return no(f"it holds a secret that cannot be scrubbed ({kinds}), so it is not written")
        except (StoreError, FormatError, UsageError, OSError) as error:
            return no(read.project.scrubber(()).begin().text(str(error)))

    return tell


def is_anyone_at_work(root: Path) -> bool:
    """Tell whether a test, or a session outside of tests, records in a project."""
    return placing.is_anyone_there(root) or placing.is_recorded_outside(root)


def busy(read: Read) -> Decided | None:
    """Refuse to touch entries beside a session that records; None where none does."""
    change = read.change
    if is_anyone_at_work(change.root):
        who = "a test, or another session, that records is at work here"
        return no(f"{who}, and may be about to use it: try again when it has ended")
    if is_being_made(change.root, change.folder or change.path.parent):
        return no("its cassette is being made: try again when what records it has ended, or has been run again")
    return None


def in_trash(root: Path, folder: Path) -> str:
    """Return the place in the trash of what lay in a folder, to be told."""
    return told_path(aside(root, "trash", folder), root)


def told_path(path: Path, root: Path) -> str:
    """Return a path from the settings' folder, to be told."""
    return spelled(place_of(path.absolute(), root))

"""Temporary files that a killed process left behind: told from those of processes that are at work, and removed."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from onetake.stores import files

_UNKNOWN_S = 3600
"""Seconds after which a file is left over where no lock tells whether its writer lives."""
_CLAIMED_S = 10
"""Seconds after which a file that a living process makes is claimed by it, where the folder's lock does not tell."""


def left_over(folder: Path) -> list[Path]:
    """Return the temporary files in a folder whose writers are dead, sorted; none where it cannot be listed.

    What cannot be known is not told: of a writer that may live nothing is returned.
    """
    if not temporary_in(folder):
        return []
    with files.locked(folder) as alone:
        return [path for path in temporary_in(folder) if is_left_over(path, alone=alone)]


def sweep(folder: Path) -> list[Path]:
    """Remove the temporary files in a folder whose writers are dead; returns those that are gone."""
    if not temporary_in(folder):
        return []
    with files.locked(folder) as alone:
        return [path for path in temporary_in(folder) if remove(path, alone=alone)]


def remove(path: Path, *, alone: bool) -> bool:
    """Remove a temporary file if its writer is dead; False if it stays, or was gone.

    Args:
        path: It.
        alone: As for `is_left_over`.
    """
    with suppress(OSError):  # another process sweeps too, or it is not ours to remove: it is in nobody's way
        return is_left_over(path, alone=alone) and files.remove(path)
    return False


def is_left_over(path: Path, *, alone: bool) -> bool:
    """Tell whether the writer of a temporary file is dead; False where that cannot be known, or there is no such file.

    Args:
        path: It.
        alone: Whether the lock of its folder is held. A file is claimed before its writer lets go of that lock.
    """
    try:
        found = path.lstat()
        lives = files.writer_lives(path) if stat.S_ISREG(found.st_mode) else True
    except OSError:
        return False
    age = time.time() - found.st_mtime
    if lives is None:
        return age > _UNKNOWN_S
    return not lives and (alone or age > _CLAIMED_S)


def temporary_in(folder: Path) -> list[Path]:
    """Return the temporary files in a folder, sorted, whoever made them; none where it cannot be listed."""
    try:
        with os.scandir(folder) as found:
            names = sorted(item.name for item in found if files.is_temporary(item.name))
    except OSError:
        return []
    return [folder / name for name in names]

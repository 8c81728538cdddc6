"""Where the search for settings starts, where that is not the program's main file."""

from __future__ import annotations

from pathlib import Path

_start: Path | None = None


def set_start(path: Path | None) -> Path | None:
    """Set where the search for settings starts, if that is not the program's main file; returns what was set before.

    It holds for the whole process: pytest runs one test at a time, in threads and tasks of many contexts.
    """
    global _start
    before, _start = _start, path
    return before


def told_start() -> Path | None:
    """Return what was set; None where nothing was."""
    return _start

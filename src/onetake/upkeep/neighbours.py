"""The runs on record of one settings folder, and those of others whose tests may use what lies below it."""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property
from pathlib import Path

from onetake import git, settings_files
from onetake.cassette_files import list_folders
from onetake.upkeep.runs import Runs


class Neighbours:
    """The settings folders around a folder.

    Args:
        start: The folder.
        roots: The folders in it, and below it, that hold `.onetake/`.
    """

    def __init__(self, start: Path, roots: Set[Path]) -> None:
        self._start = start.absolute()
        self._roots = roots
        self._runs: dict[Path, Runs] = {}

    def runs(self, root: Path) -> Runs:
        """Return the runs on record of a settings folder, read once."""
        if root not in self._runs:
            self._runs[root] = Runs(root)
        return self._runs[root]

    def others(self, root: Path) -> tuple[Runs, ...]:
        """Return the runs of every other settings folder whose tests may use what lies below one.

        These are the folders below the start, those above it, and those that the repository has.
        """
        around = {*self._roots, *self._start.parents, *self._of_repository}
        mine = self.runs(root).root
        found = {runs.root: runs for one in around if _has_runs(one) and (runs := self.runs(one)).root != mine}
        return tuple(runs for _, runs in sorted(found.items()))

    @cached_property
    def _of_repository(self) -> set[Path]:
        top = git.top(self._start)
        names = (git.ask(top, "ls-files", "-z") if top else None) or b""
        files = (Path(top, name.decode("utf-8", "surrogateescape")) for name in names.split(b"\0") if top and name)
        return {file.parent for file in files if file.name in settings_files.NAMES}


def roots_below(start: Path) -> set[Path]:
    """Return the folders in a folder, and below it, that hold `.onetake/`."""
    return {listed.folder.absolute() for listed in list_folders(start) if ".onetake" in listed.folders}


def _has_runs(root: Path) -> bool:
    return (root / ".onetake" / "usage").is_dir()

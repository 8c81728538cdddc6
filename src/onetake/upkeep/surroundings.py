"""What lies around cassettes: the settings folders that have something under `.onetake/`, and folders with sidecars."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from onetake import git
from onetake.aside import aside
from onetake.cassette_files import list_folders
from onetake.stores.naming import SIDE_FOLDERS
from onetake.upkeep.runs import Runs
from onetake.upkeep.trash import is_linked

_SETTINGS = ("onetake.toml", "pyproject.toml")


class Surroundings:
    """What is known of a folder by the names in it, and around it.

    Args:
        start: The folder.
    """

    def __init__(self, start: Path) -> None:
        self._start = start.absolute()
        self._runs: dict[Path, Runs] = {}
        self.roots: set[Path] = set()
        """The folders in it, and below it, that hold `.onetake/`; to be added to."""
        self.sided: dict[Path, Path | None] = {}
        """Folders that hold sidecars, with the settings' folder where that is known; to be added to."""
        for listed in list_folders(start):
            if ".onetake" in listed.folders:
                self.roots.add(listed.folder.absolute())
            if not set(SIDE_FOLDERS).isdisjoint(listed.folders):
                self.sided[listed.folder] = None

    def runs(self, root: Path) -> Runs:
        """Return the runs on record of a settings folder, read once."""
        if root not in self._runs:
            self._runs[root] = Runs(root)
        return self._runs[root]

    def others(self, root: Path) -> tuple[Runs, ...]:
        """Return the runs of every other settings folder whose tests may use what lies below one.

        These are the folders below the start, those above it, and those that the repository has.
        """
        around = {*self.roots, *self._start.parents, *self._of_repository}
        mine = self.runs(root).root
        found = {runs.root: runs for one in around if _has_runs(one) and (runs := self.runs(one)).root != mine}
        return tuple(runs for _, runs in sorted(found.items()))

    def is_whole(self, root: Path) -> bool:
        """Tell whether all that lies below a settings folder lies below the start."""
        return self._start == root or not self._start.is_relative_to(root)

    def places(self, root: Path, kind: str) -> list[Path]:
        """Return where things of one kind lie that belong to the start: all of a settings folder in it or below it.

        Args:
            root: The settings' folder.
            kind: `trash` or `rejects`.
        """
        if self.is_whole(root):
            found = [root / ".onetake" / kind]
        elif kind == "trash":
            found = [aside(root, kind, one) for one in (self._start, aside(root, "rejects", self._start))]
        else:
            found = [aside(root, kind, self._start)]
        return [place for place in found if place.is_dir() and not is_linked(root, place)]

    @cached_property
    def _of_repository(self) -> set[Path]:
        top = git.line(self._start, "rev-parse", "--show-toplevel")
        names = (git.ask(Path(top), "ls-files", "-z") if top else None) or b""
        files = (Path(top, name.decode("utf-8", "surrogateescape")) for name in names.split(b"\0") if name)
        return {file.parent for file in files if file.name in _SETTINGS}


def _has_runs(root: Path) -> bool:
    return (root / ".onetake" / "usage").is_dir()

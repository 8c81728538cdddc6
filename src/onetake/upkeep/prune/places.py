"""What lies around cassettes: the settings folders that have something under `.onetake/`, and folders with sidecars."""

from __future__ import annotations

from pathlib import Path

from onetake.aside import aside
from onetake.cassette_files import list_folders
from onetake.stores import files, leftovers
from onetake.stores.naming import SIDE_FOLDERS
from onetake.upkeep.neighbours import Neighbours
from onetake.upkeep.prune.trash import is_linked


class Places:
    """What is known of a folder by the names in it, and around it.

    Args:
        start: The folder.
    """

    def __init__(self, start: Path) -> None:
        self._start = start.absolute()
        self.roots: set[Path] = set()
        """The folders in it, and below it, that hold `.onetake/`; to be added to."""
        self.sided: dict[Path, Path | None] = {}
        """Folders that hold sidecars, with the settings' folder where that is known; to be added to."""
        self.left_over: dict[Path, list[Path]] = {}
        """What killed processes left in a folder, where they did."""
        for listed in list_folders(start):
            if left := any(map(files.is_temporary, listed.names)) and leftovers.left_over(listed.folder):
                self.left_over[listed.folder] = left
            if ".onetake" in listed.folders:
                self.roots.add(listed.folder.absolute())
            if not listed.is_one_file and not set(SIDE_FOLDERS).isdisjoint(listed.folders):
                self.sided[listed.folder] = None
        self.neighbours = Neighbours(start, self.roots)
        """The runs on record of these folders, and of those above."""

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

    def rejects(self) -> list[Path]:
        """Return where the rejects lie that belong to the start, of all settings folders."""
        return [place for root in sorted(self.roots) for place in self.places(root, "rejects")]

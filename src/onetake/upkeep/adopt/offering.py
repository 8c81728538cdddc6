"""Whether `adopt` would give stored answers to what was missed, for those who offer it before it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from onetake.cassette_files import read_entry
from onetake.missed import Missed
from onetake.model import Entry
from onetake.upkeep.adopt.allowing import may_be_taken
from onetake.upkeep.adopt.nearness import Asked
from onetake.upkeep.adopt.regating import Regate
from onetake.upkeep.projects import Project, Projects


class Offers:
    """What may be offered below one settings folder.

    Args:
        root: The settings' folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self._regates: dict[Path, Regate] = {}

    def takes(self, found: Sequence[Asked], new: Asked, missed: Missed) -> bool:
        """Tell whether the answers to a stored request may stay: by what the requests say, and by the contract.

        Args:
            found: The stored request, once for each of its answers.
            new: What was missed.
            missed: The same, with the contracts that were in force.
        """
        if not found or not may_be_taken(found[0], new):
            return False
        read = [(one.path, read_entry(one.path)) for one in found if one.path]
        files = [(path, entry) for path, entry in read if isinstance(entry, Entry)]
        folder = missed.folder
        if folder not in self._regates:
            self._regates[folder] = Regate(self._project, folder)
        return not self._regates[folder].refusal(files, missed.request, missed.contracts)

    @cached_property
    def _project(self) -> Project:
        """The settings, as `adopt` reads them: it imports nothing."""
        return Projects(self._root, importing=False).of(self._root)

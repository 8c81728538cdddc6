"""Which words of the settings' `pinned` name something below a folder, whatever is to be pruned of it."""

from __future__ import annotations

from pathlib import Path

from onetake.pins import Pins
from onetake.settings import Settings
from onetake.upkeep.projects import Projects
from onetake.upkeep.prune.places import Places
from onetake.upkeep.prune.sidecars import holdings_in


class PinsBelow:
    """The setting `pinned` of each project that counts for a folder.

    Args:
        around: What lies around the folder.
        projects: Gives the settings.
    """

    def __init__(self, around: Places, projects: Projects) -> None:
        self._around = around
        self._projects = projects
        self._pins: dict[Path, Pins] = {}

    def of(self, settings: Settings) -> Pins:
        """Return what settings pin; what it was asked about counts as named, see `unmatched`."""
        return self._pins.setdefault(settings.root, Pins(settings.root, settings.pinned))

    def at(self, folder: Path) -> Pins:
        """Return what the settings of a folder pin."""
        return self.of(self._projects.of(folder.absolute()).settings)

    def unmatched(self, start: Path | None) -> dict[Path, list[str]]:
        """Return the words that name no entry and no reject, by settings folder; of whole projects alone.

        Args:
            start: Where entries lie that no pin was asked about yet; None where all were.
        """
        for root in self._around.roots:
            self.at(root)
        if self._words():
            self._ask(self._around.rejects())
        if start is not None and self._words():
            self._ask([start])
        return self._words()

    def _ask(self, places: list[Path]) -> None:
        for holding in (one for place in places for one in holdings_in(place)):
            for path in holding.paths:
                pins = self.at(holding.folder)
                if pins.unmatched:
                    pins.word(path, holding.held(path).entry)

    def _words(self) -> dict[Path, list[str]]:
        found = {root: pins.unmatched for root, pins in self._pins.items() if self._around.is_whole(root)}
        return {root: words for root, words in found.items() if words}

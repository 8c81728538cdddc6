"""What keeps an entry from being pruned, whatever reason there is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from onetake.aside import place_of
from onetake.making import is_being_made
from onetake.model import Entry
from onetake.pins import Pins
from onetake.upkeep.runs import Runs

_MADE = "its cassette is being made, or the run that made it was killed: it is made once such a run ends well"


class Sparing:
    """What keeps the entries below one settings folder.

    Args:
        root: The settings' folder.
        pins: What its settings pin.
        others: Gives the runs of other settings folders, whose tests may use its entries; called once, if at all.
    """

    def __init__(self, root: Path, pins: Pins, others: Callable[[], tuple[Runs, ...]]) -> None:
        self.pins = pins
        self._root = root
        self._give_others = others
        self._is_made: dict[Path, bool] = {}

    def why(self, path: Path, entry: Entry) -> str:
        """Say what keeps an entry; empty where nothing does.

        Args:
            path: Its file, in the folder of its cassette.
            entry: What it holds.
        """
        folder = path.parent
        if pinned := self.pins.why(path, entry):
            return pinned
        if folder not in self._is_made:
            self._is_made[folder] = is_being_made(self._root, folder)
        return _MADE if self._is_made[folder] else self._shared(folder, entry)

    def _shared(self, folder: Path, entry: Entry) -> str:
        for other in self._others:
            place = place_of(other.root, self._root)
            if (entry.key[:16], entry.ordinal) in other.used(folder):
                return f"shared: a run of the tests of {place} used it"
            if not other.is_known(folder):
                return f"shared: a run of the tests of {place} may have used it"
        return ""

    @cached_property
    def _others(self) -> tuple[Runs, ...]:
        return self._give_others()

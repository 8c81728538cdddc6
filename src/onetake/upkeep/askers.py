"""Which test asks for an entry today: who recorded it may have another name by now."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from onetake.aside import place_of
from onetake.stores.naming import folder_name, parse_name
from onetake.usage import CassetteUsage, ledgers_in, read_run


def asker(path: Path, recorded: object) -> object:
    """Return the test that used an entry last, by the usage ledgers of its project.

    Args:
        path: The entry's file.
        recorded: The test that recorded it; anything else where none did.

    Returns:
        Of several that did in the same run the one that recorded it, else the first by name. Where no run on record
        knows of one, the test whose own folder the cassette is, as the last run that opened it says; else *recorded*.
    """
    slot = parse_name(path.name)
    folder = os.path.realpath(path.parent)
    ledgers = _around(folder)
    if slot is None or ledgers is None:
        return recorded
    for usage in ledgers.of(folder):
        if users := sorted(test for test, slots in usage.tests.items() if slot in slots):
            return recorded if recorded in users else users[0]
        if own := [test for test in usage.tests if _is_own(test, folder)]:
            return own[0]
    return recorded


class _Ledgers:
    """The usage ledgers of one settings folder, each read when it is first needed, the newest first."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)
        self._left = ledgers_in(self._root)[::-1]
        self._runs: list[dict[str, CassetteUsage]] = []
        self._places: dict[str, str] = {}

    def of(self, folder: str) -> Iterator[CassetteUsage]:
        """Yield what the runs on record did with a cassette, the newest first."""
        if folder not in self._places:
            self._places[folder] = place_of(Path(folder), self._root)
        place, number = self._places[folder], 0
        while number < len(self._runs) or self._left:
            if number == len(self._runs):
                run = read_run(self._left.pop())
                self._runs.append({} if run is None else dict(run.cassettes))
            if found := self._runs[number].get(place):
                yield found
            number += 1


def _around(folder: str) -> _Ledgers | None:
    """Return the ledgers of the settings folder nearest above a cassette that has any; None where there is none."""
    at = folder
    while True:
        try:
            return _ledgers(at, frozenset(os.listdir(os.path.join(at, ".onetake", "usage"))))  # noqa: PTH118, PTH208
        except OSError:
            above = os.path.dirname(at)  # noqa: PTH120  ten thousand entries ask this
        if above == at:
            return None
        at = above


@lru_cache(maxsize=4)
def _ledgers(root: str, names: frozenset[str]) -> _Ledgers:
    """Return the ledgers of a settings folder, as long as these are their names."""
    return _Ledgers(root)


def _is_own(test: str, folder: str) -> bool:
    """Tell whether a cassette is a test's own, by its name."""
    _, _, name = test.partition("::")
    return bool(name) and os.path.basename(folder) == folder_name(name.replace("::", "."))  # noqa: PTH119

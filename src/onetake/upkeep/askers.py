"""Which test asks for an entry today: who recorded it may have another name by now."""

from __future__ import annotations

import os
from functools import cached_property, lru_cache
from pathlib import Path

from onetake.aside import place_of
from onetake.stores.naming import Slot, folder_name, parse_name
from onetake.usage import UsageRun, ledgers_in, read_run

_MOST = 5
"""Ledgers that are read, the newest first: what no run used since is rarely asked for."""


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
    folder = _real(path.parent)
    ledgers = _around(folder)
    if slot is None or ledgers is None:
        return recorded
    users, own = ledgers.of(folder)
    if found := users.get(slot):
        return recorded if recorded in found else min(found)
    return own or recorded


class _Ledgers:
    """The newest usage ledgers of one settings folder, and who used what of a cassette, each gathered once."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)
        self._users: dict[str, tuple[dict[Slot, list[str]], str]] = {}

    def of(self, folder: str) -> tuple[dict[Slot, list[str]], str]:
        """Return which tests used each entry of a cassette in the last run that used it; and whose own it is."""
        if folder not in self._users:
            self._users[folder] = self._gathered(folder)
        return self._users[folder]

    def _gathered(self, folder: str) -> tuple[dict[Slot, list[str]], str]:
        place, users = place_of(Path(folder), self._root), dict[Slot, list[str]]()
        for usage in (one for run in self._runs if (one := run.cassettes.get(place))):
            new: dict[Slot, list[str]] = {}
            for test, slots in usage.tests.items():
                for slot in slots - users.keys():
                    new.setdefault(slot, []).append(test)
            users |= new
            if own := [test for test in usage.tests if _is_own(test, folder)]:
                return users, own[0]
        return users, ""

    @cached_property
    def _runs(self) -> list[UsageRun]:
        return [run for path in ledgers_in(self._root)[:_MOST] if (run := read_run(path))]


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


@lru_cache(maxsize=1024)
def _real(folder: Path) -> str:
    return os.path.realpath(folder)


@lru_cache(maxsize=4)
def _ledgers(root: str, names: frozenset[str]) -> _Ledgers:
    """Return the ledgers of a settings folder, as long as these are their names."""
    return _Ledgers(root)


def _is_own(test: str, folder: str) -> bool:
    """Tell whether a cassette is a test's own, by its name."""
    _, _, name = test.partition("::")
    return bool(name) and os.path.basename(folder) == folder_name(name.replace("::", "."))  # noqa: PTH119

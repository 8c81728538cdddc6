"""What the runs of tests on record prove of stored entries, read from the usage ledgers of a settings folder.

That an entry is unused is said by a run that was whole (every test that there is was collected, and ran) and green, and
holds until a later run of any kind uses it, or a file of the project changes: other tests ask for other entries.
Whatever a run used is used, also where it failed or was of one test.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

from onetake import project_files
from onetake.aside import place_of
from onetake.model import Entry
from onetake.printable import one_line
from onetake.stores.naming import Slot
from onetake.usage import CassetteUsage, UsageRun, is_to_come, ledgers_in, read_run
from onetake.validity import moment, when

_RUN_ALL = "run all tests, without selecting any"


class Runs:
    """The runs on record of one settings folder, each ledger read once and when it is first asked for.

    Args:
        root: The settings' folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        """The settings folder, its real path."""
        self._newest = ledgers_in(self.root)[:1]
        self._places: dict[Path, str] = {}
        self._left: dict[str, frozenset[Slot]] = {}
        self._used: dict[str, frozenset[Slot]] = {}

    @property
    def why(self) -> str:
        """Why nothing is proved to be unused; empty where a run that was whole and green is on record, and counts."""
        return self._read[1]

    @property
    def at(self) -> str:
        """When that run ended, RFC 3339 in UTC; empty where there is none."""
        return "" if self.why else self._runs[-1].at

    @property
    def is_newest(self) -> bool:
        """Whether no run ended since these were read."""
        return ledgers_in(self.root)[:1] == self._newest

    def unused(self, folder: Path) -> frozenset[Slot]:
        """Return which entries of a cassette the newest whole and green run left without use, and no later one used.

        What was recorded after that run under such a slot is another entry: see `left`.

        Args:
            folder: The cassette's, as any path.
        """
        place = self._place(folder)
        if place not in self._left:
            self._left[place] = self._left_in(place)
        return self._left[place]

    def used(self, folder: Path) -> frozenset[Slot]:
        """Return which entries of a cassette runs are known to have used: from the newest that counts on, else any."""
        place = self._place(folder)
        if place not in self._used:
            self._used[place] = frozenset[Slot]().union(*(one.used for one in self._of(place) if one))
        return self._used[place]

    def is_known(self, folder: Path) -> bool:
        """Tell whether `used` is all that those runs may have used of a cassette; not where a ledger cannot be read."""
        return self._is_whole and all(one.known for one in self._of(self._place(folder)) if one)

    def left(self, folder: Path, slot: Slot, entry: Entry | None) -> bool:
        """Tell whether an entry is proved to be unused: it was there before the run that says so.

        Args:
            folder: The cassette's.
            slot: What the entry is found by.
            entry: What it holds; None where it cannot be read, and nothing is proved of it.
        """
        return entry is not None and slot in self.unused(folder) and not _is_later(entry, self.at)

    def since(self, folder: Path, at: str) -> list[CassetteUsage]:
        """Return what each run on record that ended at a moment or later did with a cassette, whether it counts or not.

        Args:
            folder: The cassette's.
            at: The moment, RFC 3339 in UTC; empty for all runs on record.
        """
        return [one for ended, one in self.told(folder) if when(ended) >= when(at)]

    def told(self, folder: Path) -> list[tuple[str, CassetteUsage]]:
        """Return what each run on record did with a cassette, and when that run ended, whether it counts or not.

        Args:
            folder: The cassette's.
        """
        place = self._place(folder)
        return [(run.at, one) for run in self._all if (one := run.cassettes.get(place))]

    def _left_in(self, place: str) -> frozenset[Slot]:
        if self.why:
            return frozenset()
        *later, whole = self._of(place)
        if whole is None or not all(one.known for one in later if one):
            return frozenset()
        return whole.unused.difference(*(one.used for one in later if one))

    def _of(self, place: str) -> list[CassetteUsage | None]:
        return [run.cassettes.get(place) for run in self._runs]

    def _place(self, folder: Path) -> str:
        """Return what the ledgers call a cassette; asked of the disk once."""
        if folder not in self._places:
            self._places[folder] = place_of(Path(os.path.realpath(folder)), self.root)
        return self._places[folder]

    @property
    def _runs(self) -> list[UsageRun]:
        return self._read[0]

    @property
    def _is_whole(self) -> bool:
        return bool(self._runs and self._runs[-1].counts) or len(self._runs) == len(ledgers_in(self.root))

    @cached_property
    def _all(self) -> list[UsageRun]:
        return [run for path in ledgers_in(self.root) if (run := read_run(path))]

    @cached_property
    def _read(self) -> tuple[list[UsageRun], str]:
        """Return the newest runs, the last of them the newest that counts; and why there is none that does."""
        runs: list[UsageRun] = []
        for path in ledgers_in(self.root):
            run = None if is_to_come(path) else read_run(path)
            if run is None:
                name = one_line(place_of(path, self.root))
                return runs, f"{name} cannot be read, or is dated in the future: remove it, then {_RUN_ALL}"
            runs.append(run)
            if run.counts:
                return runs, self._of_other_files(run, runs[0])
        return runs, f"{_no_proof(runs[0]) if runs else 'no run of tests is on record'}: {_RUN_ALL}"

    def _of_other_files(self, run: UsageRun, newest: UsageRun) -> str:
        """Say that the files of the project are others than those of a run, or may be; empty where they are the same.

        What is checked out, or edited since, may hold other tests: these ask for other entries.

        Args:
            run: The newest that counts.
            newest: The newest of all; where that is another one it did not pass, say, and is told as well.
        """
        first, which = ("", "newest") if run is newest else (f"{_no_proof(newest)}, and ", "last green")
        of = f" of commit {one_line(run.commit[:12], 20)}" if run.commit else ""
        if not run.files:
            return f"{first}nobody knows which files the {which} run of all tests{of} was of: {_RUN_ALL}"
        now = project_files.digest(self.root)
        # What was only put under git since is no change.
        if run.files not in (now, project_files.digest(self.root, (run.commit, run.at))):
            return f"{first}files of the project have changed since the {which} run of all tests{of}: {_RUN_ALL}"
        return ""


def _no_proof(newest: UsageRun) -> str:
    return f"the newest run is no proof ({one_line(newest.why)})"


def _is_later(entry: Entry, at: str) -> bool:
    """Tell whether an entry came to where it is after a moment, or when that was cannot be told."""
    said = entry.provenance
    adopted = said.get("adopted")
    dates = [said.get("recorded_at"), *([adopted.get("at")] if isinstance(adopted, dict) else [])]
    return any((came := moment(date)) is None or came > when(at) for date in dates)

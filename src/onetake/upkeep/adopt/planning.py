"""Answer what a run missed from what is stored, where a small difference explains it: nothing is asked anew.

The difference is the smallest that explains a miss, and of all that are so explained one group. What is written is a
new entry: the request that was missed, the answer of the old, and where it comes from. The old one stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from onetake.cassette_files import list_folders
from onetake.missed import Missed, damaged_in, missed_in
from onetake.upkeep.adopt.adopting import Plan
from onetake.upkeep.adopt.explained import Explained
from onetake.upkeep.adopt.explaining import explain_misses
from onetake.upkeep.adopt.stored import StoredRequests
from onetake.upkeep.projects import Projects
from onetake.upkeep.runs import Runs
from onetake.usage import UsageRun, ledgers_in, read_run
from onetake.validity import when


def plan(start: Path) -> Plan:
    """Explain what the last runs missed in the cassettes below a folder, as far as it is still missing.

    Args:
        start: A folder.

    Returns:
        The misses by the difference that explains them, what none explains, and what was left out; nothing is written.

    Raises:
        StoreError: A cassette cannot be listed.
        UsageError: Settings that count for one of them are wrong.
    """
    return _Planning(start).run()


class _Planning:
    """One run over the misses of all settings folders below a start."""

    def __init__(self, start: Path) -> None:
        self._start = start.absolute()
        self._projects = Projects(self._start, importing=False)
        self._found = Explained()
        self._runs: dict[Path, list[UsageRun]] = {}

    def run(self) -> Plan:
        by_folder: dict[Path, list[Missed]] = {}
        for root in self._roots():
            runs = Runs(root)
            for book in damaged_in(root):
                self._found.leave_out(root / book, "a line of it cannot be read")
            for one in missed_in(root):
                if one.test and when(one.at) < when(runs.at):
                    continue  # all tests have passed since: one of that name is no more
                if one.folder.is_relative_to(self._start) or self._start == root:
                    by_folder.setdefault(one.folder, []).append(one)
        for folder, misses in by_folder.items():
            self._cassette(folder, misses)
        return self._found.plan

    def _roots(self) -> Iterator[Path]:
        """Yield the settings' folders that count for the start, and those below it in which anything was missed."""
        own = self._projects.of(self._start).settings.root.absolute()
        yield own
        for listed in list_folders(self._start):
            if ".onetake" in listed.folders and listed.folder.absolute() != own:
                yield listed.folder.absolute()

    def _cassette(self, folder: Path, misses: list[Missed]) -> None:
        project = self._projects.of(folder if folder.exists() else self._start)
        root = project.settings.root
        if root not in self._runs:
            self._runs[root] = [run for path in ledgers_in(root) if (run := read_run(path))]
        stored = StoredRequests(folder, misses, root, self._runs[root])
        explain_misses(self._found, folder, project, stored, misses)

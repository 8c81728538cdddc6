"""Answer what a run missed from what is stored, where a small difference explains it: nothing is asked anew.

The difference is the smallest that explains a miss, and of all that are so explained one group. What is written is a
new entry: the request that was missed, the answer of the old, and where it comes from. The old one stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from onetake import git
from onetake.cassette_files import list_folders
from onetake.errors import StoreError
from onetake.missed import Missed, missed_in
from onetake.stores.directory import DirectoryStore
from onetake.upkeep.adoptions import Adoption, Group, Plan
from onetake.upkeep.explaining import CassetteMisses, Explained
from onetake.upkeep.operations import signature
from onetake.upkeep.projects import Projects
from onetake.upkeep.regating import Regate
from onetake.upkeep.runs import Runs
from onetake.upkeep.stored import StoredRequests
from onetake.usage import UsageRun, ledgers_in, read_run
from onetake.writing import SecretLeftError, write


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one adoption.

    Args:
        adoption: It.
        path: The new entry's file.
        why: What kept it from being written, else empty.
    """

    adoption: Adoption
    path: Path
    why: str = ""


def plan(start: Path) -> Plan:
    """Explain what the last runs missed in the cassettes below a folder, as far as it is still missing.

    Args:
        start: A folder.

    Raises:
        StoreError: A cassette cannot be listed.
        UsageError: Settings that count for one of them are wrong.
    """
    return _Planning(start).run()


def adopt(group: Group, reason: str, root: Path) -> Iterator[Written]:
    """Write the entries of a group, never over another one; what nobody asked for so far goes first.

    A run that is killed half-way leaves misses, by which the next one finds all that is left.

    Args:
        group: One that is not refused.
        reason: Why it may be adopted, for the provenance; the difference itself where empty.
        root: A folder of the project, whose git commit is named.
    """
    said = {"at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "reason": reason or group.reason}
    if commit := git.line(root, "rev-parse", "HEAD"):
        said["commit"] = commit
    stores = {one.folder: DirectoryStore(one.folder) for one in group.adoptions}
    for one in sorted(group.adoptions, key=lambda one: one.missed):
        yield _written(one, said, stores[one.folder])


def _written(one: Adoption, said: Mapping[str, str], store: DirectoryStore) -> Written:
    origin = one.entry.provenance
    entry = replace(one.entry, provenance={**origin, "adopted": {**origin["adopted"], **said}})
    why = ""
    try:
        if not write(store, entry, {}, over=False):
            why = "one is there already"
    except SecretLeftError as error:
        why = f"a secret would be in it ({', '.join(sorted({finding.kind for finding in error.args[0]}))})"
    except StoreError as error:
        why = str(error)
    return Written(one, Path(store.locate(entry.key, entry.ordinal)), why)


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
            for one in missed_in(root):
                if one.test and one.at < runs.at:
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
        project = self._projects.of(folder if folder.is_dir() else self._start)
        root = project.settings.root
        if root not in self._runs:
            self._runs[root] = [run for path in ledgers_in(root) if (run := read_run(path))]
        stored = StoredRequests(folder, misses, root, self._runs[root])
        regate = Regate(project, folder)
        by_rules: dict[str, list[Missed]] = {}
        for one in misses:
            by_rules.setdefault(signature(dict(one.key_spec.rules)), []).append(one)
        for same_rules in by_rules.values():
            CassetteMisses(self._found, folder, stored, regate, same_rules).run()

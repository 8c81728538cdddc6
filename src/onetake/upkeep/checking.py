"""The check of all entries below a folder: offline, without any SDK, and without the project's own code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from onetake.cassette_files import Listed, list_folders
from onetake.errors import StoreError, UsageError
from onetake.key import Keyer
from onetake.model import Entry
from onetake.pins import Pins
from onetake.stores.naming import Slot
from onetake.upkeep import entry_checks, secrets
from onetake.upkeep.cassette_checks import Ordinals, Repeated, check_sides, check_twins
from onetake.upkeep.contract_checks import ContractChecks
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held, Holding, digests_in, holding_of
from onetake.upkeep.limits import SECONDS, at_most, cannot_be_checked
from onetake.upkeep.neighbours import Neighbours, roots_below
from onetake.upkeep.orphans import Orphan, Usage
from onetake.upkeep.outdated_keys import OutdatedKeys
from onetake.upkeep.probe_checks import Served, check_age
from onetake.upkeep.projects import Project, Projects, Schemas
from onetake.upkeep.sparing import Sparing

_UNSOUND = frozenset({Code.BROKEN, Code.MISNAMED, Code.OUTDATED_KEY, Code.DUPLICATE})


@dataclass(frozen=True, slots=True)
class Report:
    """What a check saw.

    Args:
        findings: All of them: those of one file together, files in the order of their paths, contracts last.
        cassettes: How many folders with entries or sidecars were looked into.
        entries: How many files there were that are named as entries, or hold one.
    """

    findings: tuple[Finding, ...]
    cassettes: int
    entries: int


@dataclass(frozen=True, slots=True)
class Examined:
    """One file of a cassette, and what is wrong with it.

    Args:
        path: The file, as it is reached from where the search started.
        folder: The cassette's.
        project: The settings that count for it.
        entry: What is in it; None where that cannot be read.
        data: What lies in the file; empty where it cannot be read.
        findings: What the check says of it.
    """

    path: Path
    folder: Path
    project: Project
    entry: Entry | None
    data: bytes
    findings: tuple[Finding, ...]

    @property
    def size(self) -> int:
        """Bytes of the file; 0 where it cannot be read."""
        return len(self.data)

    @property
    def is_sound(self) -> bool:
        """Whether its use can be looked at: it is known what it is, and it is read."""
        return self.entry is not None and _UNSOUND.isdisjoint(one.code for one in self.findings)


def check(start: Path, *, importing: bool = False) -> Report:
    """Check every entry in a folder and below it.

    Args:
        start: A folder.
        importing: True imports the types that the settings declare contracts by: the project's own code runs.

    Returns:
        What was found. An entry that is damaged, or made to do harm, is a finding, never an error.

    Raises:
        StoreError: The folder cannot be listed.
        UsageError: Settings that count for the folder or for an entry below it are wrong.
    """
    examination = Examination(start, importing=importing)
    found: list[Finding] = []
    for one in examination.run():
        found += one.findings if isinstance(one, Examined) else (one,)
    return Report(tuple(_together(found)), examination.cassettes, examination.entries)


def examine(start: Path, *, importing: bool = False) -> Iterator[Examined]:
    """Examine every entry in a folder and below it, one after the other, and remember none.

    Args:
        start: A folder.
        importing: As for `check`.

    Raises:
        StoreError: The folder cannot be listed.
        UsageError: Settings that count for the folder or for an entry below it are wrong.
    """
    examination = Examination(start, importing=importing, alone=True)
    return (one for one in examination.run() if isinstance(one, Examined))


class Examination:
    """One pass over the entries below a folder, and what is read or compiled once for all cassettes.

    Args:
        start: A folder.
        importing: As for `check`.
        alone: True where only what is found of each file alone is asked for.
    """

    def __init__(self, start: Path, *, importing: bool, alone: bool = False) -> None:
        self._start = start
        self._alone = alone
        self._projects = Projects(start, importing=importing)
        self._schemas = Schemas()
        self._keyers = entry_checks.Keyers()
        self._outdated = OutdatedKeys(self._keyers)
        self._contracts = ContractChecks(self._schemas)
        self._served = Served()
        self.cassettes = self.entries = 0
        self.usage: dict[Path, Usage] = {}
        """What is known of the use of the entries that were seen, by the folder of their settings."""
        self.orphans: dict[Path, Orphan] = {}
        """Those that were found so far, by their files."""

    def run(self) -> Iterator[Examined | Finding]:
        """Yield each file, and what is found of several together: of a cassette behind its files, of all at the end."""
        self._projects.of(self._start.absolute())
        for listed in list_folders(self._start):
            yield from self._folder(listed)
        if not self._alone:
            yield from self._served.check()
            yield from self._contracts.loose(iter(self._projects))

    def _folder(self, listed: Listed) -> Iterator[Examined | Finding]:
        if listed.why:
            if listed.folder == self._start:
                raise StoreError(f"{listed.folder.as_posix()}: {listed.why}")
            yield finding(Code.BROKEN, listed.folder, listed.why, "let it be read, or move it away")
            return
        holding = holding_of(listed)
        if holding:
            self.cassettes += 1
            self.entries += len(holding.paths)
            yield from self._cassette(holding, self._projects.of(listed.folder.absolute()))

    def _cassette(self, holding: Holding, project: Project) -> Iterator[Examined | Finding]:
        whole = None if self._alone else _Whole(holding, self._usage(project))
        first: dict[Slot, Path] = {}
        taken = frozenset(path.name for path in holding.paths)
        for held in holding.read():
            found = (*check_twins(held, first), *self._file(held, holding, project, taken))
            one = Examined(held.path, holding.folder, project, held.entry, held.data, found)
            yield one
            if whole:
                whole.add(held, is_first=held.slot is None or first[held.slot] == held.path)
                if held.entry and one.is_sound:
                    whole.use.add(held.path, held.entry)
                    self._served.add(held.path, held.entry, project.settings.root)
        if whole:
            yield from whole.check(project, self._schemas)
            for orphan in whole.use.orphans():
                self.orphans[orphan.path] = orphan
                yield orphan.finding

    def _usage(self, project: Project) -> Usage:
        root = project.settings.root
        if root not in self.usage:
            around = self._around
            sparing = Sparing(root, Pins(root, project.settings.pinned), lambda: around.others(root))
            self.usage[root] = Usage(root, around.runs(root), Keyer(project.settings.key), sparing.why)
        return self.usage[root]

    @cached_property
    def _around(self) -> Neighbours:
        return Neighbours(self._start, roots_below(self._start))

    def _file(self, held: Held, holding: Holding, project: Project, taken: frozenset[str]) -> Iterator[Finding]:
        """Check one file; what breaks on one does not stop the others."""
        try:
            with at_most(SECONDS):
                if held.entry is None:
                    found = [entry_checks.unreadable(held), *secrets.in_file(held.path, held.data)]
                else:
                    found = list(self._entry(held, held.entry, holding, project, taken))
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an entry was made to do to what reads it, it is told
            found = [cannot_be_checked(held.path, error)]
        yield from found

    def _entry(
        self, held: Held, entry: Entry, holding: Holding, project: Project, taken: frozenset[str]
    ) -> Iterator[Finding]:
        by_today = self._contracts.judge(entry, project, holding) if entry.verdict == "good" else None
        keyed = list(entry_checks.check_key(held, entry, self._keyers))
        answered = list(entry_checks.check_answer(held, entry, by_today.judgement if by_today else None))
        yield from (*keyed, *answered)
        if not keyed:
            yield from entry_checks.check_name(held, entry, taken)
            yield from self._outdated.check(held, entry, project)
        headers = () if keyed else tuple(entry.key_spec.rules.get("headers", ()))
        yield from secrets.in_entry(held, entry, project.scrubber(headers), verified=not (keyed or answered))
        yield from entry_checks.check_verdict(held, entry)
        yield from entry_checks.check_adopted(held, entry, project.scrubber(()))
        yield from check_age(held, entry, project.settings.probe_after)
        if by_today:
            yield from self._contracts.check(held, entry, project, holding, by_today)


class _Whole:
    """One cassette as a whole: what is wrong with its files together."""

    def __init__(self, holding: Holding, usage: Usage) -> None:
        self._holding = holding
        self.use = usage.cassette(holding.folder, has_entries=bool(holding.paths))
        self._repeated, self._ordinals = Repeated(), Ordinals()
        self._from_tests: set[str] = set()
        self._named: set[str] | None = set()

    def add(self, held: Held, *, is_first: bool) -> None:
        """Take a file in; *is_first* where it is the one that is read under its name."""
        entry = held.entry
        self._ordinals.add(held)
        if entry is None:
            self._named = None
            return
        if self._named is not None and self._holding.sides:
            self._named |= digests_in(held.data)
        if entry.provenance.get("test"):
            self._from_tests.add(entry.key)
        if is_first:
            self._repeated.add(held, entry)

    def check(self, project: Project, schemas: Schemas) -> Iterator[Finding]:
        """Say what is wrong, once all files were taken in."""
        yield from self._repeated.check(project, self._from_tests)
        yield from self._ordinals.check()
        yield from check_sides(self._holding, self._named, schemas)


def _together(found: list[Finding]) -> list[Finding]:
    """Return findings with those of one file together, files in the order in which they came first."""
    place: dict[Path, int] = {}
    for one in found:
        place.setdefault(one.path, len(place))
    return sorted(found, key=lambda one: place[one.path])

"""The check of all entries below a folder: offline, without any SDK, and without the project's own code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from onetake.cassette_files import Listed, list_folders
from onetake.errors import StoreError, UsageError
from onetake.model import Entry
from onetake.printable import one_line
from onetake.stores.naming import Slot
from onetake.upkeep import entry_checks, mends, secrets
from onetake.upkeep.cassette_checks import Ordinals, Repeated, check_sides, check_twins
from onetake.upkeep.contract_checks import ContractChecks
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held, Holding, digests_in, holding_of
from onetake.upkeep.projects import Project, Projects, Schemas


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
    return _Checking(start, importing=importing).run()


class _Checking:
    """One run: what is read or compiled once for all cassettes."""

    def __init__(self, start: Path, *, importing: bool) -> None:
        self._start = start
        self._projects = Projects(start, importing=importing)
        self._schemas = Schemas()
        self._keyers = entry_checks.Keyers()
        self._contracts = ContractChecks(self._schemas)
        self._cassettes = self._entries = 0

    def run(self) -> Report:
        self._projects.of(self._start.absolute())
        found = [one for listed in list_folders(self._start) for one in self._folder(listed)]
        found += self._contracts.loose(iter(self._projects))
        return Report(tuple(_together(found)), self._cassettes, self._entries)

    def _folder(self, listed: Listed) -> Iterator[Finding]:
        if listed.why:
            if listed.folder == self._start:
                raise StoreError(f"{listed.folder.as_posix()}: {listed.why}")
            yield finding(Code.BROKEN, listed.folder, listed.why, "let it be read, or move it away")
            return
        holding = holding_of(listed)
        if holding:
            self._cassettes += 1
            self._entries += len(holding.paths)
            yield from self._cassette(holding, self._projects.of(listed.folder.absolute()))

    def _cassette(self, holding: Holding, project: Project) -> Iterator[Finding]:
        repeated, ordinals, from_tests, named = Repeated(), Ordinals(), set[str](), set[str]()
        first: dict[Slot, Path] = {}
        are_read = True
        taken = frozenset(path.name for path in holding.paths)
        for held in holding.read():
            are_read = are_read and held.entry is not None
            named |= digests_in(held.data) if holding.sides else set()
            yield from check_twins(held, first)
            ordinals.add(held)
            yield from self._file(held, holding, project, taken)
            if held.entry:
                if held.slot is None or first[held.slot] == held.path:
                    repeated.add(held, held.entry)
                if held.entry.provenance.get("test"):
                    from_tests.add(held.entry.key)
        yield from repeated.check(project, from_tests)
        yield from ordinals.check()
        yield from check_sides(holding, named if are_read else None, self._schemas)

    def _file(self, held: Held, holding: Holding, project: Project, taken: frozenset[str]) -> Iterator[Finding]:
        """Check one file; what breaks on one does not stop the others."""
        try:
            if held.entry is None:
                found = [entry_checks.unreadable(held), *secrets.in_file(held.path, held.data)]
            else:
                found = list(self._entry(held, held.entry, holding, project, taken))
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an entry was made to do to what reads it, it is told
            why = one_line(f"it cannot be checked ({type(error).__name__}: {error})", 300)
            found = [finding(Code.BROKEN, held.path, why, mends.RESTORE)]
        yield from found

    def _entry(
        self, held: Held, entry: Entry, holding: Holding, project: Project, taken: frozenset[str]
    ) -> Iterator[Finding]:
        keyed = list(entry_checks.check_key(held, entry, self._keyers))
        answered = list(entry_checks.check_answer(held, entry))
        yield from (*keyed, *answered)
        if not keyed:
            yield from entry_checks.check_name(held, entry, taken)
        headers = () if keyed else tuple(entry.key_spec.rules.get("headers", ()))
        yield from secrets.in_entry(held, entry, project.scrubber(headers), verified=not (keyed or answered))
        yield from entry_checks.check_verdict(held, entry)
        if entry.verdict == "good":
            yield from self._contracts.check(held, entry, project, holding)


def _together(found: list[Finding]) -> list[Finding]:
    """Return findings with those of one file together, files in the order in which they came first."""
    place: dict[Path, int] = {}
    for one in found:
        place.setdefault(one.path, len(place))
    return sorted(found, key=lambda one: place[one.path])

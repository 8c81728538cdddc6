"""One pass over all entries below a folder: what is found of each, of each cassette, and of all together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from onetake.cassette_files import Listed, list_folders
from onetake.errors import StoreError, UsageError
from onetake.key import Keyer
from onetake.model import Entry
from onetake.pins import Pins
from onetake.stores.naming import Slot
from onetake.upkeep import entry_checks, mends, secrets
from onetake.upkeep.cassette_checks import Ordinals, Repeated, check_sides, check_twins
from onetake.upkeep.chains import Chains
from onetake.upkeep.contract_checks import ContractChecks
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held, Holding, digests_in, holding_of
from onetake.upkeep.imported_checks import Imported
from onetake.upkeep.limits import SECONDS, TookTooLongError, at_most, cannot_be_checked, limiting
from onetake.upkeep.loose_checks import LooseCount, check_loose
from onetake.upkeep.neighbours import Neighbours, roots_below
from onetake.upkeep.orphans import Usage
from onetake.upkeep.outdated_keys import OutdatedKeys
from onetake.upkeep.probe_checks import Served, check_age
from onetake.upkeep.processes import in_order, usable
from onetake.upkeep.projects import Project, Projects, Schemas
from onetake.upkeep.seen import Seen, SeenFolder
from onetake.upkeep.sparing import Sparing

MANY = 1_000
"""Files from which on it takes less time to share the work among processes."""
_UNSOUND = frozenset({Code.BROKEN, Code.MISNAMED, Code.OUTDATED_KEY, Code.DUPLICATE})


@dataclass(frozen=True, slots=True)
class Examined:
    """One file of a cassette, and what is wrong with it.

    Args:
        held: The file, read.
        folder: The cassette's.
        project: The settings that count for it.
        findings: What the check says of it.
    """

    held: Held
    folder: Path
    project: Project
    findings: tuple[Finding, ...]

    @property
    def path(self) -> Path:
        """The file, as it is reached from where the search started."""
        return self.held.path

    @property
    def entry(self) -> Entry | None:
        """What is in it; None where that cannot be read."""
        return self.held.entry

    @property
    def data(self) -> bytes:
        """What lies in the file; empty where it cannot be read."""
        return self.held.data

    @property
    def size(self) -> int:
        """Bytes of the file; 0 where it cannot be read."""
        return len(self.data)

    @property
    def is_sound(self) -> bool:
        """Whether its use can be looked at: it is known what it is, and it is read."""
        return self.entry is not None and not self.unsound

    @property
    def unsound(self) -> frozenset[Code]:
        """What keeps it from being known for what it is."""
        return _UNSOUND.intersection(one.code for one in self.findings)

    @property
    def seen(self) -> Seen:
        """What is kept in mind of it."""
        entry = self.entry
        key, ordinal = (entry.key, entry.ordinal) if entry else self.held.slot or ("", 0)
        return Seen(self.path, key, ordinal, self.size, self.findings)


class Examination:
    """One pass over the entries below a folder, and what is read or compiled once for all cassettes.

    Args:
        start: A folder.
        importing: As for `check`.
        shared_from: As for `check`. What is imported stays in one process: nobody knows what it starts there.
    """

    def __init__(self, start: Path, *, importing: bool, shared_from: int = MANY) -> None:
        self._start = start
        self._importing = importing
        self._shared_from = None if importing else shared_from
        self._projects = Projects(start, importing=importing)
        self._schemas = Schemas()
        self._keyers = entry_checks.Keyers()
        self._outdated = OutdatedKeys(self._keyers)
        self._contracts = ContractChecks(self._schemas)
        self._served = Served()
        self._loose = LooseCount(start)
        self.cassettes = self.entries = 0
        self.usage: dict[Path, Usage] = {}
        """What is known of the use of the entries that were seen, by the folder of their settings."""

    @property
    def last_probe(self) -> Mapping[str, Any]:
        """The last probe of the project that counts for the folder; empty where none is on record."""
        return self._projects.of(self._start.absolute()).probes.last

    def each(self) -> Iterator[Examined]:
        """Yield each file, and what is found of it alone."""
        self._projects.of(self._start.absolute())
        for listed in list_folders(self._start):
            self._refuse_unlisted(listed)
            if holding := holding_of(listed):
                yield from self._files(holding, self._projects.of(listed.folder.absolute()))

    def of_file(self, held: Held, holding: Holding, project: Project) -> tuple[Finding, ...]:
        """Return what is found of one file alone."""
        return tuple(self._file(held, holding, project, frozenset(path.name for path in holding.paths)))

    def run(self) -> Iterator[SeenFolder]:
        """Yield each folder, and what is found of it; what is found of all together comes last."""
        project = self._projects.of(self._start.absolute())
        folders = list(list_folders(self._start))
        weights = [sum(name.endswith(".json") for name in listed.names) for listed in folders]
        processes = 1
        if self._shared_from is not None and sum(weights) >= self._shared_from:
            processes = usable()
            _ = self._around.runs(project.settings.root).why  # read before it is shared: once, not by each process
        with closing(in_order(self._seen, folders, weights, processes)) as found:
            for seen in found:
                self._take_in(seen)
                yield seen
        projects = list(self._projects)
        last = [*self._served.check(), *self._loose.check(iter(projects)), *self._contracts.loose(iter(projects))]
        yield SeenFolder(self._start, findings=last)

    def _take_in(self, seen: SeenFolder) -> None:
        """Remember what a folder bears on others; in which process it was seen does not matter."""
        if not seen.is_cassette:
            return
        self.cassettes += 1
        self.entries += len(seen.files)
        self._served.join(seen.served)
        for digest, schema in seen.schemas.items():
            self._contracts.stored.setdefault(digest, schema)
        project = self._projects.of(seen.folder.absolute())
        self._loose.add((one for file in seen.files for one in file.findings), project)
        usage = self._usage(project)
        if seen.is_untold:
            usage.leave_untold(seen.folder)

    def _refuse_unlisted(self, listed: Listed) -> None:
        if listed.why and listed.folder == self._start:
            raise StoreError(f"{listed.folder.as_posix()}: {listed.why}")

    def _seen(self, listed: Listed) -> SeenFolder:
        """Examine one folder."""
        self._refuse_unlisted(listed)
        seen = SeenFolder(listed.folder)
        if listed.why:
            mend = mends.fsck(listed.folder) if listed.is_one_file else "let it be read, or move it away"
            seen.findings.append(finding(Code.BROKEN, listed.folder, listed.why, mend))
        elif holding := holding_of(listed):
            seen.is_cassette = True
            known = len(self._contracts.stored)
            with closing(holding.store), nullcontext() if self._importing else limiting():
                self._see(seen, holding, self._projects.of(listed.folder.absolute()))
            seen.schemas = dict(islice(self._contracts.stored.items(), known, None))
        return seen

    def _see(self, seen: SeenFolder, holding: Holding, project: Project) -> None:
        """Examine a cassette, its files and then what is wrong with them together."""
        usage = self._usage(project)
        use, whole = usage.cassette(holding.folder), _Whole(holding, self._outdated)
        chains = Chains(holding.folder, project.settings.root)
        for one in self._files(holding, project):
            seen.files.append(one.seen)
            whole.add(one)
            if one.entry and one.is_sound:
                use.add(one.path, one.entry)
                chains.add(one.path, one.entry)
                seen.served.add(one.path, one.entry, project.settings.root)
        seen.orphans = list(use.orphans())
        with suppress(TookTooLongError), at_most(SECONDS):
            seen.chained = chains.chained()
        seen.findings += (*whole.check(project, self._schemas), *(orphan.finding for orphan in seen.orphans))
        seen.findings += (one.finding for one in seen.chained)
        seen.is_untold = bool(seen.files) and not usage.runs.why and not use.is_told

    def _files(self, holding: Holding, project: Project) -> Iterator[Examined]:
        first: dict[Slot, Path] = {}
        taken = frozenset(path.name for path in holding.paths)
        for held in holding.read():
            found = (*check_twins(held, first), *self._file(held, holding, project, taken))
            yield Examined(held, holding.folder, project, found)

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
        yield from check_loose(held, entry)
        yield from check_age(held, entry, project)
        if by_today:
            yield from self._contracts.check(held, entry, project, holding, by_today)


class _Whole:
    """One cassette as a whole: what is wrong with its files together."""

    def __init__(self, holding: Holding, outdated: OutdatedKeys) -> None:
        self._holding, self._outdated = holding, outdated
        self._slots: set[Slot] = set()
        self._repeated, self._ordinals, self._imported = Repeated(), Ordinals(), Imported()
        self._from_tests: set[str] = set()
        self._named: set[str] | None = set()

    def add(self, one: Examined) -> None:
        """Take a file in; of several whose names say the same only the first is ever read under it."""
        held, entry = one.held, one.entry
        is_first = held.slot is None or held.slot not in self._slots
        if held.slot:
            self._slots.add(held.slot)
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
        if (unsound := one.unsound) <= {Code.OUTDATED_KEY}:
            is_of_today = not unsound and self._outdated.is_settings_own(entry, one.project)
            self._imported.add(held, entry, is_of_today=is_of_today)

    def check(self, project: Project, schemas: Schemas) -> Iterator[Finding]:
        """Say what is wrong, once all files were taken in."""
        yield from self._repeated.check(project, self._from_tests)
        yield from self._ordinals.check()
        yield from self._imported.check()
        yield from check_sides(self._holding, self._named, schemas)

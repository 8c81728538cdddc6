"""One pass over all entries below a folder: what is found of each, of each cassette, and of all together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from onetake.upkeep import entry_checks, mends, secrets
from onetake.upkeep.cassette_checks import check_twins
from onetake.upkeep.chains import Chains
from onetake.upkeep.checked import MOST, Checked, clear_of, few, secrets_in
from onetake.upkeep.contract_checks import ContractChecks
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held, Holding, holding_of
from onetake.upkeep.limits import SECONDS, TookTooLongError, at_most, cannot_be_checked, limiting
from onetake.upkeep.loose_checks import LooseCount, check_loose
from onetake.upkeep.neighbours import Neighbours, roots_below
from onetake.upkeep.orphans import Usage
from onetake.upkeep.outdated_keys import OutdatedKeys
from onetake.upkeep.parts import Gathered, Part, parts_of
from onetake.upkeep.probe_checks import Served, check_age
from onetake.upkeep.processes import in_order, usable
from onetake.upkeep.projects import Project, Projects, Schemas
from onetake.upkeep.seen import Seen, SeenFolder
from onetake.upkeep.sparing import Sparing
from onetake.upkeep.together import Together

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
        return self._looked_through([self._file(held, holding, project)], project)[0]

    def run(self) -> Iterator[SeenFolder]:
        """Yield each folder, and what is found of it; what is found of all together comes last."""
        project = self._projects.of(self._start.absolute())
        parts = [Part(listed) for listed in list_folders(self._start)]
        processes = 1
        if self._shared_from is not None and sum(part.weight for part in parts) >= self._shared_from:
            processes = usable()
            _ = self._around.runs(project.settings.root).why  # read before it is shared: once, not by each process
        if processes > 1:
            parts = list(parts_of(part.listed for part in parts))
        with closing(in_order(self._seen, parts, [part.weight for part in parts], processes)) as found:
            for seen in self._joined(parts, found):
                self._take_in(seen)
                yield seen
        projects = list(self._projects)
        last = [*self._served.check(), *self._loose.check(iter(projects)), *self._contracts.loose(iter(projects))]
        yield SeenFolder(self._start, findings=last)

    def _joined(self, parts: Iterable[Part], found: Iterable[SeenFolder | Gathered]) -> Iterator[SeenFolder]:
        """Yield folders, once all their parts are known."""
        known: list[Gathered] = []
        for part, one in zip(parts, found, strict=True):
            if isinstance(one, SeenFolder):
                yield one
                continue
            known.append(one)
            if part.is_last and part.own and (holding := holding_of(part.listed, part.own.paths)):
                with closing(holding.store), limiting():
                    seen = self._whole(holding, self._projects.of(part.listed.folder.absolute()), known)
                known = []
                yield seen

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

    def _seen(self, part: Part) -> SeenFolder | Gathered:
        """Examine a folder, or a part of one."""
        listed, own = part.listed, part.own
        self._refuse_unlisted(listed)
        if listed.why:
            mend = mends.fsck(listed.folder) if listed.is_one_file else "let it be read, or move it away"
            broken = finding(Code.BROKEN, listed.folder, listed.why, mend)
            return SeenFolder(listed.folder, findings=[broken])
        if not (holding := holding_of(listed, own and own.paths)):
            return SeenFolder(listed.folder)
        project = self._projects.of(listed.folder.absolute())
        with closing(holding.store), nullcontext() if self._importing else limiting():
            gathered = self._gathered(holding, project, part)
            return self._whole(holding, project, [gathered]) if part.is_whole else gathered

    def _gathered(self, holding: Holding, project: Project, part: Part) -> Gathered:
        """Examine files of a cassette, and gather what is to be known of the others to go on."""
        known = len(self._contracts.stored)
        use, chains = self._usage(project).cassette(holding.folder), Chains(holding.folder, project.settings.root)
        found = Gathered(Together(), use.seen, chains)
        has_sides = bool(holding.sides)
        for one in self._files(holding, project, part):
            found.files.append(one.seen)
            unsound = one.unsound
            is_own = not unsound and one.entry is not None and self._outdated.is_settings_own(one.entry, project)
            is_known = unsound <= {Code.OUTDATED_KEY}
            found.together.add(one.held, is_known=is_known, is_of_today=is_own, has_sides=has_sides)
            if one.entry and not unsound:
                use.add(one.path, one.entry)
                chains.add(one.path, one.entry)
                found.served.add(one.path, one.entry, project.settings.root)
        found.schemas = dict(islice(self._contracts.stored.items(), known, None))
        return found

    def _whole(self, holding: Holding, project: Project, parts: list[Gathered]) -> SeenFolder:
        """Join what was gathered of a cassette, and look at what is wrong with its files together."""
        seen = SeenFolder(holding.folder, is_cassette=True)
        usage = self._usage(project)
        use, together = usage.cassette(holding.folder), Together()
        chains = Chains(holding.folder, project.settings.root)
        for part in parts:
            seen.files += part.files
            together.join(part.together)
            use.join(part.use)
            chains.join(part.chains)
            seen.served.join(part.served)
            seen.schemas |= {digest: one for digest, one in part.schemas.items() if digest not in seen.schemas}
        seen.orphans = list(use.orphans())
        chains.read_again()
        with suppress(TookTooLongError), at_most(SECONDS):
            seen.chained = chains.chained()
        seen.findings += together.check(holding, project, self._schemas)
        seen.findings += (one.finding for one in seen.orphans)
        seen.findings += (one.finding for one in seen.chained)
        seen.is_untold = bool(seen.files) and not usage.runs.why and not use.is_told
        return seen

    def _files(self, holding: Holding, project: Project, part: Part | None = None) -> Iterator[Examined]:
        first = {} if part is None or part.own is None else part.own.first

        def checked(held: Held) -> Checked:
            return self._file(held, holding, project)

        files = map(checked, holding.read(part.files if part else slice(None)))
        for some in few(files, MOST if part else 1):
            for one, found in zip(some, self._looked_through(some, project), strict=True):
                yield Examined(one.held, holding.folder, project, (*check_twins(one.held, first), *found))

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

    def _looked_through(self, some: Sequence[Checked], project: Project) -> list[tuple[Finding, ...]]:
        """Return what is found of files, secrets too."""
        clear = clear_of(some, project.scrubber(()))
        found = [() if is_clear else secrets_in(one) for one, is_clear in zip(some, clear, strict=True)]
        return [(*one.before, *secret, *one.behind) for one, secret in zip(some, found, strict=True)]

    def _file(self, held: Held, holding: Holding, project: Project) -> Checked:
        """Check one file; what breaks on one does not stop the others."""
        try:
            with at_most(SECONDS):
                if held.entry is None:
                    return Checked(held, [entry_checks.unreadable(held), *secrets.in_file(held.path, held.data)])
                return self._entry(held, held.entry, holding, project)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an entry was made to do to what reads it, it is told
            found = [cannot_be_checked(held.path, error)]
            with suppress(Exception), at_most(SECONDS):  # what breaks this look as well is told already
                found += secrets.in_file(held.path, held.data)
            return Checked(held, found)

    def _entry(self, held: Held, entry: Entry, holding: Holding, project: Project) -> Checked:
        """Check an entry, but for secrets."""
        by_today = self._contracts.judge(entry, project, holding) if entry.verdict == "good" else None
        keyed = list(entry_checks.check_key(held, entry, self._keyers))
        before = [*keyed, *entry_checks.check_answer(held, entry, by_today.judgement if by_today else None)]
        is_verified = not before
        if not keyed:
            before += entry_checks.check_name(held, entry, holding)
            before += self._outdated.check(held, entry, project)
        behind = [*entry_checks.check_verdict(held, entry)]
        behind += entry_checks.check_adopted(held, entry, project.scrubber(()))
        behind += check_loose(held, entry)
        behind += check_age(held, entry, project)
        if by_today:
            behind += self._contracts.check(held, entry, project, holding, by_today)
        headers = () if keyed else tuple(entry.key_spec.rules.get("headers", ()))
        return Checked(held, before, behind, project.scrubber(headers), is_verified)

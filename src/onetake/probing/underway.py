"""A probe under way: which entries are asked, what is sent for each, what comes of it. No cassette is written to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from onetake.contract import Contract
from onetake.errors import OnetakeError, UsageError
from onetake.model import Request
from onetake.printable import one_line
from onetake.probing.asking import Asker, Ready
from onetake.probing.comparing import compare
from onetake.probing.credentials import Credentials
from onetake.probing.findings import Compared, Outcome, Unknown
from onetake.probing.gathering import Found, find, gather
from onetake.probing.report import Case, Report, Selection
from onetake.probing.sampling import choose
from onetake.probing.sending import Answered
from onetake.provenance import now
from onetake.settings import ContractSettings
from onetake.upkeep.contract_checks import ContractChecks
from onetake.upkeep.holding import Holding
from onetake.upkeep.probed import ProbeBook
from onetake.upkeep.projects import Project, Projects, Schemas

_WIDTH = 300
_NOT_YET = Unknown(Outcome.UNASKED, "the probe was interrupted before its turn")
_IN_THE_MIDDLE = Unknown(Outcome.UNASKED, "the probe was interrupted while it was asked")


@dataclass(frozen=True, slots=True)
class Waiting:
    """An entry whose turn comes.

    Args:
        path: Its file.
        case: What is said of it where its turn does not come.
    """

    path: Path
    case: Case


class Probing:
    """One probe under way.

    Args:
        start: The folder.
        asker: What asks.
        environ: Where credentials are.
        importing: As for `Wanted`.
        repeat: How often each is asked.
    """

    def __init__(
        self, start: Path, asker: Asker, environ: Mapping[str, str], *, importing: bool = False, repeat: int = 1
    ) -> None:
        self.start = start
        self.projects = Projects(start, importing=importing)
        self.is_interrupted = False
        """Whether Ctrl-C ended the asking."""
        self._asker, self._environ, self._repeat = asker, environ, repeat
        self._checks = ContractChecks(Schemas())
        self._roots: dict[str, Path] = {}

    def choose(self, selection: Selection) -> tuple[list[Waiting], list[Case]]:
        """Choose what is asked; returns it in its order, and those that nobody can ask.

        Raises:
            UsageError: No entry is selected, or the settings are wrong.
            StoreError: The folder cannot be listed.
        """
        candidates, cases, others = [], {}, []
        for found in gather(self.start, self.projects, selection.select):
            ready = self.ready(found)
            if isinstance(ready, Unknown) and ready.outcome is Outcome.UNASKABLE:
                others.append(self._case(found, ready))
            else:
                candidates.append(found.candidate)
                cases[found.held.path] = self._case(found, _NOT_YET)
        if not candidates and not others:
            raise UsageError("no entry is selected" if selection.select else f"no entries under {self.start}")
        chosen = choose(candidates, selection.size, seed=selection.seed, oldest=selection.oldest)
        return [Waiting(one.path, cases[one.path]) for one in chosen], others

    def see(self, waiting: Iterable[Waiting]) -> None:
        """See that what judges the answers can be read, and the note be written, before anything is asked and paid for.

        Raises:
            UsageError: A contract is wrong, or a file that it needs is not there.
            StoreError: The note of the probe cannot be written.
        """
        roots = {self._root}
        for one in waiting:
            project = self.projects.of(one.path.parent.absolute())
            self.see_contract(project, one.case.contract.name if one.case.contract else "")
            roots.add(project.settings.root.absolute())
        for root in sorted(roots):
            ProbeBook(root).see_that_it_can_be_written()

    def see_contract(self, project: Project, name: str) -> None:
        """See that a contract, if the settings declare it, can be read with all that it watches.

        Raises:
            UsageError: It cannot.
        """
        if declared := project.declared(name):
            project.contract(declared)
            project.watch(declared)

    def ask(self, waiting: Iterable[Waiting]) -> list[Case]:
        """Ask what was chosen, and compare: whatever ends one of them, those that are paid for are not lost."""
        cases = []
        for one in waiting:
            case = one.case
            if not self.is_interrupted:
                try:
                    case = self._asked(one)
                except KeyboardInterrupt:
                    self.is_interrupted = True
                    case = replace(case, came=_IN_THE_MIDDLE)
            cases.append(case)
        return cases

    def _asked(self, one: Waiting) -> Case:
        case = one.case
        try:
            found = find(one.path, self.projects)
            case = self._case(found, _NOT_YET)
            came = self.compared(found)
        except OnetakeError as error:
            came = self._failed(one, str(error).removeprefix(f"{one.path.as_posix()}: "))
        except Exception as error:  # noqa: BLE001 - what breaks on one entry loses no answer to another
            came = self._failed(one, f"it cannot be compared ({type(error).__name__}: {error})")
        return replace(case, came=came)

    def _failed(self, one: Waiting, why: str) -> Unknown:
        project = self.projects.of(one.path.parent.absolute())
        return Unknown(Outcome.FAILED, one_line(self.scrub(project, why), _WIDTH))

    def ready(self, found: Found) -> Ready | Unknown:
        """Return what is sent for an entry, or why nothing is."""
        if found.why_not:
            return Unknown(Outcome.UNASKABLE, one_line(self.scrub(found.project, found.why_not), _WIDTH))
        return self._asker.ready(found.entry, self.credentials(found.project))

    def credentials(self, project: Project) -> Credentials:
        """Return the credentials that count for a project's entries."""
        settings = project.settings
        return Credentials(settings.credentials.origins, self._environ, settings.prefix)

    def contracts(self, found: Found) -> tuple[Contract, ...]:
        """Return what judges the answers of an entry today.

        Raises:
            UsageError: The contract is wrong.
        """
        holding = Holding(found.folder, ())
        with closing(holding.store):
            return self._checks.judge(found.entry, found.project, holding).contracts

    def compared(self, found: Found) -> Compared | Unknown:
        """Ask an entry's request again, and compare what comes: the first answer alone, where no second one does."""
        ready = self.ready(found)
        if isinstance(ready, Unknown):
            return ready
        answers: list[Answered] = []
        while len(answers) < self._repeat and not self.is_interrupted:
            try:
                came = self._asker.ask(found.entry, ready)
            except KeyboardInterrupt:
                if not answers:
                    raise
                self.is_interrupted = True
                break
            if isinstance(came, Unknown):
                if not answers:
                    return Unknown(came.outcome, self.scrub(found.project, came.why))
                break
            answers.append(came)
        return self.beside(found, ready.request, answers)

    def beside(self, found: Found, request: Request, answers: Sequence[Answered]) -> Compared | Unknown:
        """Compare an entry with what came for its request, once or twice."""
        entry, settings = found.entry, found.project.settings
        declared = self._declared(found)
        return compare(
            entry,
            answers[0].response,
            name=self.name(found),
            again=answers[1].response if len(answers) > 1 else None,
            contracts=self.contracts(found),
            label_paths=declared.label_paths if declared else (),
            asked=request if request is not entry.request else None,
            latency_ms=answers[0].latency_ms,
            root=settings.root,
            scrub=lambda text: self.scrub(found.project, text),
        )

    def name(self, found: Found) -> str:
        """Return what the report calls an entry: the path of its file, from the settings' folder."""
        root, path = self._root, found.held.path.absolute()
        return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()

    def remember(self, report: Report) -> None:
        """Note what came, for `status`, in each project that had a part in it.

        Raises:
            StoreError: It cannot be written.
        """
        outcomes = (Outcome.AGREED, Outcome.DRIFTED, Outcome.FAILED, Outcome.UNASKED, Outcome.UNASKABLE)
        last: dict[str, Any] = {"at": now(), "sampled": report.sampled}
        last |= {outcome.value: report.count(outcome) for outcome in outcomes}
        last["exit"] = int(report.exit_code)
        other = self._asker.terms.model
        if other:
            last["model"] = other
        notes: dict[Path, list[tuple[str, str]]] = {self._root: []}
        for case in report.cases:
            found = notes.setdefault(self._roots.get(case.entry, self._root), [])
            if not other:  # what another model answers tells nothing of the one that was recorded
                found.append((case.baseline, report.outcome(case).value))
        for root, found in notes.items():
            ProbeBook(root).note(last, found)

    def scrub(self, project: Project, text: str) -> str:
        """Return a text as it may be printed: without credentials, and what the project's rules know."""
        return project.scrubber(()).begin().text(self.credentials(project).hidden(text))

    @cached_property
    def _root(self) -> Path:
        return self.projects.of(self.start.absolute()).settings.root.absolute()

    def _declared(self, found: Found) -> ContractSettings | None:
        return found.project.declared(found.contract) if found.contract else None

    def _case(self, found: Found, came: Compared | Unknown) -> Case:
        self._roots[self.name(found)] = found.project.settings.root.absolute()
        return Case(
            entry=self.name(found),
            key=found.entry.key,
            baseline=found.baseline,
            operation=found.operation,
            model_asked=self._asker.terms.model or found.model,
            model_recorded=str(found.entry.provenance.get("model_served") or ""),
            contract=found.entry.contract,
            came=came,
        )

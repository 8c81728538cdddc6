"""A probe: a sample of the stored requests is asked again, and what comes is compared. No cassette is written to."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from onetake import active, modes, prices
from onetake.contract import Contract
from onetake.decide import never_goes_live
from onetake.errors import UsageError
from onetake.model import Request
from onetake.printable import one_line
from onetake.probing.asking import TIMEOUT_S, Asker, Terms
from onetake.probing.comparing import compare
from onetake.probing.credentials import Credentials
from onetake.probing.findings import Compared, Outcome, Unknown
from onetake.probing.gathering import Found, find, gather
from onetake.probing.report import Case, Report, Selection, Thresholds
from onetake.probing.sampling import SEED, choose
from onetake.probing.sending import Answered
from onetake.provenance import now, provenance, version
from onetake.settings import load_settings
from onetake.upkeep.contract_checks import ContractChecks
from onetake.upkeep.holding import Holding
from onetake.upkeep.probed import ProbeBook
from onetake.upkeep.projects import Project, Projects, Schemas

SAMPLE = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a probe is asked for.

    Args:
        selection: Which entries.
        thresholds: What makes it fail.
        terms: On what terms they are asked.
        importing: Whether the types are imported that the settings declare contracts by: the project's code runs.
    """

    selection: Selection = field(default_factory=lambda: Selection(SAMPLE))
    thresholds: Thresholds = field(default_factory=Thresholds)
    terms: Terms = field(default_factory=Terms)
    importing: bool = False


def probe(
    path: str | Path | None = None,
    *,
    sample: int = SAMPLE,
    select: Sequence[str] = (),
    strict: bool = False,
    model: str = "",
    repeat: int = 1,
    oldest: bool = False,
    seed: str = SEED,
    max_cost: float | None = None,
    rpm: float | None = None,
    timeout: float = TIMEOUT_S,
    importing: bool = False,
) -> Report:
    """Ask some stored requests again, and say where today's answers have another structure. Writes to no cassette.

    Args:
        path: The folder of the entries; None for the settings' folder.
        sample: How many at most, 1 or more, of every operation, model and contract in turn.
        select: Which entries count: `model:…`, `operation:…`, `contract:…`, paths, the first digits of keys.
        strict: Whether a warning is drift, too.
        model: The model to ask in the place of the stored one.
        repeat: 2 asks each twice, for the noise of labels.
        oldest: Whether the oldest are asked, and not those that the seed draws.
        seed: Another one draws another sample.
        max_cost: US dollars that it may cost, at list prices.
        rpm: Requests a minute at most.
        timeout: Seconds that one answer may take.
        importing: Whether types that the settings declare contracts by are imported.

    Returns:
        The report: `document()` is `probe.json`, `exit_code` 0, 3 for drift, 4 where nothing can be said.

    Raises:
        UsageError: An argument or a setting is wrong, or what runs here is sealed.
        StoreError: The folder cannot be listed.
    """
    if sample < 1 or repeat not in (1, 2):
        raise UsageError("probe: sample is 1 or more, repeat 1 or 2")
    selection = Selection(sample, seed, oldest, tuple(select), model, repeat)
    terms = Terms(model, rpm, max_cost, timeout)
    wanted = Wanted(selection, Thresholds.of(strict=strict), terms, importing)
    return run(load_settings(Path.cwd()).root if path is None else Path(path), wanted, asker=Asker(terms))


def run(start: Path, wanted: Wanted, *, asker: Asker, environ: Mapping[str, str] = os.environ) -> Report:
    """Run a probe over the entries below a folder, and remember that it was.

    Args:
        start: The folder.
        wanted: What it is asked for.
        asker: What asks.
        environ: Where credentials are.

    Raises:
        UsageError: What runs here is sealed, no entry is selected, a budget cannot be kept, or the settings are wrong.
        StoreError: The folder cannot be listed, or the note of the probe not be written.
    """
    refuse_sealed()
    if wanted.terms.max_cost is not None and not prices.is_installed():
        raise UsageError("a budget cannot be kept: genai-prices is not installed: pip install 'onetake[prices]'")
    started = datetime.now(UTC)
    probing = Probing(start, asker, environ, importing=wanted.importing, repeat=wanted.selection.repeat)
    cases = tuple(probing.cases(wanted.selection))
    root = probing.projects.of(start.absolute()).settings.root
    report = Report(cases, wanted.selection, wanted.thresholds, started, versions(root), asker.cost)
    probing.remember(report)
    return report


def refuse_sealed() -> None:
    """See that what runs here may ask somebody.

    Raises:
        UsageError: It is sealed.
    """
    if modes.sealed_by_environment():
        raise UsageError("ONETAKE_MODE=none lets nothing be asked")
    scope = active.innermost()
    if scope is not None and never_goes_live(scope.engine.policy.mode):
        raise UsageError(f"a session is open that lets nothing be asked: {scope.engine.cassette.place}")


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
        self._asker, self._environ, self._repeat = asker, environ, repeat
        self._checks = ContractChecks(Schemas())
        self._roots: dict[str, Path] = {}

    def cases(self, selection: Selection) -> Iterator[Case]:
        """Yield every entry that is chosen, once it was asked, and behind them those that nobody can ask.

        Raises:
            UsageError: No entry is selected, or the settings are wrong.
            StoreError: The folder cannot be listed.
        """
        candidates, others = [], []
        for found in gather(self.start, self.projects, selection.select):
            request = self.request(found)
            if isinstance(request, Unknown) and request.outcome is Outcome.UNASKABLE:
                others.append(self._case(found, request))
            else:
                candidates.append(found.candidate)
        if not candidates and not others:
            raise UsageError("no entry is selected" if selection.select else f"no entries under {self.start}")
        for chosen in choose(candidates, selection.size, seed=selection.seed, oldest=selection.oldest):
            found = find(chosen.path, self.projects)
            yield self._case(found, self.compared(found))
        yield from others

    def request(self, found: Found) -> Request | Unknown:
        """Return what is sent for an entry, or why nothing is."""
        if found.why_not:
            return Unknown(Outcome.UNASKABLE, one_line(self._scrub(found, found.why_not)))
        return self._asker.request(found.entry, self.credentials(found.project))

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
        """Ask an entry's request again, and compare what comes."""
        request, credentials = self.request(found), self.credentials(found.project)
        if isinstance(request, Unknown):
            return request
        answers: list[Answered] = []
        for _ in range(self._repeat):
            came = self._asker.ask(found.entry, request, credentials)
            if isinstance(came, Unknown):
                return Unknown(came.outcome, self._scrub(found, came.why))
            answers.append(came)
        return self.beside(found, request, answers)

    def beside(self, found: Found, request: Request, answers: Sequence[Answered]) -> Compared | Unknown:
        """Compare an entry with what came for its request, once or twice."""
        entry, settings = found.entry, found.project.settings
        declared = settings.contracts.get(entry.contract.name) if entry.contract else None
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
            scrub=lambda text: self._scrub(found, text),
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
        notes: dict[Path, list[tuple[str, str]]] = {self._root: []}
        for case in report.cases:
            root = self._roots.get(case.entry, self._root)
            notes.setdefault(root, []).append((case.baseline, report.outcome(case).value))
        for root, found in notes.items():
            ProbeBook(root).note(last, found)

    @cached_property
    def _root(self) -> Path:
        return self.projects.of(self.start.absolute()).settings.root.absolute()

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

    def _scrub(self, found: Found, text: str) -> str:
        said = self.credentials(found.project).hidden(text)
        return found.project.scrubber(()).begin().text(said)


def versions(root: Path) -> dict[str, Any]:
    """Return what the words of a report mean, and the project's commit."""
    here = provenance(root, test="", client="", sdk=None, model_asked=None, model_served=None)
    commit = {name: here[name] for name in ("commit", "dirty") if name in here}
    return {"onetake": version(), "python": platform.python_version(), **commit}

"""The report of a probe: what was asked, against what, by which rules, and what came of it; `probe.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from importlib import resources
from typing import Any

from onetake.exits import Exit
from onetake.model import ContractRef
from onetake.probing.findings import Compared, Finding, Kind, Label, Note, Outcome, Severity, Unknown
from onetake.probing.intervals import wilson
from onetake.probing.sampling import SEED

__all__ = [
    "Case",
    "Compared",
    "Finding",
    "InterruptedProbe",
    "Kind",
    "Label",
    "Labelled",
    "Note",
    "Outcome",
    "Report",
    "Selection",
    "Severity",
    "Thresholds",
    "Unknown",
    "baseline_of",
    "schema",
]

FORMAT = 1
"""The version of `probe.json`. 1: the first."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What makes a probe fail, as the report names it.

    Args:
        drift: From which grade on a finding is drift: `error`, under `--strict` `warning`.
        failed: The share of the asked entries that may bring nothing to compare, 0 to 1; above it the probe is
            inconclusive.
    """

    drift: Severity = Severity.ERROR
    failed: float = 0.2

    @classmethod
    def of(cls, *, strict: bool) -> Thresholds:
        """Return the thresholds of a probe, strict or not."""
        return cls(drift=Severity.WARNING if strict else Severity.ERROR)


@dataclass(frozen=True, slots=True)
class Selection:
    """How the sample was chosen.

    Args:
        size: `--sample`.
        seed: `--seed`.
        oldest: `--oldest`.
        select: `--select`, as given; empty for all entries.
        model: `--model`: what was asked in the place of the stored model; empty for the same one.
        repeat: How often each was asked, 1 or 2.
    """

    size: int
    seed: str = SEED
    oldest: bool = False
    select: tuple[str, ...] = ()
    model: str = ""
    repeat: int = 1


@dataclass(frozen=True, slots=True)
class Case:
    """One entry of a probe, and what came of it.

    Args:
        entry: The path of its file, with `/`, from the folder that the report counts from.
        key: Its request key.
        baseline: `baseline_of` the file's bytes at the time of the probe.
        operation: As `Candidate` has it.
        model_asked: The model that the request which was sent names.
        model_recorded: The model that served the stored answer, as far as the entry says.
        contract: What the entry remembers of its contract.
        came: What comparing said, or why nothing could be compared.
    """

    entry: str
    key: str
    baseline: str
    operation: str
    model_asked: str
    model_recorded: str
    contract: ContractRef | None
    came: Compared | Unknown


@dataclass(frozen=True, slots=True)
class Labelled:
    """How many labelled answers are labelled otherwise.

    Args:
        differing: How many of them.
        of: How many there are, 1 or more.
    """

    differing: int
    of: int

    @property
    def interval(self) -> tuple[float, float]:
        """Between which shares the truth of all entries lies, at 95 %."""
        return wilson(self.differing, self.of)

    def document(self) -> dict[str, Any]:
        """Return it as `probe.json` holds it."""
        return {"differing": self.differing, "of": self.of, "interval": [round(one, 4) for one in self.interval]}


@dataclass(frozen=True, slots=True)
class Report:
    """What a probe says; enough to be read when entries, settings and contracts have gone on.

    Args:
        cases: Every entry that was chosen, in the order in which they were asked, and those that cannot be asked.
        selection: How they were chosen.
        thresholds: What makes it fail.
        started_at: With a time zone.
        versions: What the words mean and who wrote the entries' world: at least `onetake` and `python`; `commit` (with
            `dirty`) of the project, where git knows one.
        cost_usd: What the asking cost, None where no price is known.
        unnoted: Why `onetake status` will not know of the probe; empty where it will.
    """

    cases: tuple[Case, ...]
    selection: Selection
    thresholds: Thresholds
    started_at: datetime
    versions: Mapping[str, Any] = field(default_factory=dict)
    cost_usd: float | None = None
    unnoted: str = ""

    def outcome(self, case: Case) -> Outcome:
        """Say what became of one entry under the thresholds."""
        if isinstance(case.came, Unknown):
            return case.came.outcome
        worst, grades = case.came.worst(), list(Severity)
        drifted = worst is not None and grades.index(worst) >= grades.index(self.thresholds.drift)
        return Outcome.DRIFTED if drifted else Outcome.AGREED

    def count(self, *outcomes: Outcome) -> int:
        """Return how many entries came out so."""
        return sum(self.outcome(case) in outcomes for case in self.cases)

    @property
    def sampled(self) -> int:
        """How many entries were chosen to be asked: agreed, drifted, failed and unasked; the unaskable stand beside."""
        return len(self.cases) - self.count(Outcome.UNASKABLE)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, entry by entry."""
        return tuple(finding for case in self.cases for finding in _compared(case).findings)

    @property
    def exit_code(self) -> Exit:
        """Say how the probe ended.

        3 where an entry drifted: what was found is true, whatever else failed. 4 where none did, and nothing was
        compared, something was not asked, or too many failed. Else 0.
        """
        if self.count(Outcome.DRIFTED):
            return Exit.DRIFT
        agreed, failed = self.count(Outcome.AGREED), self.count(Outcome.FAILED)
        too_many = failed > self.thresholds.failed * (agreed + failed)
        return Exit.INCONCLUSIVE if not agreed or too_many or self.count(Outcome.UNASKED) else Exit.OK

    def labelled(self, path: str | None = None) -> Labelled | None:
        """Count the answers that have labels, and those that are labelled otherwise; None where no answer has any.

        Args:
            path: The label that counts; None for all, of which an answer may differ in any.
        """
        found = self._labels(path)
        return Labelled(sum(any(one.differs for one in labels) for labels in found), len(found)) if found else None

    def noise(self, path: str | None = None) -> Labelled | None:
        """Count the answers that the model labels otherwise when it is asked twice; None where that was not asked."""
        found = [labels for labels in self._labels(path) if all(one.noise is not None for one in labels)]
        return Labelled(sum(any(one.noise for one in labels) for labels in found), len(found)) if found else None

    def document(self) -> dict[str, Any]:
        """Return the report as `probe.json` holds it; it fits `schema()`."""
        return {
            "probe": FORMAT,
            "started_at": self.started_at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            "versions": dict(self.versions),
            "selection": asdict(self.selection) | {"select": list(self.selection.select)},
            "thresholds": asdict(self.thresholds),
            "exit": int(self.exit_code),
            "sampled": self.sampled,
            **{str(outcome): self.count(outcome) for outcome in Outcome},
            "labels": self._labels_document(),
            "findings": [asdict(finding) for finding in self.findings],
            "entries": [self._entry(case) for case in self.cases],
            "cost_usd": self.cost_usd,
        }

    def _labels(self, path: str | None) -> list[list[Label]]:
        """Return the labels of each answer that has any."""
        found = ([one for one in _compared(case).labels if path in (None, one.path)] for case in self.cases)
        return [labels for labels in found if labels]

    def _labels_document(self) -> dict[str, Any] | None:
        labelled = self.labelled()
        if labelled is None:
            return None
        paths = dict.fromkeys(one.path for labels in self._labels(None) for one in labels)
        return {
            **labelled.document(),
            "noise": _document(self.noise()),
            "paths": [
                {"path": path, **(_document(self.labelled(path)) or {}), "noise": _document(self.noise(path))}
                for path in paths
            ],
        }

    def _entry(self, case: Case) -> dict[str, Any]:
        compared = _compared(case)
        return {
            "entry": case.entry,
            "key": case.key,
            "outcome": self.outcome(case),
            "why": case.came.why if isinstance(case.came, Unknown) else None,
            "baseline": case.baseline,
            "operation": case.operation,
            "model": {"asked": case.model_asked, "recorded": case.model_recorded, "live": compared.model},
            "contract": {"recorded": _ref(case.contract), "live": _ref(compared.contract)},
            "notes": [asdict(note) for note in compared.notes],
        }


class InterruptedProbe(KeyboardInterrupt):
    """Ctrl-C ended a probe.

    Args:
        report: What came until then; what was not asked any more is `unasked`.
    """

    def __init__(self, report: Report) -> None:
        super().__init__("the probe was interrupted")
        self.report = report


def baseline_of(data: bytes) -> str:
    """Return the digest by which a report names an entry as it was: SHA-256 of its file's bytes, 64 hex digits."""
    return sha256(data).hexdigest()


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of `probe.json`, as it is published beside this module."""
    text = resources.files("onetake.probing").joinpath("probe.schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _compared(case: Case) -> Compared:
    return case.came if isinstance(case.came, Compared) else Compared()


def _document(labelled: Labelled | None) -> dict[str, Any] | None:
    return None if labelled is None else labelled.document()


def _ref(contract: ContractRef | None) -> dict[str, Any] | None:
    return None if contract is None else asdict(contract)

"""What a comparison of a stored answer with a fresh one says: findings by grade, labels, notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from onetake.model import ContractRef


class Severity(StrEnum):
    """How much a finding weighs; the exit code follows the gravest."""

    INFO = "info"
    """Something came that was not there, or went that may be absent: readers of the old shape go on."""
    WARNING = "warning"
    """Something that was there is gone, or a label is another; counts as drift under `--strict`."""
    ERROR = "error"
    """Something is of another type, or what the answer means for a program is another: drift."""


class Kind(StrEnum):
    """What a finding is about."""

    CONTRACT = "contract"
    """The fresh answer breaks what the stored one satisfies."""
    ADDED = "added"
    REMOVED = "removed"
    TYPE = "type"
    """Another JSON type or container; vectors that are more or fewer, or of another width."""
    NULL = "null"
    """A value where null stood, or null where a value stood."""
    ENUM = "enum"
    """Another word where an API says what an object is: `type`, `object`, `role`."""
    FINISH = "finish"
    LENGTH = "length"
    """A token limit cut the answer."""
    CUT = "cut"
    """The stream ends without its terminal event."""
    REFUSAL = "refusal"
    CHOICES = "choices"
    """Another number of choices."""
    TOOL = "tool"
    """A tool is no longer called, or another is."""
    ANSWER = "answer"
    """The answer is no longer where it is read."""
    EVENTS = "events"
    """Events of a stream, or their order."""
    MODEL = "model"
    """Another model is served."""
    STATUS = "status"
    LABEL = "label"
    """A declared label has another value, or cannot be looked up."""


class Outcome(StrEnum):
    """What became of one entry of a sample."""

    AGREED = "agreed"
    DRIFTED = "drifted"
    FAILED = "failed"
    """Asked, and nothing came that could be compared: that is no drift."""
    UNASKABLE = "unaskable"
    """It cannot be asked again as it is stored."""
    UNASKED = "unasked"
    """The budget or the time was used up before its turn."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a fresh answer differs from the stored one.

    Args:
        entry: The path of the entry's file, as the report names it.
        path: Where: `$.choices[*].message.content` in the body, `answer$.items[*].label` in the JSON of an answer,
            `tools.look_up$.city` in a tool's arguments, `events`, `finish`, `model`, …
        severity: Its grade.
        kind: What it is about.
        recorded: What is stored: a JSON value, mostly a word (`array`, `stop`); None where nothing is.
        live: What came; None where nothing did.
    """

    entry: str
    path: str
    severity: Severity
    kind: Kind
    recorded: object
    live: object


@dataclass(frozen=True, slots=True)
class Label:
    """One declared label of one answer.

    Args:
        path: Its JSON path, as declared.
        differs: Whether the fresh value is another than the stored one.
        noise: Whether two fresh answers differ from each other; None where one was asked for.
    """

    path: str
    differs: bool
    noise: bool | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A measured value of both answers, for people: it is no finding and moves no exit code.

    Args:
        name: `input_tokens`, `output_tokens`, `latency_ms`, `fingerprint`.
        recorded: As stored, None where it is not.
        live: As it came, None where it did not.
    """

    name: str
    recorded: object
    live: object


@dataclass(frozen=True, slots=True)
class Compared:
    """What a fresh answer is beside the stored one. All texts in it are scrubbed.

    Args:
        findings: The gravest first, then by path.
        labels: One for each declared path that found a value in either answer.
        notes: What was measured of both.
        model: The model that was served with the fresh answer, as far as it says so.
        contract: The contract of today that judged it; None where none did.
    """

    findings: tuple[Finding, ...] = ()
    labels: tuple[Label, ...] = ()
    notes: tuple[Note, ...] = ()
    model: str = ""
    contract: ContractRef | None = None

    def worst(self) -> Severity | None:
        """Return the gravest grade among the findings, None where there is none."""
        return max((finding.severity for finding in self.findings), key=list(Severity).index, default=None)


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing could be compared.

    Args:
        outcome: `failed`, `unaskable` or `unasked`.
        why: The reason in one line, scrubbed.
    """

    outcome: Outcome
    why: str


def by_weight(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings without repeats, the gravest first, then by path. Their values are no lists or objects."""
    grades = list(Severity)
    order = sorted(findings, key=lambda one: (-grades.index(one.severity), one.path, one.kind))
    return tuple(dict.fromkeys(order))

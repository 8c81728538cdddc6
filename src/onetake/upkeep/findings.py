"""What `onetake check` finds: plain data, and what it means for the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Severity(StrEnum):
    """How bad a finding is; the worst comes first."""

    ERROR = "error"
    """A replay would refuse the entry, serve what nobody recorded, or give a secret away."""
    WARNING = "warning"
    """A person should look; `--strict` fails on it."""
    INFO = "info"
    """To be known; nothing fails on it."""


class Code(StrEnum):
    """What kind of finding it is; what `status` advises has the same name there."""

    BROKEN = "broken"
    SECRET = "secret"
    SCHEMA_BUMPED = "schema-bumped"
    BREAKS_CONTRACT = "breaks-contract"
    PREDATES_PARSER = "predates-parser"
    MISNAMED = "misnamed"
    DUPLICATE = "duplicate"
    DECORATION = "decoration"
    LOOSE_CONTRACT = "loose-contract"
    UNCHECKED = "unchecked"
    DIFFERING_ANSWERS = "differing-answers"
    MISSING_ANSWER = "missing-answer"
    IMPORTED_TWICE = "imported-twice"
    KEPT = "kept"
    ADOPTED = "adopted"
    LOOSE = "loose"
    ORPHAN = "orphan"
    PROBE_FIRST = "probe-first"
    OLD_ANSWER = "old-answer"
    OUTDATED_KEY = "outdated-key"
    OUTDATED_SCHEMA = "outdated-schema"
    FROZEN_SCHEMA = "frozen-schema"
    NOT_IMPORTED = "not-imported"
    UNUSED_SIDECAR = "unused-sidecar"


SEVERITY: Mapping[Code, Severity] = {
    Code.BROKEN: Severity.ERROR,
    Code.SECRET: Severity.ERROR,
    Code.SCHEMA_BUMPED: Severity.ERROR,
    Code.BREAKS_CONTRACT: Severity.ERROR,
    Code.MISNAMED: Severity.ERROR,
    Code.DUPLICATE: Severity.ERROR,
    Code.OUTDATED_KEY: Severity.ERROR,
    Code.OUTDATED_SCHEMA: Severity.ERROR,
    Code.PREDATES_PARSER: Severity.WARNING,
    Code.DECORATION: Severity.WARNING,
    Code.LOOSE_CONTRACT: Severity.WARNING,
    Code.UNCHECKED: Severity.WARNING,
    Code.DIFFERING_ANSWERS: Severity.WARNING,
    Code.MISSING_ANSWER: Severity.WARNING,
    Code.IMPORTED_TWICE: Severity.WARNING,
    Code.OLD_ANSWER: Severity.WARNING,
    Code.KEPT: Severity.INFO,
    Code.ADOPTED: Severity.INFO,
    Code.LOOSE: Severity.INFO,
    Code.ORPHAN: Severity.INFO,
    Code.PROBE_FIRST: Severity.INFO,
    Code.FROZEN_SCHEMA: Severity.INFO,
    Code.NOT_IMPORTED: Severity.INFO,
    Code.UNUSED_SIDECAR: Severity.INFO,
}
"""Every code's severity; `differing-answers` is `info` where the settings do not say that one answer is meant, and
`loose` is more than that where there are more, or fewer, than the settings say."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know of one file.

    Args:
        code: What it is.
        path: The file; for a contract, its schema or the settings.
        line: Where in the file, from 1; 1 where that is not known.
        severity: How bad it is.
        message: What is wrong; its first line says it, further ones are details. Not yet safe to print.
        mend: What to do: a command to run, or an edit; never empty: where nothing is to be done, it says that.

    Raises:
        ValueError: It does not say what to do.
    """

    code: Code
    path: Path
    line: int
    severity: Severity
    message: str
    mend: str

    def __post_init__(self) -> None:
        """Refuse a finding that leaves its reader alone."""
        if not self.mend:
            raise ValueError(f"a finding without a mend: {self.code}")


def finding(code: Code, path: Path, message: str, mend: str, line: int = 1) -> Finding:
    """Make a finding of its code's severity."""
    return Finding(code, path, line, SEVERITY[code], message, mend)


def count(findings: Iterable[Finding]) -> dict[str, int]:
    """Return how many there are of each severity, the worst first, none left out."""
    found = Counter(one.severity for one in findings)
    return {severity.value: found[severity] for severity in Severity}


def fails(findings: Iterable[Finding], *, strict: bool) -> bool:
    """Tell whether findings fail the check: an error does, a warning where *strict*, an info never."""
    bad = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return any(one.severity in bad for one in findings)

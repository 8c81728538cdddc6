"""Loose entries: imported without their requests' bodies, so that they answer whatever is asked; they may only fall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from onetake.imported import LOOSE, is_loose
from onetake.model import Entry
from onetake.upkeep.findings import Code, Finding, Severity, finding
from onetake.upkeep.holding import Held
from onetake.upkeep.projects import Project

_SETTING = "legacy_loose"


def check_loose(held: Held, entry: Entry) -> Iterator[Finding]:
    """Say that an entry answers by method and URL alone."""
    if is_loose(entry):
        why = "it was imported without its request's body: it answers whatever is asked of its method and URL"
        yield finding(Code.LOOSE, held.path, why, "record its test anew", held.line_of(LOOSE))


class LooseCount:
    """How many loose entries there are of each project, against the number in its settings.

    Args:
        start: Where the search started.
    """

    def __init__(self, start: Path) -> None:
        self._start = start.absolute()
        self._found: Counter[Path] = Counter()

    def add(self, findings: Iterator[Finding], project: Project) -> None:
        """Count those among the findings of a cassette's files."""
        self._found[project.settings.root] += sum(one.code is Code.LOOSE for one in findings)

    def check(self, projects: Iterator[Project]) -> Iterator[Finding]:
        """Compare the numbers; of a part of a project only that there are too many can be known."""
        for project in projects:
            root, limit = project.settings.root, project.settings.legacy_loose
            number = self._found[root]
            is_whole = root.absolute().is_relative_to(self._start)
            if limit is None and number and is_whole:
                yield self._told(project, number, "no number is set that they may not pass", Severity.WARNING)
            elif limit is not None and number > limit:
                yield self._told(project, number, f"{_SETTING} allows {limit}", Severity.ERROR)
            elif limit is not None and number < limit and is_whole:
                yield self._told(project, number, f"{_SETTING} still allows {limit}", Severity.WARNING)

    def _told(self, project: Project, number: int, why: str, severity: Severity) -> Finding:
        there = "1 loose entry is there" if number == 1 else f"{number:,} loose entries are there"
        is_too_many = severity is Severity.ERROR
        mend = "record their tests anew" if is_too_many else f"set {_SETTING} = {number}: it may only fall"
        place = project.file or project.settings.root
        return replace(finding(Code.LOOSE, place, f"{there}, and {why}", mend, _line(project.file)), severity=severity)


def _line(file: Path | None) -> int:
    lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines() if file else []
    return next((number for number, text in enumerate(lines, 1) if text.lstrip().startswith(_SETTING)), 1)

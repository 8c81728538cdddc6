"""What was found of a run's misses so far, over all cassettes."""

from __future__ import annotations

from pathlib import Path

from onetake.missed import Missed
from onetake.upkeep.adopt.adopting import Group, Plan, Unexplained
from onetake.upkeep.adopt.operations import Operations
from onetake.upkeep.projects import Project
from onetake.upkeep.ruling import Ruling
from onetake.upkeep.stored_rules import NO_RULES

_TRIED = 20
"""Differences that explained others already and are tried on a miss before the nearest request is looked for."""


class Explained:
    """What was found so far, over all cassettes."""

    def __init__(self) -> None:
        self._groups: dict[tuple[Operations, str], Group] = {}
        self._known: dict[Operations, int] = {}
        self._unexplained: list[Unexplained] = []
        self._left: list[tuple[Path, str]] = []
        self._rulings: dict[Path | None, Ruling] = {}

    @property
    def plan(self) -> Plan:
        """All of it, in order."""
        found = sorted(self._groups.values(), key=lambda group: (bool(group.refused), -len(group.misses)))
        return Plan(tuple(found), tuple(self._unexplained), tuple(self._left))

    def leave(self, missed: Missed, why: str, mend: str) -> None:
        """Note that a miss is not explained.

        Args:
            missed: It.
            why: What is in the way.
            mend: What to do.
        """
        self._unexplained.append(Unexplained(missed, why, mend))

    def leave_out(self, path: Path, why: str) -> None:
        """Note that an entry gives its answer to nothing.

        Args:
            path: Its file.
            why: What is wrong with it.
        """
        self._left.append((path, why))

    def ruling(self, project: Project) -> Ruling:
        """Return what says which key rules hold for entries of a project.

        Args:
            project: It.
        """
        if project.file not in self._rulings:
            self._rulings[project.file] = Ruling(project, NO_RULES, NO_RULES)
        return self._rulings[project.file]

    def likely(self) -> list[Operations]:
        """Return the differences that explained the most so far."""
        return sorted(self._known, key=lambda one: -self._known[one])[:_TRIED]

    def group(self, found: Operations, cautions: tuple[str, ...], refused: str = "", instead: str = "") -> Group:
        """Return the group of a difference.

        Args:
            found: It.
            cautions: What to know before it is adopted.
            refused: Why it may not be; empty where it may.
            instead: What may help then but to record.
        """
        return self._groups.setdefault((found, refused), Group(found, refused, cautions, instead))

    def know(self, found: Operations) -> None:
        """Note that a difference explains one more miss.

        Args:
            found: It.
        """
        self._known[found] = self._known.get(found, 0) + 1

"""What became of all files together: totals that grow file by file, so that no row need be held."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onetake.importers.counting import Groups
from onetake.importers.importing import Imported
from onetake.importers.judging import Outcome


@dataclass
class Totals:
    """The totals of an import.

    Args:
        dry_run: Whether nothing is written.
    """

    dry_run: bool
    files: int = 0
    interactions: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    groups: Groups = field(default_factory=Groups)
    never_played: int = 0
    new: int = 0
    """Entries that were not there before, or would be written."""
    bytes_in: int = 0
    bytes_out: int = 0
    secrets: Counter[str] = field(default_factory=Counter)
    hosts: set[str] = field(default_factory=set)
    keep: set[str] = field(default_factory=set)
    folders: dict[Path, Path] = field(default_factory=dict)
    """A file of each folder that has cassettes of vcrpy's."""
    loose: Counter[Path] = field(default_factory=Counter)
    """Loose entries by their settings' folder."""

    @property
    def are_all_in(self) -> bool:
        """Tell whether every row is an entry."""
        return self.outcomes.keys() <= {Outcome.IMPORTED, Outcome.LOOSE}

    @property
    def were_there(self) -> int:
        """Return how many entries had been imported before."""
        return self.outcomes[Outcome.IMPORTED] + self.outcomes[Outcome.LOOSE] - self.new

    def add(self, one: Imported) -> None:
        """Count what became of a file."""
        outcomes = Counter(row.outcome for row in one.rows)
        self.files += 1
        self.interactions += one.interactions
        self.outcomes += outcomes
        self.groups += one.groups
        self.never_played += one.never_played
        self.new += one.written
        self.bytes_in += one.bytes_in
        self.bytes_out += one.bytes_out
        self.secrets.update(one.secrets)
        self.hosts.update(one.hosts)
        self.keep.update(one.keep)
        if one.interactions:
            self.folders.setdefault(one.path.parent, one.path)
        if one.root is not None and outcomes[Outcome.LOOSE]:
            self.loose[one.root] += outcomes[Outcome.LOOSE]

    def as_json(self) -> dict[str, Any]:
        """Return them as the command's document has them."""
        groups = self.groups
        return {
            "files": self.files,
            "interactions": self.interactions,
            "distinct": groups.distinct,
            **{str(outcome): self.outcomes[outcome] for outcome in Outcome},
            "url_only_groups": groups.url_only,
            "repeated_groups": groups.repeated,
            "repeated_other_answers": groups.other_answers,
            "repeated_other_statuses": groups.other_statuses,
            "credential_groups": groups.only_credentials,
            "never_played": self.never_played,
            "written": 0 if self.dry_run else self.new,
            "answer_bytes": {"read": self.bytes_in, "stored": self.bytes_out},
            "secrets": dict(self.secrets.most_common()),
            "dry_run": self.dry_run,
        }

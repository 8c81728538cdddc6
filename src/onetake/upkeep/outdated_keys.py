"""Entries whose key is of other rules than the settings', or of an older recipe: no replay need find them today."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from onetake import key_specs
from onetake.errors import UsageError
from onetake.key_specs import Age
from onetake.model import Entry
from onetake.upkeep import mends
from onetake.upkeep.entry_checks import Keyers
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held
from onetake.upkeep.projects import Project
from onetake.upkeep.ruling import Ruling
from onetake.upkeep.stored_rules import NO_RULES, days_of, read_rules


class OutdatedKeys:
    """Keys entries under the rules of today, as `rekey` does, where they were keyed by others than the settings'.

    A rule that only the entry holds may be a marker's, so it counts, unless it is known that it left the settings.

    Args:
        keyers: The keyers of entries.
    """

    def __init__(self, keyers: Keyers) -> None:
        self._keyers = keyers
        self._rulings: dict[Path | None, Ruling] = {}
        self._stored: dict[tuple[Path | None, str], bool] = {}

    def check(self, held: Held, entry: Entry, project: Project) -> Iterator[Finding]:
        """Say that an entry, whose key has been verified, has another key today, or is of an older recipe or list.

        Args:
            held: The file.
            entry: What is in it.
            project: Its own.
        """
        spec = entry.key_spec
        if key_specs.format_age(spec) is Age.OLDER:
            today = key_specs.current({})
            why = f"{key_specs.told(spec)}, which were older than those of today ({today.recipe}, {today.scrub})"
            yield _outdated(held, why)
            return
        if self.is_settings_own(entry, project):
            return
        keyer = self._ruling(project).of(entry, held.path.parent.absolute()).keyer
        days = self._keyers.of(spec.rules)[1] or days_of(entry)
        if keyer.key(entry.request, days) == entry.key:
            return
        why = "its key is of other rules than the settings hold today: no replay finds it"
        yield _outdated(held, why)

    def is_settings_own(self, entry: Entry, project: Project) -> bool:
        """Tell whether an entry was keyed by the very rules that the settings hold.

        Args:
            entry: It; rules that are damaged are none of the settings'.
            project: Its own.
        """
        rules = entry.key_spec.rules
        name = (project.file, json.dumps(rules) if rules else "")
        if name not in self._stored:
            try:
                self._stored[name] = read_rules(rules) == project.settings.key
            except UsageError:
                self._stored[name] = False
        return self._stored[name]

    def _ruling(self, project: Project) -> Ruling:
        if project.file not in self._rulings:
            self._rulings[project.file] = Ruling(project, NO_RULES, NO_RULES)
        return self._rulings[project.file]


def _outdated(held: Held, why: str) -> Finding:
    return finding(Code.OUTDATED_KEY, held.path, why, mends.rekey(held.path.parent), held.line_of("key_spec"))

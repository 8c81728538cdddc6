"""Entries whose key is of other rules than the settings', or of an older recipe: no replay need find them today."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from onetake import key_specs
from onetake.errors import UsageError
from onetake.key import Keyer
from onetake.key_specs import Age
from onetake.model import Entry
from onetake.options import joined
from onetake.upkeep import mends
from onetake.upkeep.entry_checks import Keyers
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held
from onetake.upkeep.projects import Project
from onetake.upkeep.stored_rules import NO_RULES, days_of, read_rules, without


class OutdatedKeys:
    """Keys entries under the settings' rules of today, where they were keyed without one of these.

    Rules that only the entry holds may be a marker's, so they count too, and one that left the settings is not missed.

    Args:
        keyers: The keyers of entries.
    """

    def __init__(self, keyers: Keyers) -> None:
        self._keyers = keyers
        self._made: dict[tuple[Path | None, str], Keyer | None] = {}

    def check(self, held: Held, entry: Entry, project: Project) -> Iterator[Finding]:
        """Say that an entry, whose key has been verified, has another key today, or is of an older recipe or list."""
        spec, line = entry.key_spec, held.line_of("key_spec")
        if key_specs.format_age(spec) is Age.OLDER:
            today = key_specs.current({})
            why = f"{key_specs.told(spec)}, which were older than those of today ({today.recipe}, {today.scrub})"
            yield finding(Code.OUTDATED_KEY, held.path, why, mends.rekey(held.path.parent), line)
            return
        keyer = self._keyer(entry, project)
        if keyer is None:
            return
        days = self._keyers.of(entry.key_spec.rules)[1] or days_of(entry)
        if keyer.key(entry.request, days) == entry.key:
            return
        why = "its key is of other rules than the settings hold today: no replay finds it"
        yield finding(Code.OUTDATED_KEY, held.path, why, mends.rekey(held.path.parent), line)

    def _keyer(self, entry: Entry, project: Project) -> Keyer | None:
        """Return the keyer of today; None where the entry was keyed by all rules that the settings hold."""
        settings = project.settings.key
        if settings == NO_RULES:
            return None
        name = (project.file, json.dumps(entry.key_spec.rules))
        if name not in self._made:
            try:
                stored = read_rules(entry.key_spec.rules)
                is_whole = without(settings, stored) == NO_RULES
                self._made[name] = None if is_whole else Keyer(joined(settings, without(stored, settings)))
            except UsageError:
                self._made[name] = Keyer(settings)  # a rule of the settings is wrong: that is said, and by it
        return self._made[name]

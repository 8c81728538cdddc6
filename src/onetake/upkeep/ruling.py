"""The key rules that hold today for stored entries: the settings', and those that sessions had besides."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from onetake import git
from onetake.errors import FormatError, UsageError
from onetake.key import Keyer
from onetake.missed import Missed, missed_in
from onetake.model import Entry
from onetake.options import joined
from onetake.scrub import Scrubber
from onetake.settings import KeyRules, key_rules
from onetake.settings_files import parse_toml
from onetake.upkeep.projects import Project
from onetake.upkeep.stored_rules import NO_RULES, read_rules, without
from onetake.validity import when

_COMMIT_DIGITS = (40, 64)
_Place = tuple[Path, str | None]


@dataclass(frozen=True, slots=True)
class Ruled:
    """What holds for an entry today.

    Args:
        keyer: Of the rules in force.
        scrubber: It keeps the headers that these rules count.
        headers: Headers that count now and did not when the entry was recorded.
        kept: What the entry was keyed by besides the settings' rules of today, and still is.
    """

    keyer: Keyer
    scrubber: Scrubber
    headers: tuple[str, ...]
    kept: KeyRules


class Ruling:
    """Says which key rules hold for entries of one project.

    An entry does not say which of its rules were the settings' and which those of a marker or call. What a run
    missed tells what was in force for its cassette. Without that, a rule that the settings do not hold is kept, unless
    git knows that they held it: where the entry was recorded, or in the last commit.

    Args:
        project: The settings.
        added: Rules of markers or calls that the user names besides.
        dropped: Rules that the user says are in force no more.

    Raises:
        UsageError: The settings hold a rule that is said to be dropped.
    """

    def __init__(self, project: Project, added: KeyRules, dropped: KeyRules) -> None:
        Keyer(project.settings.key)  # a wrong rule is the settings' fault, and no entry's
        self._project = project
        self._added = added
        self._dropped = dropped
        self._at_commits: dict[str, KeyRules] = {}
        self._read: dict[str, KeyRules] = {}
        self._made: dict[tuple[str, str], Ruled] = {}
        self._forces: dict[_Place, KeyRules | None] = {}
        if both := written(_common(dropped, project.settings.key)).replace("\n", "; "):
            where = f"[{project.settings.prefix}key]"
            raise UsageError(f"--drop: {both} is in {where} of the settings: take it out there")

    def of(self, entry: Entry, folder: Path) -> Ruled:
        """Return what holds for an entry whose key has been verified.

        Args:
            entry: It.
            folder: Its cassette's, absolute.
        """
        origin = entry.provenance
        name = json.dumps(entry.key_spec.rules)
        if name not in self._read:
            self._read[name] = _rules_of(entry)
        stored = self._read[name]
        own = self._in_force(folder, str(origin.get("test", "")))
        if own is None:
            own = self._never_the_settings(without(stored, self._project.settings.key), str(origin.get("commit", "")))
        if (name, written(own)) not in self._made:
            self._made[name, written(own)] = self._ruled(stored, own)
        return self._made[name, written(own)]

    def _ruled(self, stored: KeyRules, own: KeyRules) -> Ruled:
        settings = self._project.settings.key
        own = without(own, self._dropped)
        own = joined(own, without(without(self._added, settings), own))
        rules = joined(settings, own)
        headers = tuple(name for name in rules.headers if name not in stored.headers)
        return Ruled(Keyer(rules), self._project.scrubber(own.headers), headers, _common(own, stored))

    def _never_the_settings(self, own: KeyRules, commit: str) -> KeyRules:
        """Return those of an entry's own rules that the settings did not hold, as far as git knows."""
        for revision in (commit, "HEAD"):
            if own != NO_RULES:
                own = without(own, self._at(revision))
        return own

    @cached_property
    def _missed(self) -> dict[_Place, list[Missed]]:
        """What runs missed since the settings were changed, by cassette: of one test, and of all (None)."""
        found: dict[_Place, list[Missed]] = defaultdict(list)
        for one in filter(self._is_new, missed_in(self._project.settings.root)):
            found[one.folder, one.test].append(one)
            found[one.folder, None].append(one)
        return found

    def _in_force(self, folder: Path, test: str) -> KeyRules | None:
        """Return the rules besides the settings' that the last run went by; None where it says nothing, or two things.

        The rules of a test are those of its own session; a cassette that other tests opened too may have several.
        """
        place = folder, test if (folder, test) in self._missed else None
        if place not in self._forces:
            self._forces[place] = self._own_rules(self._missed.get(place, ()))
        return self._forces[place]

    def _own_rules(self, missed: Iterable[Missed]) -> KeyRules | None:
        found = {written(rules): rules for one in missed if (rules := _stored_rules(one)) is not None}
        if len(found) != 1:
            return None
        rules = next(iter(found.values()))
        settings = self._project.settings.key
        return without(rules, settings) if without(settings, rules) == NO_RULES else None

    def _is_new(self, missed: Missed) -> bool:
        """Tell whether a miss came after the last change of the settings."""
        file = self._project.file
        try:
            return file is None or int(file.stat().st_mtime) <= when(missed.at).timestamp()
        except (ValueError, OSError):
            return False

    def _at(self, revision: str) -> KeyRules:
        """Return the rules that the settings held at a commit; none where that is not known."""
        if revision not in self._at_commits:
            self._at_commits[revision] = self._read_at(revision)
        return self._at_commits[revision]

    def _read_at(self, revision: str) -> KeyRules:
        file = self._project.file
        is_commit = len(revision) in _COMMIT_DIGITS and not set(revision) - set("0123456789abcdef")
        if file is None or not (is_commit or revision == "HEAD"):
            return NO_RULES
        content = git.ask(file.parent, "cat-file", "blob", f"{revision}:./{file.name}")
        try:
            table: Any = parse_toml(file, content or b"")
            for part in self._project.settings.prefix.split(".")[:-1]:
                table = table.get(part, {})
            return key_rules(table.get("key", {}))
        except (UsageError, AttributeError):  # it was wrong then, or written in another form
            return NO_RULES


def _rules_of(entry: Entry) -> KeyRules:
    try:
        return read_rules(entry.key_spec.rules)
    except UsageError as error:  # not the settings' fault
        raise FormatError(f"its key rules are damaged: {error}") from None


def written(rules: KeyRules) -> str:
    """Write rules as TOML has them, one line for each setting; empty where there is none."""
    lists = {name: list(getattr(rules, name)) for name in ("ignore", "ids", "volatile", "headers")}
    said = [f"{name} = {json.dumps(found, ensure_ascii=False)}" for name, found in lists.items() if found]
    said += [f"replace = [{', '.join(map(_pair, rules.replace))}]"] if rules.replace else []
    origins = ", ".join(f"{json.dumps(name)} = {json.dumps(word)}" for name, word in rules.origins.items())
    return "\n".join([*said, f"origins = {{ {origins} }}"] if origins else said)


def _pair(rule: Any) -> str:
    return f"{{ pattern = {json.dumps(rule.pattern)}, with = {json.dumps(rule.to)} }}"


def _common(rules: KeyRules, other: KeyRules) -> KeyRules:
    return without(rules, without(rules, other))


def _stored_rules(missed: Missed) -> KeyRules | None:
    try:
        return read_rules(missed.key_spec.rules)
    except UsageError:
        return None

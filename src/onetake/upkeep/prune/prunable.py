"""Why an entry may be pruned, and what keeps it all the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from onetake.model import Entry
from onetake.stores.naming import parse_name
from onetake.upkeep.examining import Examined
from onetake.upkeep.findings import Code
from onetake.upkeep.orphans import Usage
from onetake.upkeep.prune.trash import mark_of
from onetake.upkeep.sparing import Sparing
from onetake.upkeep.successors import Orphan
from onetake.validity import moment, when


class Reason(StrEnum):
    """Why a file may go; the first ones are in the order in which `--max-bytes` takes them."""

    TRASH = "trash"
    """It lies in the trash."""
    REJECT = "reject"
    """The gate refused it, and it is never replayed."""
    ORPHAN = "orphan"
    """A run of all tests, all of which passed, left it without use."""
    SUPERSEDED = "superseded"
    """An orphan in whose place another is used: a newer one that is most like it, or one that was adopted from it."""
    STALE = "stale"
    """Its `schema_version` is not today's, or its answer breaks today's contract."""
    OLD = "older-than"
    """It was recorded before a moment."""
    SIDECAR = "sidecar"
    """It is a body or a schema that no entry names."""


BY_RUNS = frozenset({Reason.ORPHAN, Reason.SUPERSEDED})
"""What only the runs on record can tell."""

_STALE = frozenset({Code.SCHEMA_BUMPED, Code.BREAKS_CONTRACT})


@dataclass(frozen=True, slots=True)
class Prunable:
    """One entry that may go.

    Args:
        path: Its file.
        folder: The folder that it lies in: a cassette's, or one of rejects.
        root: The settings' folder.
        size: In bytes.
        at: When it was recorded; `UNKNOWN` where it does not say so.
        mark: What it holds, as `trash.mark_of` has it.
        why: In words, by reason.
    """

    path: Path
    folder: Path
    root: Path
    size: int
    at: datetime
    mark: bytes
    why: Mapping[Reason, str]


@dataclass(frozen=True, slots=True)
class Left:
    """A file that stays although there is a reason to prune it; and what keeps it."""

    path: Path
    why: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one project besides its entries.

    Args:
        root: The settings' folder.
        usage: What its own runs on record tell.
        sparing: What keeps its entries.
        before: What was recorded before counts as old; None where age is no reason.
    """

    root: Path
    usage: Usage
    sparing: Sparing
    before: datetime | None


class CassetteReasons:
    """The entries of one cassette that may be pruned.

    Args:
        folder: The cassette's.
        known: What is known of its project.
        wanted: The reasons that count.
    """

    def __init__(self, folder: Path, known: Known, wanted: Collection[Reason]) -> None:
        self._folder = folder
        self._known = known
        self._wanted = wanted
        self._use = known.usage.cassette(folder)
        self._unused = known.usage.runs.unused(folder) if BY_RUNS & frozenset(wanted) else frozenset()
        self._found: list[tuple[Prunable, str]] = []
        self.present: dict[str, set[int]] = {}
        """The answers that lie there, read or not: their ordinals by the first 16 hex digits of the key."""

    def add(self, one: Examined) -> None:
        """Take one file of it in; only an entry that can be read, under its own name, may ever go."""
        entry, slot = one.entry, parse_name(one.path.name)
        pinned = self._known.sparing.pins.why(one.path, entry)
        if slot is not None:
            self.present.setdefault(slot[0], set()).add(slot[1])
        if entry is None or slot != (entry.key[:16], entry.ordinal):
            return
        if one.is_sound and self._unused:
            self._use.add(one.path, entry)
        why = self._why(one, entry)
        if why or slot in self._unused:
            at = when(entry.provenance.get("recorded_at"))
            found = Prunable(one.path, self._folder, self._known.root, one.size, at, mark_of(entry), why)
            self._found.append((found, pinned or self._known.sparing.why(one.path, entry)))

    def result(self) -> Iterator[Prunable | Left]:
        """Yield what may go, and what stays although a reason holds, once all were taken in."""
        orphans = {one.path: one for one in self._use.unused()} if self._unused else {}
        for one, spared in self._found:
            why = {**self._by_runs(orphans.get(one.path)), **one.why}
            keeps = spared or self._shared(why)
            chosen = {reason: why[reason] for reason in Reason if reason in why and reason in self._wanted}
            if chosen:
                yield Left(one.path, keeps) if keeps else replace(one, why=chosen)

    def _why(self, one: Examined, entry: Entry) -> dict[Reason, str]:
        why: dict[Reason, str] = {}
        before = self._known.before
        if stale := next((found for found in one.findings if found.code in _STALE), None):
            first, _, _ = stale.message.partition("\n")
            why[Reason.STALE] = f"{stale.code}: {first}"
        recorded = moment(entry.provenance.get("recorded_at"))
        if before and recorded and recorded < before:
            why[Reason.OLD] = f"recorded {entry.provenance['recorded_at']}"
        return why

    def _by_runs(self, orphan: Orphan | None) -> dict[Reason, str]:
        if orphan is None:
            return {}
        why = {Reason.ORPHAN: f"the run of all tests that ended {self._known.usage.runs.at} did not use it"}
        if orphan.is_superseded and orphan.successor:
            said = ", ".join(orphan.successor.changed) or "its number changed"
            why[Reason.SUPERSEDED] = f"{orphan.successor.key[:16]} took its place: {said}"
        return why

    def _shared(self, why: Mapping[Reason, str]) -> str:
        if why.keys() == {Reason.OLD} and not self._known.usage.runs.is_known(self._folder):
            return "shared: what child processes used of its cassette is not known"
        return ""

"""Why an entry may be pruned, and what keeps it all the same."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from onetake.aside import place_of
from onetake.making import is_being_made
from onetake.model import Entry
from onetake.stores.naming import Slot, parse_name
from onetake.upkeep.checking import Examined
from onetake.upkeep.findings import Code
from onetake.upkeep.pinning import Pins
from onetake.upkeep.runs import Runs
from onetake.upkeep.trash import mark_of
from onetake.validity import moment


class Reason(StrEnum):
    """Why a file may go; the first ones are in the order in which `--max-bytes` takes them."""

    TRASH = "trash"
    """It lies in the trash."""
    REJECT = "reject"
    """The gate refused it, and it is never replayed."""
    ORPHAN = "orphan"
    """A run of all tests, all of which passed, left it without use."""
    SUPERSEDED = "superseded"
    """An orphan in whose place another one is used: a newer one of the same test, or one that was adopted from it."""
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
        at: When it was recorded, RFC 3339 in UTC; empty where that is not known.
        mark: What it holds, as `trash.mark_of` has it.
        why: In words, by reason.
    """

    path: Path
    folder: Path
    root: Path
    size: int
    at: str
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
        runs: Its own runs on record.
        others: Those of other settings folders, whose tests may use its entries.
        pins: What is pinned.
        before: What was recorded before counts as old; None where age is no reason.
    """

    root: Path
    runs: Runs
    others: tuple[Runs, ...]
    pins: Pins
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
        self._is_made = is_being_made(known.root, folder)
        self._found: list[tuple[Prunable, Slot, str, str]] = []
        self._adopted: set[Slot] = set()
        self._newest: dict[str, str] = {}

    def add(self, one: Examined) -> None:
        """Take one file of it in; only an entry that can be read, under its own name, may ever go."""
        entry = one.entry
        pinned = self._known.pins.why(one.path, entry)
        if entry is None or parse_name(one.path.name) != (slot := (entry.key[:16], entry.ordinal)):
            return
        why = self._why(one, entry, slot)
        if Reason.ORPHAN not in why:
            self._follow(entry, slot)
        if why:
            at, test = (str(entry.provenance.get(name) or "") for name in ("recorded_at", "test"))
            found = Prunable(one.path, self._folder, self._known.root, one.size, at, mark_of(entry), why)
            self._found.append((found, slot, test, pinned or self._keeps(why, slot)))

    def result(self) -> Iterator[Prunable | Left]:
        """Yield what may go, and what stays although a reason holds, once all were taken in."""
        for one, slot, test, keeps in self._found:
            why = dict(one.why)
            if Reason.ORPHAN in why and (instead := self._instead(one, slot, test)):
                why[Reason.SUPERSEDED] = instead
            chosen = {reason: why[reason] for reason in Reason if reason in why and reason in self._wanted}
            if chosen:
                yield Left(one.path, keeps) if keeps else replace(one, why=chosen)

    def _why(self, one: Examined, entry: Entry, slot: Slot) -> dict[Reason, str]:
        why: dict[Reason, str] = {}
        runs, before = self._known.runs, self._known.before
        if runs.left(self._folder, slot, entry):
            why[Reason.ORPHAN] = f"the run of all tests that ended {runs.at} did not use it"
        if stale := next((found for found in one.findings if found.code in _STALE), None):
            first, _, _ = stale.message.partition("\n")
            why[Reason.STALE] = f"{stale.code}: {first}"
        recorded = moment(entry.provenance.get("recorded_at"))
        if before and recorded and recorded < before:
            why[Reason.OLD] = f"recorded {entry.provenance['recorded_at']}"
        return why

    def _follow(self, entry: Entry, slot: Slot) -> None:
        """Remember what an entry that stays may have taken the place of."""
        said = entry.provenance
        adopted = said.get("adopted")
        if isinstance(adopted, dict):
            self._adopted.add((str(adopted.get("from"))[:16], entry.ordinal))
        test, at = str(said.get("test") or ""), str(said.get("recorded_at") or "")
        if slot in self._known.runs.used(self._folder):
            self._newest[test] = max(at, self._newest.get(test, ""))

    def _instead(self, one: Prunable, slot: Slot, test: str) -> str:
        if slot in self._adopted:
            return "its answer was adopted for another request"
        return "its test uses an entry that is newer" if test and one.at < self._newest.get(test, "") else ""

    def _keeps(self, why: Mapping[Reason, str], slot: Slot) -> str:
        """Say what keeps an entry that no pin keeps; empty where nothing does."""
        if self._is_made:
            return (
                "its cassette is being made, or the run that made it was killed: it is made once such a run ends well"
            )
        for other in self._known.others:
            if slot in other.used(self._folder):
                return f"shared: a run of the tests of {place_of(other.root, self._known.root)} used it"
            if not other.is_known(self._folder):
                return f"shared: a run of the tests of {place_of(other.root, self._known.root)} may have used it"
        is_only_old = why.keys() == {Reason.OLD}
        if is_only_old and not self._known.runs.is_known(self._folder):
            return "shared: what child processes used of its cassette is not known"
        return ""

"""Entries that no test asks for any more, and what took their place: by the runs on record, never by a guess."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from onetake.aside import place_of
from onetake.cassette_files import read_entry
from onetake.compare import Difference, differences
from onetake.errors import FormatError
from onetake.key import Keyer
from onetake.missed import Missed, missed_in
from onetake.model import Entry, Mode
from onetake.printable import one_line
from onetake.stores.naming import Slot, parse_name
from onetake.upkeep import mends
from onetake.upkeep.changes import changes
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.nearness import Asked, Nearness
from onetake.upkeep.runs import Runs
from onetake.usage import CassetteUsage

_MOST = 20_000
"""Requests of one cassette that are kept in mind, to find among them what took an orphan's place."""
_DIFFERENCES = 20
_TOLD = 5
"""Differences that the message names."""


@dataclass(frozen=True, slots=True)
class Successor:
    """What is asked for in an orphan's place.

    Args:
        key: Its key.
        ordinal: 0 or more.
        path: Its file; None where it is not stored: a run asked for it in vain.
        changed: What changed, in words: `the prompt changed`, `field seed added`; see `changes`.
        differences: What is asked now (`asked`) against what the orphan holds (`stored`), at most 20.
    """

    key: str
    ordinal: int
    path: Path | None
    changed: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def lines(self) -> list[str]:
        """What changed, and the first places of it."""
        more = len(self.differences) - _TOLD
        places = [*map(_line, self.differences[:_TOLD]), *([f"and {more} more places"] if more > 0 else [])]
        return (
            [", ".join(self.changed), *places] if self.changed else ["only its number among identical requests changed"]
        )


@dataclass(frozen=True, slots=True)
class Orphan:
    """An entry that no test asks for any more.

    Args:
        path: Its file.
        successor: What is asked for in its place, where that is known.
        finding: What the check says of it.
    """

    path: Path
    successor: Successor | None
    finding: Finding


class Usage:
    """What is known of the use of the entries below one settings folder.

    Args:
        root: The settings' folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs = Runs(root)
        self._untold: list[Path] = []

    @property
    def why(self) -> str:
        """Why it cannot be told of every entry that was looked at whether tests ask for it; empty where it can."""
        if self.runs.why or not self._untold:
            return self.runs.why
        names = ", ".join(place_of(folder.absolute(), self.root) for folder in self._untold[:_TOLD])
        more = len(self._untold) - _TOLD
        which = names + (f" and {more} more" if more > 0 else "")
        return f"no run of all tests on record knows what was used of {which}"

    def cassette(self, folder: Path, *, has_entries: bool) -> CassetteUse:
        """Begin to look at a cassette; what is known of the use of one without entries does not matter."""
        found = CassetteUse(folder, self.root, self.runs, self._missed.get(folder.absolute(), ()))
        if has_entries and not self.runs.why and not found.is_told:
            self._untold.append(folder)
        return found

    @cached_property
    def _missed(self) -> Mapping[Path, list[Missed]]:
        found: dict[Path, list[Missed]] = defaultdict(list)
        for one in missed_in(self.root):
            with suppress(FormatError):  # rules that a hand has damaged: nothing can be compared under them
                Keyer.from_spec(one.key_spec.rules)
                found[one.folder].append(one)
        return found


class CassetteUse:
    """What runs used of one cassette, and which of its entries are orphans by that.

    Args:
        folder: Its folder.
        root: The settings' folder.
        runs: Those on record.
        missed: What was refused for want of an entry, and is not stored meanwhile.
    """

    def __init__(self, folder: Path, root: Path, runs: Runs, missed: Iterable[Missed]) -> None:
        self._folder = folder
        self._root = root
        self._runs = runs
        self._unused, self._used = runs.unused(folder), runs.used(folder)
        self._missed = [one for one in missed if one.test and self._is_on_record(one)]
        self._adopted: list[tuple[Slot, str, Asked]] = []
        self._paths: list[Path] = []
        self._left: list[Asked] = []
        self._stored: list[Asked] = []
        self.is_told = bool(self._unused or self._used) and runs.is_known(folder)

    def add(self, path: Path, entry: Entry) -> None:
        """Take an entry in, as far as it may be an orphan, or what took the place of one."""
        self._paths.append(path)
        slot = entry.key[:16], entry.ordinal
        adopted = entry.provenance.get("adopted")
        if isinstance(adopted, dict):
            old = str(adopted.get("from"))[:16], entry.ordinal
            self._adopted.append((old, str(adopted.get("at", "")), _asked(path, entry)))
        if slot in self._unused and self._runs.left(self._folder, slot, entry):
            self._left.append(_asked(path, entry))
        elif (self._unused or self._missed) and len(self._stored) < _MOST:
            self._stored.append(_asked(path, entry))

    def orphans(self) -> Iterator[Orphan]:
        """Say which entries are orphans, once all were taken in; each once."""
        told: set[Path] = set()
        for found in (self._left_without_use(), self._adopted_since(), self._missed_instead()):
            for orphan in found:
                if orphan.path not in told:
                    told.add(orphan.path)
                    yield orphan

    def _left_without_use(self) -> Iterator[Orphan]:
        """Yield what a whole and green run left without use; what it used that is newer and most like it succeeds."""
        if not self._left:
            return
        mend = mends.prune(self._root, "--orphans")
        adopted = {slot: asked for slot, _, asked in self._adopted}
        for old in self._left:
            runs = [run.used for run in self._history if old.slot in run.used]

            def follows(other: Asked, old: Asked = old, runs: list[frozenset[Slot]] = runs) -> bool:
                is_newer = other.at >= old.at and other.slot in self._used
                return is_newer and not any(other.slot in used for used in runs)

            why = f"no test asks for it: the run of all tests that ended {self._runs.at} left it without use"
            yield _orphan(old, adopted.get(old.slot) or self._nearness.nearest(old, follows), why, mend)

    def _adopted_since(self) -> Iterator[Orphan]:
        """Yield what was adopted for another request, and used by no run since."""
        if not self._adopted:
            return
        names = {slot: path for path in self._paths if (slot := parse_name(path.name))}
        mend = mends.prune(self._root, "--superseded")
        for slot, at, adopted in self._adopted:
            since = self._runs.since(self._folder, at)
            old = read_entry(names[slot]) if slot in names else None
            if isinstance(old, Entry) and not any(slot in run.used or not run.known for run in since):
                why = "its answer was adopted for another request, and no run has asked for this one since"
                yield _orphan(_asked(names[slot], old), adopted, why, mend)

    def _missed_instead(self) -> Iterator[Orphan]:
        """Yield what is most like a request that a test missed, of what it recorded and has not asked for since."""
        taken: set[Path | None] = set()
        for missed in self._missed:
            new = Asked(None, missed.key, missed.ordinal, missed.test, missed.at, missed.request, missed.key_spec.rules)
            runs = [run.used for run in self._runs.since(self._folder, missed.at)]

            def lost(old: Asked, new: Asked = new, runs: list[frozenset[Slot]] = runs) -> bool:
                is_free = old.test == new.test and old.path not in taken
                return is_free and not any(old.slot in used for used in runs)

            old = self._nearness.nearest(new, lost)
            if old is not None:
                taken.add(old.path)
                again = mends.record_by(missed.test, Mode.NEW_EPISODES)
                mend = f"{again}; or, where this answer may stay: {mends.adopt(self._root)}"
                why = f"{one_line(missed.test, 200)} did not ask for it when it last ran, but missed another request"
                yield _orphan(old, new, why, mend)

    @cached_property
    def _nearness(self) -> Nearness:
        return Nearness(self._stored)

    @cached_property
    def _history(self) -> list[CassetteUsage]:
        return self._runs.since(self._folder, "")

    def _is_on_record(self, missed: Missed) -> bool:
        """Tell whether it is known what the run used that missed a request, and each one since."""
        since = self._runs.since(self._folder, missed.at)
        return bool(since) and all(run.known for run in since)


def _asked(path: Path, entry: Entry) -> Asked:
    said = entry.provenance
    test, at = (str(said.get(name) or "") for name in ("test", "recorded_at"))
    return Asked(path, entry.key, entry.ordinal, test, at, entry.request, entry.key_spec.rules)


def _orphan(old: Asked, new: Asked | None, why: str, mend: str) -> Orphan:
    assert old.path is not None, "only what is stored can be an orphan"
    if new is None:
        return Orphan(old.path, None, finding(Code.ORPHAN, old.path, why, mend))
    found = tuple(differences(new.parts(), old.parts(), _DIFFERENCES))
    place = f" ({new.path.name})" if new.path else ""
    successor = Successor(new.key, new.ordinal, new.path, changes(found), found)
    message = "\n".join([why, f"{new.key[:16]}{place} took its place", *successor.lines])
    return Orphan(old.path, successor, finding(Code.ORPHAN, old.path, message, mend))


def _line(one: Difference) -> str:
    path = one_line(one.path, 160)
    if one.kind == "order":
        return f"{path}: only the order differs"
    return f"{path}: was {one.stored or 'absent'}, is {one.asked or 'absent'}"

"""Entries that no test asks for any more, and what took their place: by the runs on record, never by a guess."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from onetake import explain
from onetake.aside import place_of
from onetake.key import Keyer
from onetake.missed import Missed, damaged_in, missed_in
from onetake.model import Entry, Mode
from onetake.printable import one_line
from onetake.stores.naming import Slot
from onetake.succession import Come, passed_over
from onetake.upkeep import mends
from onetake.upkeep.adopt.nearness import Asked, Nearness
from onetake.upkeep.adopt.offering import Offers
from onetake.upkeep.findings import Code, finding
from onetake.upkeep.limits import SECONDS, TookTooLongError, at_most
from onetake.upkeep.runs import Runs
from onetake.upkeep.successors import Orphan, orphan_of
from onetake.usage import CassetteUsage, entries_in, holds_replies
from onetake.validity import UNKNOWN, when

_MOST = 20_000
"""Requests of one cassette that are kept in mind, to find among them what took an orphan's place."""
_STAYS = "nothing: it stays, and no prune takes it"
_TOLD = 5
"""Cassettes that the reason names."""


class Usage:
    """What is known of the use of the entries below one settings folder.

    Args:
        root: The settings' folder.
        runs: Those on record there.
        keyer: Of today's settings: no rules of an entry, or of a book of misses, are run to compare it.
        spares: Says what keeps an entry from being pruned; empty where nothing does.
    """

    def __init__(self, root: Path, runs: Runs, keyer: Keyer, spares: Callable[[Path, Entry], str]) -> None:
        self.root = root
        self.runs = runs
        self.spares = spares
        self.offers = Offers(root)
        self._rules = keyer.spec(keyer.today())
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

    @cached_property
    def damaged(self) -> list[str]:
        """The books of what was missed of which a line is left out, as it cannot be read."""
        return damaged_in(self.root)

    def cassette(self, folder: Path) -> CassetteUse:
        """Begin to look at a cassette."""
        return CassetteUse(folder, self, self._missed.get(folder.absolute(), ()))

    def leave_untold(self, folder: Path) -> None:
        """Take down a cassette with entries of which runs that count do not tell what was used."""
        self._untold.append(folder)

    def asked(self, path: Path | None, said: Entry | Missed) -> Asked:
        """Return a request that is stored, or was missed, under the rules of today, but for its own day."""
        spec = said.key_spec.rules
        rules = (
            {**self._rules, "today": spec.get("today") or self._rules["today"]}
            if self._rules.get("today")
            else self._rules
        )
        if isinstance(said, Entry):
            test, at = (str(said.provenance.get(name) or "") for name in ("test", "recorded_at"))
        else:
            test, at = said.test, said.at
        return Asked(path, said.key, said.ordinal, test, at, said.request, rules)

    @cached_property
    def _missed(self) -> Mapping[Path, list[Missed]]:
        found: dict[Path, list[Missed]] = defaultdict(list)
        for one in missed_in(self.root):
            found[one.folder].append(one)
        return found

    @cached_property
    def astray(self) -> Mapping[str, Missed]:
        """What tests missed in folders without any entry, by key: one that was renamed left its own in another."""
        empty = [folder for folder in self._missed if not entries_in(folder)]
        return {one.key: one for folder in empty for one in self._missed[folder] if one.test}


class SeenUse(NamedTuple):
    """The entries of a part of a cassette, as far as their use matters.

    Args:
        elsewhere: Those that a test asked for in vain in another folder.
        adopted: Those that were adopted, by what the entry is found by that their answer is of.
        left: Those that no test asks for, and why each stays; empty where nothing keeps it.
        stored: The others.
    """

    elsewhere: list[tuple[Path, Slot, Missed]]
    adopted: dict[Slot, Asked]
    left: list[tuple[Asked, str]]
    stored: list[Asked]


class CassetteUse:
    """What runs used of one cassette, and which of its entries are orphans by that.

    Args:
        folder: Its folder.
        usage: What is known of its project.
        missed: What was refused for want of an entry, and is not stored meanwhile.
    """

    def __init__(self, folder: Path, usage: Usage, missed: Iterable[Missed]) -> None:
        self._folder = folder
        self._usage = usage
        self._runs = usage.runs
        self._unused, self._used = self._runs.unused(folder), self._runs.used(folder)
        self._missed = [one for one in missed if one.test and self._is_on_record(one)]
        self._elsewhere: list[tuple[Path, Slot, Missed]] = []
        self._adopted: dict[Slot, Asked] = {}
        self._left: list[tuple[Asked, str]] = []
        self._stored: list[Asked] = []
        self.is_told = bool(self._unused or self._used) and self._runs.is_known(folder)

    def add(self, path: Path, entry: Entry) -> None:
        """Take an entry in, as far as it may be an orphan, or what took the place of one."""
        slot = entry.key[:16], entry.ordinal
        if (missed := self._usage.astray.get(entry.key)) and slot not in self._unused:
            self._elsewhere.append((path, slot, missed))
        adopted = entry.provenance.get("adopted")
        if isinstance(adopted, dict):
            self._adopted[str(adopted.get("from"))[:16], entry.ordinal] = self._usage.asked(path, entry)
        may_be_left = slot in self._unused and (entry.provenance.get("test") or not holds_replies(self._folder))
        if may_be_left and self._runs.left(self._folder, slot, entry):
            self._left.append((self._usage.asked(path, entry), self._usage.spares(path, entry)))
        elif (self._unused or self._missed) and len(self._stored) < _MOST:
            self._stored.append(self._usage.asked(path, entry))

    @property
    def seen(self) -> SeenUse:
        """What was taken in, as another process can tell it."""
        return SeenUse(self._elsewhere, self._adopted, self._left, self._stored)

    def join(self, later: SeenUse) -> None:
        """Take in what others saw of the same cassette, whose paths come behind these."""
        self._elsewhere += later.elsewhere
        self._adopted |= later.adopted
        self._left += later.left
        self._stored += later.stored[: _MOST - len(self._stored)]

    def orphans(self) -> Iterator[Orphan]:
        """Say which entries are orphans, once all were taken in; each once."""
        yield from self.unused()
        yield from self._missed_instead()
        yield from self._asked_elsewhere()

    def _asked_elsewhere(self) -> Iterator[Orphan]:
        """Yield what a test asked for in vain in another folder, where there is nothing, and no run used here since."""
        for path, slot, missed in self._elsewhere:
            then = self._runs.since(missed.folder, missed.at)
            if then and not any(slot in run.used or not run.known for run in self._runs.since(self._folder, missed.at)):
                why = f"{one_line(missed.test, 200)} asked for this very request, and its own folder holds no entry"
                mend = explain.renamed(place_of(missed.folder, self._usage.root))
                yield Orphan(path, None, False, False, finding(Code.ORPHAN, path, why, mend))

    def unused(self) -> Iterator[Orphan]:
        """Yield what a whole and green run left without use; what it used that is newer and most like it succeeds."""
        again = mends.prune(self._usage.root, "--orphans")
        for old, spared in self._left:
            runs = [run.used for run in self._history if old.slot in run.used]

            def follows(other: Asked, old: Asked = old, runs: list[frozenset[Slot]] = runs) -> bool:
                is_newer = when(other.at) >= when(old.at) and other.slot in self._used
                return is_newer and not any(other.slot in used for used in runs)

            adopted = self._adopted.get(old.slot)
            adopted = adopted if adopted and adopted.slot in self._used else None
            new = adopted or self._nearest(old, follows)
            is_newer = bool(new and old.test and new.test == old.test and when(new.at) > when(old.at))
            why = f"no test asks for it: the run of all tests that ended {self._runs.at} left it without use"
            told = (why, f"it stays: {spared}") if spared else (why,)
            is_superseded = adopted is not None or is_newer
            one = orphan_of(old, new, told, _STAYS if spared else again)
            yield replace(one, is_unused=True, is_superseded=is_superseded)

    def _missed_instead(self) -> Iterator[Orphan]:
        """Yield what is most like a request that a test missed, of what it recorded and has not asked for since."""
        taken: set[Path | None] = set()
        for missed in self._missed:
            new = self._usage.asked(None, missed)
            runs = [run.used for run in self._runs.since(self._folder, missed.at)]

            def lost(old: Asked, new: Asked = new, runs: list[frozenset[Slot]] = runs) -> bool:
                is_free = old.test == new.test and old.path not in taken
                return is_free and not any(old.slot in used for used in runs)

            def in_use(old: Asked, lost: Callable[[Asked], bool] = lost) -> bool:
                return old.slot not in self._passed and old.slot not in self._adopted and lost(old)

            nearest = self._nearest(new, in_use) or self._nearest(new, lost)
            found = list(filter(lost, self._by_key[nearest.key] if nearest else ()))
            may_stay = self._usage.offers.takes(found, new, missed)
            for old in found:
                taken.add(old.path)
                why = f"{one_line(missed.test, 200)} did not ask for it when it last ran, but missed another request"
                or_else = f"where this answer may stay: {mends.adopt(self._usage.root)}"
                again = mends.record_by(missed.test, Mode.NEW_EPISODES, missed.folder)
                told = (why, or_else) if may_stay else (why,)
                yield orphan_of(old, new, told, again)

    def _nearest(self, asked: Asked, fits: Callable[[Asked], bool]) -> Asked | None:
        """Return the stored request that is most like another one; None where it takes too long to tell."""
        with suppress(TookTooLongError), at_most(SECONDS):
            return self._nearness.nearest(asked, fits)
        return None

    @cached_property
    def _passed(self) -> frozenset[Slot]:
        """Which entries another one had taken the place of when the first request was missed."""
        since = min((when(one.at) for one in self._missed), default=UNKNOWN)
        earlier = [(at, run) for at, run in self._runs.told(self._folder) if when(at) < since]
        return passed_over((Come(one.slot, one.test, when(one.at)) for one in self._stored), earlier)

    @cached_property
    def _by_key(self) -> Mapping[str, list[Asked]]:
        """All answers to each request; they go together."""
        found: dict[str, list[Asked]] = defaultdict(list)
        for one in self._stored:
            found[one.key].append(one)
        return found

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

"""The requests that are stored in one cassette, and which of them a run left without an answer to give."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from onetake import key_specs
from onetake.aside import place_of
from onetake.cassette import Damaged
from onetake.cassette_files import read_entry
from onetake.errors import FormatError
from onetake.key import Keyer
from onetake.missed import Missed
from onetake.model import Entry
from onetake.stores import Store, open_store
from onetake.stores.naming import Slot
from onetake.succession import come, passed_over
from onetake.upkeep import limits
from onetake.upkeep.adopt.nearness import Asked, Nearness
from onetake.usage import CassetteUsage, UsageRun, entries_in
from onetake.validity import when


@dataclass(slots=True)
class Stored:
    """One stored request, and all answers to it.

    Args:
        key: Its key.
        files: The entries, and where they lie, by ordinal.
    """

    key: str
    files: list[tuple[Path, Entry]] = field(default_factory=list)

    @property
    def path(self) -> Path:
        """The file of its first entry."""
        return self.files[0][0]

    @property
    def entry(self) -> Entry:
        """Its first entry."""
        return self.files[0][1]

    @property
    def entries(self) -> list[Entry]:
        """All its entries."""
        return [entry for _, entry in self.files]


class StoredRequests:
    """The requests of one cassette; entries that are damaged are none.

    Args:
        folder: The cassette's.
        misses: What was asked of it in vain.
        root: The settings' folder.
        runs: The runs of tests on record there.
    """

    def __init__(self, folder: Path, misses: list[Missed], root: Path, runs: Iterable[UsageRun]) -> None:
        self._slots = entries_in(folder)
        self._digits = {digits for digits, _ in self._slots}
        self._by_key: dict[str, Stored] = {}
        self._near: dict[str, Nearness] = {}
        self.left: list[tuple[Path, str]] = []
        """The files that hold up who looks at them, and how: each is left out."""
        with closing(open_store(folder)) as store:
            for _, name in sorted(self._slots.items()):
                self._read(folder / name, store)
        self._newest = max(when(one.at) for one in misses)
        earlier, later = _runs_of(folder, misses, root, runs)
        used = (usage.used for _, usage in later)
        self._used = frozenset[Slot]().union(*(one.used for one in misses), *used) | self._replaced()
        self._passed = passed_over((come(entry) for one in self._by_key.values() for entry in one.entries), earlier)

    @property
    def is_empty(self) -> bool:
        """Whether no entry lies here at all."""
        return not self._slots

    @property
    def every(self) -> Collection[Stored]:
        """All requests, whatever runs say of them."""
        return self._by_key.values()

    def has(self, key: str) -> bool:
        """Tell whether any entry has a key, readable or not."""
        return key[:16] in self._digits

    @cached_property
    def free(self) -> tuple[Stored, ...]:
        """The requests that may have been asked before the misses were: no run since asked for them, as far as known.

        Neither were their answers adopted for others already, nor are they younger than the misses. The newest first.
        """
        free = (one for one in self._by_key.values() if not any(map(self._is_used, one.entries)))
        return tuple(sorted(free, key=lambda one: come(one.entry).at, reverse=True))

    def is_passed(self, one: Stored) -> bool:
        """Tell whether another request had taken the place of one already, when the misses came."""
        return all(come(entry).slot in self._passed for entry in one.entries)

    def nearest(self, missed: Missed, fits: Callable[[Stored], bool]) -> Stored | None:
        """Return the request that is most like one that was missed; None where none is like it.

        Args:
            missed: It.
            fits: Tells which requests may be returned.
        """
        spec = missed.key_spec
        asked = Asked(None, missed.key, missed.ordinal, missed.test, missed.at, missed.request, spec.rules)
        found = self._nearness(spec.rules).nearest(asked, lambda one: fits(self._by_key[one.key]))
        return self._by_key[found.key] if found else None

    def _read(self, path: Path, store: Store) -> None:
        entry = read_entry(path, store)
        if isinstance(entry, Damaged):
            return
        try:
            with limits.at_most(limits.SECONDS):  # its own key rules may hold a pattern that never ends
                is_sound = _is_sound(entry)
        except limits.TookTooLongError as error:
            self.left.append((path, str(error)))
        else:
            if is_sound:
                self._by_key.setdefault(entry.key, Stored(entry.key)).files.append((path, entry))

    def _nearness(self, rules: Mapping[str, Any]) -> Nearness:
        """Return the requests as they are under the rules of a miss: no other one's are run."""
        mark = json.dumps(rules, sort_keys=True)
        if mark not in self._near:
            self._near[mark] = Nearness(
                Asked(one.path, one.key, 0, "", "", one.entry.request, rules) for one in self.free
            )
        return self._near[mark]

    def _is_used(self, entry: Entry) -> bool:
        return come(entry).slot in self._used or come(entry).at > self._newest

    def _replaced(self) -> frozenset[Slot]:
        """Return the entries whose answers were adopted for other requests already."""
        everyone = (entry for one in self._by_key.values() for entry in one.entries)
        adopted = ((entry.key, entry.provenance.get("adopted")) for entry in everyone)
        origins = ((key, str(one.get("from"))) for key, one in adopted if isinstance(one, dict))
        # A key rule may give what was adopted the key of what it was adopted from, which is gone.
        old = (self._by_key.get(origin) for key, origin in origins if origin != key)
        return frozenset((entry.key[:16], entry.ordinal) for one in old if one for entry in one.entries)


def _runs_of(
    folder: Path, misses: list[Missed], root: Path, runs: Iterable[UsageRun]
) -> tuple[list[tuple[str, CassetteUsage]], list[tuple[str, CassetteUsage]]]:
    """Return what runs before the misses did with a cassette, and what those did that missed, and runs since."""
    since = min(when(one.at) for one in misses)
    place = place_of(Path(os.path.realpath(folder)), Path(os.path.realpath(root)))
    earlier: list[tuple[str, CassetteUsage]] = []
    later: list[tuple[str, CassetteUsage]] = []
    for run in runs:
        # A run that ended in the second of the miss is its own, unless nothing was wrong with it.
        is_later = when(run.at) > since or (when(run.at) == since and bool(run.why))
        if place in run.cassettes:
            (later if is_later else earlier).append((run.at, run.cassettes[place]))
    return earlier, later


def _is_sound(entry: Entry) -> bool:
    """Tell whether an entry may give its answer away: a good or a kept one whose request nobody changed."""
    spec = entry.key_spec
    if key_specs.format_age(spec) is not key_specs.Age.CURRENT or entry.verdict.startswith("reject"):
        return False
    try:
        keyer, days = Keyer.from_spec(spec.rules)
    except FormatError:
        return False
    return keyer.key(entry.request, days) == entry.key

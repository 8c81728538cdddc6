"""`match = "legacy"`: imported entries are replayed by vcrpy's own rule, and what that hides is told.

vcrpy's rule, as it is by default: of the interactions with the method and the URL that are asked, in the order in which
they were recorded, the first that was not played yet.
Source: vcrpy 9.4, `Cassette.play_response`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any

from onetake import dialects, forking, interactions, key_specs, misses
from onetake.by_url import target
from onetake.cassette import Cassette, Damaged
from onetake.compare import Difference, differences
from onetake.decide import Found, refuses
from onetake.imported import ImportedFrom, imported_from, is_loose
from onetake.key import stored_days
from onetake.ledger import Ledger
from onetake.legacy_kinds import COUNTED, Subject, subject_of
from onetake.lookup import Looked
from onetake.model import Entry, Repeats, Request
from onetake.printable import counted, one_line, sides
from onetake.scrub import request_headers
from onetake.steps import Asked, Policy
from onetake.validity import Validity

TOLD = "legacy: "
"""How a note begins that tells of a request that differs."""
_SHOWN = 10
"""Differences of one request that are told."""
_SAID = 3
"""Those that are said at once."""


@dataclass(frozen=True, slots=True)
class Differing:
    """One answer that was given to a request which is not, byte for byte, the recorded one."""

    asked: str
    """The request in one line."""
    entry: str
    """The place of the entry that answered."""
    came: ImportedFrom
    """Where that entry was imported from."""
    kinds: tuple[Subject, ...]
    differences: tuple[tuple[Subject, Difference], ...]
    """The first few."""
    own: str
    """The place of an entry that holds this very request, whenever that answers; else empty."""

    @property
    def counts(self) -> bool:
        """Whether it was another request."""
        return not COUNTED.isdisjoint(self.kinds)

    def __str__(self) -> str:
        what = f"{TOLD}{self.asked} was answered by an entry that differs ({', '.join(self.kinds)}): {self.entry}"
        return "\n  ".join([what, *(sides(one.path, one.asked, one.stored) for _, one in self.differences[:_SAID])])

    def as_plain(self) -> dict[str, Any]:
        """Return it in the plain types that go from one process to another."""
        return {
            "asked": self.asked,
            "entry": self.entry,
            "imported_from": self.came.file,
            "position": self.came.position,
            "kinds": [str(kind) for kind in self.kinds],
            "counts": self.counts,
            "differences": [{"what": str(kind), **asdict(one)} for kind, one in self.differences],
            "own": self.own,
        }


class Legacy:
    """One session's replay by vcrpy's rule; off where the session does not go by it, or nothing was imported.

    It holds only where a miss is refused: it records nothing, and in a mode that records, whole requests are compared.
    An entry that was recorded here, in a cassette that was imported, answers the request that it was recorded for.

    Args:
        policy: What the session goes by.
        cassette: Its entries; read at once, so that no call has to.
        validity: What judges them.
        ledger: Where it is told that a request differs.
    """

    def __init__(self, policy: Policy, cassette: Cassette, validity: Validity, ledger: Ledger) -> None:
        self._policy = policy
        self._ledger = ledger
        self._cassette = cassette
        self._validity = validity
        self._recorded: dict[str, list[Entry]] = {}
        """What was recorded here, by key."""
        self._imported: dict[str, list[Entry]] = {}
        """What was imported, in recorded order, by what is compared first: see `_group`."""
        self._unplayed: dict[str, list[Entry]] = {}
        """The same, without what was played."""
        self._by_key: dict[str, Entry] = {}
        """The first that was imported under each key."""
        self._damaged: Damaged | None = None
        self._lock = forking.Lock()
        self.is_on = policy.match == "legacy" and refuses(policy.mode, Found.ABSENT) and self._read()
        """Whether requests are answered from here."""

    def look(self, asked: Asked) -> tuple[Looked, str]:
        """Say what there is for a request, and where its entry is not valid today, why."""
        if self._damaged is not None:
            return Looked(asked, 0, Found.UNREADABLE, self._damaged), ""
        entry = self._take(asked)
        if entry is None:
            return Looked(asked, 0, Found.ABSENT, reason=self._why_none(asked)), ""
        found = self._validity.of(entry, asked.contracts)
        if found is not Found.VALID:
            return Looked(asked, entry.ordinal, found, entry), self._validity.why(entry, asked.contracts)
        if not is_loose(entry) and (differing := self._compared(entry, asked)):
            self._ledger.differs(differing.as_plain())
            if differing.counts:
                self._ledger.say(str(differing))
        return Looked(asked, entry.ordinal, found, entry), ""

    def _read(self) -> bool:
        imported: list[tuple[ImportedFrom, Entry]] = []
        for key, ordinal, entry in self._cassette.all():
            if isinstance(entry, Damaged) or (why := _fault(entry, key, ordinal)):
                # It may be the one whose turn it is, and then every later answer would be another's.
                place = self._cassette.store.locate(key, ordinal)
                damaged = entry if isinstance(entry, Damaged) else Damaged(place, why)
                self._damaged = self._damaged or damaged
            elif (came := imported_from(entry)) is not None:
                imported.append((came, entry))
            else:
                self._recorded.setdefault(entry.key, []).append(entry)
        once: dict[ImportedFrom, Entry] = {}
        for came, entry in sorted(
            imported, key=lambda pair: (*pair[0], not self._is_of_today(pair[1]), pair[1].ordinal)
        ):
            once.setdefault(came, entry)  # it may have been imported again, under other key rules
        for entry in once.values():
            self._imported.setdefault(self._group(entry.request), []).append(entry)
            self._by_key.setdefault(entry.key, entry)
        self._unplayed = {group: list(entries) for group, entries in self._imported.items()}
        return bool(imported)

    def _is_of_today(self, entry: Entry) -> bool:
        return {**entry.key_spec.rules, "today": ()} == {**self._policy.keyer.spec(), "today": ()}

    def _take(self, asked: Asked) -> Entry | None:
        for entries, entry in self._candidates(asked):
            if self._claims(entry, entries):
                return entry
        return None

    def _claims(self, entry: Entry, unplayed: list[Entry]) -> bool:
        """Take an entry out of what was not played, unless another thread was faster."""
        if self._policy.repeats is Repeats.SAME:
            return True
        with self._lock.held:
            place = next((place for place, one in enumerate(unplayed) if one is entry), None)
            if place is not None:
                del unplayed[place]
        return place is not None

    def _candidates(self, asked: Asked) -> Iterator[tuple[list[Entry], Entry]]:
        """Yield what may answer, each with the list that it was not played of; the suite's functions hold no lock."""
        recorded = self._recorded.get(asked.key, [])
        yield from ((recorded, entry) for entry in tuple(recorded) if self._is_own(entry, asked))
        unplayed = self._those_of(asked, self._unplayed)
        yield from ((unplayed, entry) for entry in self._alike(asked, unplayed))

    def _is_own(self, entry: Entry, asked: Asked) -> bool:
        keyer = self._policy.keyer
        return not interactions.mismatch(entry, asked, keyer) and not interactions.under_other_rules(
            entry, asked, keyer
        )

    def _group(self, request: Request) -> str:
        """Return what is equal of all requests that may be alike: method and URL; under a suite's own rule nothing."""
        return target(request, self._policy.keyer) if self._policy.preparing.matches is None else ""

    def _those_of(self, asked: Asked, entries: Mapping[str, list[Entry]]) -> list[Entry]:
        """Return a request's group; its path may hold a secret, which no entry has."""
        found = entries.get(self._group(asked.request))
        return entries.get(self._group(asked.scrubbed), []) if found is None else found

    def _alike(self, asked: Asked, group: Sequence[Entry]) -> Iterator[Entry]:
        """Yield, in recorded order, those of a request's group that answer it."""
        matches = self._policy.preparing.matches
        for entry in tuple(group):
            if matches is None or any(matches(each, entry.request, _keeps(entry)) for each in _forms(asked)):
                yield entry

    def _why_none(self, asked: Asked) -> str:
        there = sum(1 for _ in self._alike(asked, self._those_of(asked, self._imported)))
        has, with_this = "has the method and the URL of this request", "with this method and URL"
        if self._policy.preparing.matches is not None:
            has, with_this = "is found for this request by the suite's match_on", "found by the suite's match_on"
        if not there:
            return f'no imported interaction {has} (match = "legacy")'
        recorded = f"{counted(there, 'interaction')} {with_this}"
        return f'{recorded} {"was" if there == 1 else "were"} imported, and all have been played (match = "legacy")'

    def _compared(self, entry: Entry, asked: Asked) -> Differing | None:
        stored, wanted, keyer = entry.request, asked.keyed, self._policy.keyer
        is_own = entry.key == asked.key
        if is_own and (stored.method, stored.url, stored.body) == (wanted.method, wanted.url, wanted.body):
            return None
        days = stored_days(entry.key_spec.rules) or asked.days
        found: list[tuple[Subject, Difference]] = []
        if is_own or keyer.key(stored, days) == asked.key:
            kinds: tuple[Subject, ...] = (Subject.BYTES if is_own else Subject.RULES,)
        else:
            found = self._differences(stored, asked, days)
            kinds = tuple(kind for kind in Subject if any(kind is one for one, _ in found)) or (Subject.BODY,)
        return Differing(
            asked=misses.asked_line(asked),
            entry=self._place(entry),
            came=imported_from(entry) or ImportedFrom("", 0),
            kinds=kinds,
            differences=tuple(found[:_SHOWN]),
            own=self._place(own) if not is_own and (own := self._by_key.get(asked.key)) else "",
        )

    def _differences(
        self, stored: Request, asked: Asked, days: tuple[date, ...] | None
    ) -> list[tuple[Subject, Difference]]:
        """List how a request differs, each with what it is: first one of each kind, then the rest."""
        keyer, dialect = self._policy.keyer, dialects.find(stored.method, stored.url)
        found = differences(keyer.parts(asked.scrubbed, asked.days), keyer.parts(stored, days))
        named = [(subject_of(one.path, dialect.name if dialect else None), one) for one in found]
        firsts = [next((pair for pair in named if pair[0] is kind), None) for kind in Subject]
        leading = [pair for pair in firsts if pair is not None]
        return leading + [pair for pair in named if pair not in leading]

    def _place(self, entry: Entry) -> str:
        return one_line(self._cassette.store.locate(entry.key, entry.ordinal), 300)


def _forms(asked: Asked) -> Iterator[Request]:
    """Yield a request as it came, then without its secrets, as stored ones are: one that matches needs no scrubbing.

    It has all its headers, or one that is not kept would be on neither side, whatever it said.
    """
    yield asked.request
    kept = {name for name, _ in asked.scrubbed.headers}
    rest = ((name, value) for name, value in asked.request.headers if name not in kept)
    scrubbed = replace(asked.scrubbed, headers=(*asked.scrubbed.headers, *rest))
    if (scrubbed.url, scrubbed.body) != (asked.request.url, asked.request.body):
        yield scrubbed


def _keeps(entry: Entry) -> Callable[[str], bool]:
    """Return what tells whether a header would be in an entry if it had come."""
    return request_headers(tuple(entry.key_spec.rules.get("headers", ()))).keeps


def _fault(entry: Entry, key: str, ordinal: int) -> str:
    """Say what is wrong with an entry that reads as one; empty where nothing is."""
    if (entry.key[: len(key)], entry.ordinal) != (key, ordinal):
        return "the key or the ordinal in the file is not the one that its name says"
    try:
        stored_days(entry.key_spec.rules)
    except (TypeError, ValueError) as error:
        return f"the key rules of an entry are damaged: {error}"
    return key_specs.fault(entry.key_spec)

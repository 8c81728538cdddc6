"""`match = "legacy"`: imported entries are replayed by vcrpy's own rule, and what that hides is told.

vcrpy's rule, as it is by default: of the interactions with the method and the URL that are asked, in the order in which
they were recorded, the first that was not played yet.
Source: vcrpy 9.4, `Cassette.play_response`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from onetake import dialects, forking, interactions, key_specs, misses
from onetake.by_url import target
from onetake.cassette import Cassette, Damaged
from onetake.compare import Difference, differences
from onetake.decide import Found, refuses
from onetake.imported import Origin, is_loose, origin
from onetake.key import stored_days
from onetake.ledger import Ledger
from onetake.legacy_kinds import COUNTED, Kind, kind_of
from onetake.lookup import Looked
from onetake.model import Entry, Repeats, Request
from onetake.printable import counted, one_line
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
    origin: Origin
    kinds: tuple[Kind, ...]
    differences: tuple[tuple[Kind, Difference], ...]
    """The first few."""
    own: str
    """The place of an entry that holds this very request, whenever that answers; else empty."""

    @property
    def counts(self) -> bool:
        """Whether it was another request."""
        return not COUNTED.isdisjoint(self.kinds)

    def __str__(self) -> str:
        what = f"{TOLD}{self.asked} was answered by an entry that differs ({', '.join(self.kinds)}): {self.entry}"
        return "\n  ".join([what, *(_line(one) for _, one in self.differences[:_SAID])])

    def as_plain(self) -> dict[str, Any]:
        """Return it in the plain types that go from one process to another."""
        return {
            "asked": self.asked,
            "entry": self.entry,
            "imported_from": self.origin.file,
            "position": self.origin.position,
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
        self._recorded: list[Entry] = []
        self._imported: dict[str, list[Entry]] = {}
        self._in_order: list[Entry] = []
        self._damaged: Damaged | None = None
        self._played: set[tuple[str, int]] = set()
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
        imported: list[tuple[Origin, Entry]] = []
        for key, ordinal, entry in self._cassette.all():
            if isinstance(entry, Damaged) or (why := _fault(entry, key, ordinal)):
                # It may be the one whose turn it is, and then every later answer would be another's.
                place = self._cassette.store.locate(key, ordinal)
                damaged = entry if isinstance(entry, Damaged) else Damaged(place, why)
                self._damaged = self._damaged or damaged
            elif (came := origin(entry)) is not None:
                imported.append((came, entry))
            else:
                self._recorded.append(entry)
        self._in_order = [entry for _, entry in sorted(imported, key=lambda pair: (*pair[0], pair[1].ordinal))]
        for entry in self._in_order:
            self._imported.setdefault(target(entry.request, self._policy.keyer), []).append(entry)
        return bool(imported)

    def _take(self, asked: Asked) -> Entry | None:
        with self._lock.held:
            for entry in self._candidates(asked):
                slot = (entry.key, entry.ordinal)
                if self._policy.repeats is Repeats.SAME or slot not in self._played:
                    self._played.add(slot)
                    return entry
        return None

    def _candidates(self, asked: Asked) -> Iterator[Entry]:
        yield from (entry for entry in self._recorded if self._is_own(entry, asked))
        yield from self._alike(asked)

    def _is_own(self, entry: Entry, asked: Asked) -> bool:
        keyer = self._policy.keyer
        return not interactions.mismatch(entry, asked, keyer) and not interactions.under_other_rules(
            entry, asked, keyer
        )

    def _alike(self, asked: Asked) -> list[Entry]:
        """Return the imported entries of a method and URL, in recorded order; a path may hold a secret."""
        keyer, matches = self._policy.keyer, self._policy.preparing.matches
        if matches is not None:
            return [one for one in self._in_order if any(matches(each, one.request) for each in _forms(asked))]
        found = self._imported.get(target(asked.request, keyer))
        return self._imported.get(target(asked.scrubbed, keyer), []) if found is None else found

    def _why_none(self, asked: Asked) -> str:
        there = len(self._alike(asked))
        if not there:
            return 'no imported interaction has the method and the URL of this request (match = "legacy")'
        recorded = f"{counted(there, 'interaction')} with this method and URL"
        return f'{recorded} {"was" if there == 1 else "were"} imported, and all have been played (match = "legacy")'

    def _compared(self, entry: Entry, asked: Asked) -> Differing | None:
        stored, wanted, keyer = entry.request, asked.keyed, self._policy.keyer
        is_own = entry.key == asked.key
        if is_own and (stored.method, stored.url, stored.body) == (wanted.method, wanted.url, wanted.body):
            return None
        days = stored_days(entry.key_spec.rules) or asked.days
        found: list[tuple[Kind, Difference]] = []
        if is_own or keyer.key(stored, days) == asked.key:
            kinds: tuple[Kind, ...] = (Kind.BYTES if is_own else Kind.RULES,)
        else:
            found = self._differences(stored, asked, days)
            kinds = tuple(kind for kind in Kind if any(kind is one for one, _ in found)) or (Kind.BODY,)
        return Differing(
            asked=misses.asked_line(asked),
            entry=self._place(entry),
            origin=origin(entry) or Origin("", 0),
            kinds=kinds,
            differences=tuple(found[:_SHOWN]),
            own="" if is_own else self._own(asked),
        )

    def _differences(
        self, stored: Request, asked: Asked, days: tuple[date, ...] | None
    ) -> list[tuple[Kind, Difference]]:
        """List how a request differs, each with what it is: first one of each kind, then the rest."""
        keyer, dialect = self._policy.keyer, dialects.find(stored.method, stored.url)
        found = differences(keyer.parts(asked.scrubbed, asked.days), keyer.parts(stored, days))
        named = [(kind_of(one.path, dialect.name if dialect else None), one) for one in found]
        firsts = [next((pair for pair in named if pair[0] is kind), None) for kind in Kind]
        leading = [pair for pair in firsts if pair is not None]
        return leading + [pair for pair in named if pair not in leading]

    def _own(self, asked: Asked) -> str:
        own = (entry for entries in self._imported.values() for entry in entries if entry.key == asked.key)
        return next(map(self._place, own), "")

    def _place(self, entry: Entry) -> str:
        return one_line(self._cassette.store.locate(entry.key, entry.ordinal), 300)


def _forms(asked: Asked) -> Iterator[Request]:
    """Yield a request as it came, then without its secrets, as stored ones are: one that matches needs no scrubbing."""
    yield asked.request
    yield asked.scrubbed


def _line(difference: Difference) -> str:
    """Return a difference in one line."""
    path = one_line(difference.path, 160)
    if difference.kind in ("added", "removed"):
        is_new = difference.kind == "added"
        return f"{path}: only {'asked' if is_new else 'stored'}: {difference.asked if is_new else difference.stored}"
    return f"{path}: asked {difference.asked}, stored {difference.stored}"


def _fault(entry: Entry, key: str, ordinal: int) -> str:
    """Say what is wrong with an entry that reads as one; empty where nothing is."""
    if (entry.key[: len(key)], entry.ordinal) != (key, ordinal):
        return "the key or the ordinal in the file is not the one that its name says"
    try:
        stored_days(entry.key_spec.rules)
    except (TypeError, ValueError) as error:
        return f"the key rules of an entry are damaged: {error}"
    return key_specs.fault(entry.key_spec)

"""From a request to what its cassette holds for it. Looking changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from onetake import interactions
from onetake.cassette import Cassette, Damaged
from onetake.contract import Contract
from onetake.decide import Found
from onetake.model import Entry, Request
from onetake.steps import Asked, Policy
from onetake.validity import Validity


@dataclass(frozen=True, slots=True)
class Looked:
    """What the cassette holds for one request under one ordinal."""

    asked: Asked
    ordinal: int
    found: Found
    entry: Entry | Damaged | None = None
    reason: str = ""
    """Why there is none, where that is not told by what the cassette holds for its key."""


class Lookup:
    """One session's way from a request to its entry.

    Args:
        policy: What the session goes by.
        cassette: Its entries.
    """

    def __init__(self, policy: Policy, cassette: Cassette) -> None:
        self.validity = Validity(policy)
        self._policy = policy
        self._cassette = cassette

    def identify(self, request: Request, contracts: tuple[Contract, ...]) -> Asked:
        """Find the request's key: as it came, and only where nothing has that key, scrubbed.

        Stored keys are of scrubbed requests: whatever is found under the key of the request as it came has no secret
        in it, so a hit costs no scrubbing. Rules of the project's own may be younger than the entries, so under those
        an entry of the scrubbed request goes first.
        """
        keyer, scrubber = self._policy.keyer, self._policy.scrubber
        days = keyer.today()
        asked = Asked(request, contracts, keyer.key(request, days), days, request, scrubber)
        stored = self._cassette.ordinals(asked.key)
        if not stored or scrubber.declared or scrubber.patterns:
            key = asked.key
            if not interactions.is_same(asked.scrubbed, request, keyer):
                key = keyer.key(asked.scrubbed, days)
            if not stored or self._cassette.ordinals(key):
                asked.key, asked.keyed = key, asked.scrubbed
        return asked

    def look(self, asked: Asked, ordinal: int) -> Looked:
        """Say what there is for a request: what a failed run of this test left goes before the cassette's own."""
        left = self._cassette.left_over(asked.key, ordinal)
        if left and self._is_good(left, asked, ordinal):
            return Looked(asked, ordinal, Found.PENDING, left)
        entry = self._cassette.load(asked.key, ordinal)
        if entry is None:
            stored = self._cassette.ordinals(asked.key)
            is_past = bool(stored) and max(stored) < ordinal
            return Looked(asked, ordinal, Found.EXHAUSTED if is_past else Found.ABSENT)
        if isinstance(entry, Entry) and interactions.is_proved(entry, asked, ordinal, self._policy.keyer):
            return Looked(asked, ordinal, self.validity.of(entry, asked.contracts), entry)
        if isinstance(entry, Entry) and (why := self._mismatch(entry, asked, ordinal)):
            entry = Damaged(self._cassette.store.locate(asked.key, ordinal), why)
        if isinstance(entry, Damaged):
            return Looked(asked, ordinal, Found.UNREADABLE, entry)
        if interactions.under_other_rules(entry, asked, self._policy.keyer):
            return Looked(asked, ordinal, Found.STALE, entry)
        return Looked(asked, ordinal, self.validity.of(entry, asked.contracts), entry)

    def why(self, looked: Looked) -> str:
        """Say why a readable entry is not valid: the reason in one line, then what it breaks; else empty."""
        if not isinstance(looked.entry, Entry) or looked.found is Found.PENDING:
            return ""
        if interactions.under_other_rules(looked.entry, looked.asked, self._policy.keyer):
            return "it answers another request, which counted as the same under the key rules of that time"
        return self.validity.why(looked.entry, looked.asked.contracts)

    def _is_good(self, left: Entry, asked: Asked, ordinal: int) -> bool:
        if self._mismatch(left, asked, ordinal) or interactions.under_other_rules(left, asked, self._policy.keyer):
            return False
        return self.validity.of(left, asked.contracts) is Found.VALID

    def _mismatch(self, entry: Entry, asked: Asked, ordinal: int) -> str:
        if entry.ordinal != ordinal:
            return "the ordinal in the file is not the one that its name says"
        return interactions.mismatch(entry, asked, self._policy.keyer)

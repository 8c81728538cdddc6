"""The replies that a batch has: found by request, judged by today's contract, and new ones kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from onetake import interactions, strictjson
from onetake.cassette import Cassette, Damaged
from onetake.decide import Found
from onetake.errors import FormatError, StoreError
from onetake.format.heads import Head, read_head
from onetake.key import RECIPES
from onetake.lookup import Lookup
from onetake.model import Choice, Entry, Mode, Repeats, Request
from onetake.scrub import SCRUBS
from onetake.steps import Asked, Policy
from onetake.stores import DiskStore
from onetake.stores.sqlite import KEYS_AT_ONCE

KEEP = ("violation", "length", "refusal", "secret", "status:400", "status:404", "status:413", "status:422")
"""Bad replies that are kept: repair chains and dead letters are entries, so that a replay gives them again."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What there is for a request.

    Args:
        asked: The request, keyed.
        entry: Its entry; None where there is none that counts.
        why: Why the one that is there does not count: stale, or unreadable; else empty.
        found: The same as one word; an `UNREADABLE` one was paid for, and is named and never asked again.
    """

    asked: Asked
    entry: Entry | None
    why: str = ""
    found: Found = Found.VALID


class Replies:
    """The replies of one store, under one job's contract.

    Args:
        store: Where they are kept.
        policy: What they are keyed, scrubbed and judged by; `KEEP` is what it keeps.
    """

    def __init__(self, store: DiskStore, policy: Policy) -> None:
        self.store = store
        self.policy = policy
        self._lookup = Lookup(policy, Cassette(store))
        self._judged_by = _judged_by(policy)
        self._rules = policy.keyer.spec()
        self._may_glance = getattr(store, "is_digested", False) and _is_plain(policy)
        self.at_once = KEYS_AT_ONCE if self._may_glance else 0
        """How many entries `ahead` reads at most."""

    def ahead(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the entries of keys that can be read together, to give to `said`; none where that gains nothing.

        Args:
            keys: As many as `at_once` at most, or none.
        """
        if not self.at_once or not keys:
            return {}
        try:
            found: dict[str, bytes] = self.store.get_all(keys)  # type: ignore[attr-defined]
        except StoreError:  # whoever needs one of them is told
            return {}
        return found

    def said(self, key: str, data: bytes | None = None, *, parses: bool) -> Any:
        """Return what the good reply to a request says, in a fraction of the time of `find`.

        Only where the store proves that an entry's bytes are as they were written, so that its full key proves the
        request, and today's contract is the one that judged it.

        Args:
            key: Of the request as it would be sent, 64 hex digits.
            data: Its entry, where `ahead` read it.
            parses: Whether the answer is JSON.

        Returns:
            A JSON value, or a text; None wherever that cannot be told at a glance, which says nothing: `find` does.
        """
        if not self._may_glance:
            return None
        try:
            data = data or self.store.get(key, 0)
            head = read_head(data) if data else None
            return self._value(head, parses=parses) if head and self._counts(head, key) else None
        except (StoreError, FormatError, strictjson.NotStrictError):
            return None

    def key(self, request: Request) -> str:
        """Return the key under which the reply to a request is stored, or would be.

        Args:
            request: Without any credential.
        """
        return self.key_of(self._lookup.identify(request, self.policy.contracts))

    def key_of(self, asked: Asked) -> str:
        """Return the same of a request that was identified: stored keys are of scrubbed requests."""
        if asked.keyed is asked.scrubbed:
            return asked.key
        return self.policy.keyer.key(asked.scrubbed, asked.days)

    def missing(self, request: Request, key: str) -> Reply:
        """Return what `find` does for a request of which nothing is stored, without a look into the store.

        Args:
            request: Without any credential.
            key: Its own.
        """
        keyer, scrubber = self.policy.keyer, self.policy.scrubber
        asked = Asked(request, self.policy.contracts, key, keyer.today(), request, scrubber)
        if not interactions.is_same(asked.scrubbed, request, keyer):
            return self.find(request)
        asked.keyed = asked.scrubbed
        return Reply(asked, None, found=Found.ABSENT)

    def find(self, request: Request) -> Reply:
        """Return what there is for a request. Asks nobody.

        Args:
            request: Without any credential.

        Raises:
            StoreError: The store as a whole cannot be read.
        """
        asked = self._lookup.identify(request, self.policy.contracts)
        looked = self._lookup.look(asked, 0)
        if isinstance(looked.entry, Damaged):
            place, why = looked.entry.place, looked.entry.why
            return Reply(asked, None, why if why.startswith(place) else f"{place}: {why}", Found.UNREADABLE)
        if looked.found is Found.VALID and isinstance(looked.entry, Entry):
            return self._counting(asked, looked.entry)
        return Reply(asked, None, self._lookup.why(looked), looked.found)

    def _counting(self, asked: Asked, entry: Entry) -> Reply:
        """Return what an entry is to this job: what another contract refused may be good under its own."""
        if entry.verdict != "kept:violation":
            return Reply(asked, entry)
        entry, found, why = self._lookup.validity.again(entry, asked.contracts)
        return Reply(asked, entry) if found is Found.VALID else Reply(asked, None, why, found)

    def _counts(self, head: Head, key: str) -> bool:
        """Tell what `Lookup` and `Validity` tell of an entry that is good, of this key, and under today's rules."""
        if (head.verdict, head.key, head.ordinal, head.recipe, head.scrub) != ("good", key, 0, RECIPES[0], SCRUBS[0]):
            return False
        if head.rules != self._rules:
            return False
        judged = head.contract if type(head.contract) is dict else {}
        return self._judged_by is None or (judged.get("schema"), judged.get("schema_version")) == self._judged_by

    def _value(self, head: Head, *, parses: bool) -> Any:
        if parses and (value := head.value(self.store.get_side)) is not None:
            return value
        answer = head.said(self.store.get_side)
        choice = answer.choices[0] if answer and answer.choices else Choice()
        if choice.tool_calls or choice.text is None:
            return None
        return strictjson.loads(choice.text) if parses else choice.text


def policy_for(policy: Policy) -> Policy:
    """Return the policy of a session as a batch has it: one answer a request, its bad replies kept."""
    return replace(policy, mode=Mode.NEW_EPISODES, repeats=Repeats.SAME, keep=KEEP, on_reject="pass")


def _judged_by(policy: Policy) -> tuple[str, int] | None:
    """Return digest and version of the contract; None without one."""
    return next(((contract.digest, contract.schema_version) for contract in policy.contracts), None)


def _is_plain(policy: Policy) -> bool:
    """Tell whether nothing but key and contract decides what counts: no rule of a day, a secret, an age or a type."""
    rules = policy.scrubber.declared or policy.scrubber.patterns or policy.keyer.today() or policy.max_age
    return not rules and len(policy.contracts) < 2 and not any(contract.is_type for contract in policy.contracts)

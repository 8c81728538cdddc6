"""Whether a stored entry may be replayed today: its verdict, its age, its schema version, and today's contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from onetake import gate, verdicts
from onetake.contract import Contract
from onetake.decide import Found
from onetake.model import ContractRef, Entry
from onetake.printable import one_line
from onetake.settings import MaxAge
from onetake.steps import Policy

UNKNOWN = datetime.min.replace(tzinfo=UTC)
"""What a time that is not known counts as, where times are compared: it comes before all others."""

_MOST = 1000
"""Entries whose word is remembered: a batch judges millions, and each is held in memory for it."""


class Validity:
    """One session's word on its entries; each is judged once, as long as it is remembered."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._known: dict[tuple[str, int], tuple[Entry, tuple[Contract, ...], Found, str]] = {}
        self._warned = False

    def of(self, entry: Entry, contracts: tuple[Contract, ...]) -> Found:
        """Tell what a readable entry is under these contracts: `VALID`, `STALE`, `UNKEPT` or `EXPIRED`."""
        if entry.verdict == "good" and not contracts and self._policy.max_age is None:
            return Found.VALID
        return self._word(entry, contracts)[0]

    def why(self, entry: Entry, contracts: tuple[Contract, ...]) -> str:
        """Say why an entry is not valid: the reason in one line, then what it breaks; empty for one that is."""
        return self._word(entry, contracts)[1]

    def again(self, entry: Entry, contracts: tuple[Contract, ...]) -> tuple[Entry, Found, str]:
        """Judge an answer that was kept for what it breaks as today's contracts do: what they let pass breaks nothing.

        Args:
            entry: `kept:violation`; one of which `of` says that it is valid.
            contracts: Today's.

        Returns:
            The entry with today's verdict, which is the stored one where the same contract gave it; what it is then,
            `VALID`, `STALE` or `UNKEPT`; and why, as `why` says it.
        """
        stored = entry.contract
        if _is_judged_by(contracts, stored) or (stored is None and not contracts):
            return entry, Found.VALID, ""
        judged = self._anew(entry, contracts, self._policy.keep)
        if isinstance(judged, str):
            return entry, Found.UNKEPT, judged
        if older := _other_version(stored, judged.contract):
            return entry, Found.STALE, older
        if judged.kind not in (gate.Kind.GOOD, gate.Kind.KEPT):
            return entry, Found.VALID, ""
        now = replace(entry, verdict=judged.verdict, violations=judged.violations, contract=judged.contract)
        return now, Found.VALID, ""

    def warning(self, entry: Entry) -> str:
        """Say, once a session, that an entry is older than `max_age` allows where that only warns; empty otherwise."""
        limit = self._policy.max_age
        if self._warned or limit is None or limit.then != "warn" or not (age := _over_age(entry, limit)):
            return ""
        self._warned = True
        where = f"{entry.request.method} {entry.request.url}"
        return f"an entry is old: {age} (the answer to {one_line(where, 160)}; said once, others may be old too)"

    def _word(self, entry: Entry, contracts: tuple[Contract, ...]) -> tuple[Found, str]:
        name = (entry.key, entry.ordinal)
        known = self._known.get(name)
        if known is None or known[:2] != (entry, contracts):
            self._known[name] = known = (entry, contracts, *self._judge(entry, contracts))
            if len(self._known) > _MOST:
                self._known.pop(next(iter(self._known)), None)
        return known[2:]

    def _judge(self, entry: Entry, contracts: tuple[Contract, ...]) -> tuple[Found, str]:
        kind, _, reason = entry.verdict.partition(":")
        if not verdicts.is_given(entry):
            return Found.UNKEPT, f"its verdict {one_line(entry.verdict, 40)!r} is none that the gate gives"
        if kind == "reject":
            return Found.UNKEPT, "it is a reject: an answer that was refused is never replayed"
        if kind == "kept" and not gate.keeps(self._policy.keep, reason):
            why = f'it was kept as {reason!r}, and this session does not keep that (keep=["{reason}"] would)'
            return Found.UNKEPT, one_line(why)
        limit = self._policy.max_age
        if limit and limit.then != "warn" and (age := _over_age(entry, limit)):
            return (Found.EXPIRED if limit.then == "fail" else Found.STALE), age
        if kind != "good":
            return Found.VALID, ""
        return self._under_contract(entry, contracts)

    def _under_contract(self, entry: Entry, contracts: tuple[Contract, ...]) -> tuple[Found, str]:
        """Ask today's contracts; the version counts whatever the contract is called now, an old name may be reused."""
        stored = entry.contract
        if not contracts or _is_judged_by(contracts, stored):
            return Found.VALID, ""
        judged = self._anew(entry, contracts)
        if isinstance(judged, str):
            return Found.UNKEPT, judged
        if older := _other_version(stored, judged.contract):
            return Found.STALE, older
        if judged.kind is gate.Kind.REJECT:
            broken = "".join(f"\n{one_line(str(violation), 300)}" for violation in judged.violations[:5])
            return Found.STALE, f"it breaks today's contract ({judged.reason}){broken}"
        return Found.VALID, ""

    def _anew(self, entry: Entry, contracts: tuple[Contract, ...], keep: Sequence[str] = ()) -> gate.Judgement | str:
        """Have the gate judge an answer by these contracts; why it cannot where a contract breaks."""
        try:
            return gate.judge(entry.request, entry.response, contracts, keep=keep, root=self._policy.root)
        except Exception as error:  # noqa: BLE001 - of a contract's own code; a new, paid answer would fare no better
            return one_line(f"today's contract broke on it ({type(error).__name__}: {error})", 300)


def _is_judged_by(contracts: tuple[Contract, ...], stored: ContractRef | None) -> bool:
    """Tell whether the contract that judged an entry is today's only one; a type's validators are in no digest."""
    if stored is None or len(contracts) != 1 or contracts[0].is_type:
        return False
    return (contracts[0].digest, contracts[0].schema_version) == (stored.schema, stored.schema_version)


def is_under_another(entry: Entry, contracts: tuple[Contract, ...]) -> bool:
    """Tell whether an answer was judged by another contract than any of these, so that no other request is given it.

    Args:
        entry: It may have been stored before there was any contract.
        contracts: Those in force.
    """
    stored = entry.contract
    if stored is None or not contracts:
        return bool(contracts) and not entry.unjudged
    return (stored.schema, stored.schema_version) not in {(one.digest, one.schema_version) for one in contracts}


def _other_version(stored: ContractRef | None, now: ContractRef | None) -> str:
    """Say in one line that a contract's version moved, or nothing; the stored name was read from a file."""
    if stored is None or now is None or stored.schema_version == now.schema_version:
        return ""
    name = one_line(stored.name, 80)
    today = str(now.schema_version) if name == now.name else f"{now.name} schema_version {now.schema_version}"
    return f"it was recorded under {name} schema_version {stored.schema_version}, which is {today} today"


def _over_age(entry: Entry, limit: MaxAge) -> str:
    """Say how much older an entry is than a limit allows, counted from its recording: no replay renews it."""
    recorded = moment(entry.provenance.get("recorded_at"))
    if recorded is None:
        return ""
    age = datetime.now(UTC) - recorded
    if age.total_seconds() <= limit.days * 86400:
        return ""
    return f"it was recorded {age.days} days ago, and max_age allows {limit.days:g}"


def moment(text: object) -> datetime | None:
    """Read a time of the provenance, one without an offset as UTC; None for one that is missing or broken by a hand."""
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found and found.tzinfo is None else found


def when(text: object) -> datetime:
    """Read a time of the provenance, as `moment` does, to compare it with others; `UNKNOWN` for one that is none."""
    return moment(text) or UNKNOWN

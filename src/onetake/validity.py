"""Whether a stored entry may be replayed today: its verdict, its age, its schema version, and today's contract."""

from __future__ import annotations

from datetime import UTC, datetime

from onetake import gate
from onetake.contract import Contract
from onetake.decide import Found
from onetake.model import Entry
from onetake.steps import Policy


class Validity:
    """One session's word on its entries; each is judged once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._known: dict[tuple[str, int], tuple[Entry, Found, str]] = {}

    def of(self, entry: Entry, contracts: tuple[Contract, ...]) -> Found:
        """Tell what a readable entry is under these contracts: `VALID`, `STALE`, `UNKEPT` or `EXPIRED`."""
        name = (entry.key, entry.ordinal)
        known = self._known.get(name)
        if known is None or known[0] != entry:
            found, why = self._judge(entry, contracts)
            self._known[name] = known = (entry, found, why)
        return known[1]

    def why(self, entry: Entry, contracts: tuple[Contract, ...]) -> str:
        """Say in one line or a few why an entry is not valid; empty for one that is."""
        self.of(entry, contracts)
        return self._known[entry.key, entry.ordinal][2]

    def _judge(self, entry: Entry, contracts: tuple[Contract, ...]) -> tuple[Found, str]:
        kind, _, reason = entry.verdict.partition(":")
        if kind == "kept" and not self._keeps(reason):
            return Found.UNKEPT, f'it was kept as {reason!r}, and this session does not keep that: keep=["{reason}"]'
        if too_old := self._too_old(entry):
            return too_old
        if kind != "good":
            return Found.VALID, ""
        return self._under_contract(entry, contracts)

    def _keeps(self, reason: str) -> bool:
        keep = self._policy.keep
        status = reason.removeprefix("status:")
        return reason in keep or (status != reason and f"status:{status[:1]}xx" in keep)

    def _too_old(self, entry: Entry) -> tuple[Found, str] | None:
        """Count the age from the recording: no replay ever renews it."""
        limit, recorded = self._policy.max_age, entry.provenance.get("recorded_at")
        if limit is None or not recorded or limit.then == "warn":
            return None
        age = datetime.now(UTC) - datetime.fromisoformat(recorded)
        if age.total_seconds() <= limit.days * 86400:
            return None
        why = f"it was recorded {age.days} days ago, and max_age allows {limit.days:g}"
        return (Found.EXPIRED if limit.then == "fail" else Found.STALE), why

    def _under_contract(self, entry: Entry, contracts: tuple[Contract, ...]) -> tuple[Found, str]:
        stored, root = entry.contract, self._policy.root
        if not contracts:
            return Found.VALID, ""
        if stored and len(contracts) == 1 and not contracts[0].is_type:
            now = contracts[0].ref(root)
            if (now.name, now.schema, now.schema_version) == (stored.name, stored.schema, stored.schema_version):
                return Found.VALID, ""
        judged = gate.judge(entry.request, entry.response, contracts, root=root)
        now = judged.contract or stored
        if stored and now and stored.name == now.name and stored.schema_version != now.schema_version:
            return Found.STALE, (
                f"it was recorded under {stored.name} schema_version {stored.schema_version}, "
                f"which is {now.schema_version} today"
            )
        if judged.kind is gate.Kind.REJECT:
            broken = "".join(f"\n{violation}" for violation in judged.violations[:5])
            return Found.STALE, f"it breaks today's contract ({judged.reason}){broken}"
        return Found.VALID, ""

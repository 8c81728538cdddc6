"""The gate once more, for an answer that a person keeps or has edited: under the contract of today."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from onetake.contract import Contract
from onetake.gate import Judgement, Kind
from onetake.interactions import schema_of
from onetake.model import Entry
from onetake.printable import one_line
from onetake.settings_values import KEPT
from onetake.upkeep.contract_checks import ContractChecks
from onetake.upkeep.holding import Holding
from onetake.upkeep.projects import Project, Schemas
from onetake.writing import schema_side

UNJUDGED = "its contract cannot be read here, so nothing would judge it: try --import"
"""Why nothing is written that its contract has not judged."""
_KEEPABLE = frozenset(word.partition(":")[0] for word in KEPT)


@dataclass(frozen=True, slots=True)
class Judged:
    """What the gate says of an entry's response today.

    Args:
        judgement: It.
        contracts: What judged; none where the entry's own contract cannot be read here.
        sides: The schema that lies beside the entry, by name.
        is_known: Whether the entry's contract, if it has one, could judge.
    """

    judgement: Judgement
    contracts: tuple[Contract, ...]
    sides: dict[str, bytes]
    is_known: bool


def judged(entry: Entry, folder: Path, project: Project) -> Judged:
    """Judge an entry by what judges it today.

    Args:
        entry: It; its dialect and its answer are not looked at.
        folder: Where it lies, with the schemas beside it.
        project: The settings that count for it.

    Raises:
        UsageError: Its contract is wrong, or a file that it watches is not there: what is written names its digest.
    """
    holding = Holding(folder, ())
    with closing(holding.store):
        found = ContractChecks(Schemas()).judge(entry, project, holding)
        sides = schema_side(holding.store, entry)
    if found.declared:
        project.watch(found.declared)
    # Of a type that was not imported only the schema lies beside the entry, and its validators are in no schema.
    is_read = found.declared is None or project.contract(found.declared) is not None
    is_known = entry.contract is None or (bool(found.contracts) and is_read)
    declared = found.contracts if found.declared else ()
    return Judged(found.judgement, declared, sides, is_known)


def as_kept(entry: Entry, folder: Path, project: Project) -> tuple[Entry | None, str, dict[str, bytes]]:
    """Return the entry that a reject becomes where it is kept on purpose, or why it becomes none.

    Args:
        entry: The reject.
        folder: Where it lies.
        project: The settings that count for it.

    Returns:
        The entry, with the verdict that the gate gives where that kind is kept, or `good` where it meets today's
        contract; else None and the reason; and the sidecars of its contract.
    """
    reason = entry.verdict.partition(":")[2]
    if reason.partition(":")[0] not in _KEEPABLE:
        return None, f"no session keeps an answer that was refused for this ({one_line(reason, 40)})", {}
    by_today = judged(entry, folder, project)
    if not by_today.is_known:
        return None, UNJUDGED, {}
    said = by_today.judgement
    if said.kind is Kind.GOOD and not said.unjudged:
        return good(entry, by_today), "", sides_of(entry, by_today)
    if said.reason != reason:
        return None, f"the gate says {said.verdict} of it today, and said reject:{one_line(reason, 40)}", {}
    return replace(entry, verdict=f"kept:{reason}"), "", by_today.sides


def good(entry: Entry, by_today: Judged) -> Entry:
    """Return an entry that passes, under the contract that judged it: of one that is declared nowhere its own."""
    said = by_today.judgement
    contract = said.contract if by_today.contracts else entry.contract
    return replace(entry, verdict="good", violations=(), contract=contract, unjudged=said.unjudged)


def sides_of(entry: Entry, by_today: Judged) -> dict[str, bytes]:
    """Return the sidecars that hold the schema of a passing entry's contract."""
    return {**by_today.sides, **schema_of(good(entry, by_today), by_today.contracts)}


def refusal(by_today: Judged) -> str:
    """Say why the gate does not let an answer pass, in its own words."""
    said = by_today.judgement
    found = [one_line(str(violation), 300) for violation in said.violations[:5]]
    return "; ".join([f"the gate says {said.verdict}", *found])

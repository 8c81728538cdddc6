"""Judge an old answer as the answer to another request, by what `check` judges by, under the contract in force."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from onetake import gate
from onetake.gate import Judgement
from onetake.model import ContractRef, Entry, Request
from onetake.printable import one_line
from onetake.upkeep import limits
from onetake.upkeep.contract_checks import ContractChecks
from onetake.upkeep.entry_checks import check_answer
from onetake.upkeep.findings import Code, Finding, Severity
from onetake.upkeep.holding import Held, Holding
from onetake.upkeep.projects import Project, Schemas


class Regate:
    """The gate for answers of one cassette.

    Args:
        project: The settings that count for it.
        folder: The cassette's.
    """

    def __init__(self, project: Project, folder: Path) -> None:
        self._project = project
        self._holding = Holding(folder, ())
        self._checks = ContractChecks(Schemas())

    def refusal(self, files: Iterable[tuple[Path, Entry]], request: Request, asked: tuple[ContractRef, ...]) -> str:
        """Say why answers may not be given to another request; empty where all of them may.

        Args:
            files: The entries that hold the answers, and where they lie.
            request: The request.
            asked: The contracts that its session had.
        """
        try:
            with limits.at_most(limits.SECONDS):
                found = (self._refusal(path, replace(entry, request=request), asked) for path, entry in files)
                return next(filter(None, found), "")
        except limits.TookTooLongError as error:
            return f"it cannot be checked ({error})"

    def _refusal(self, path: Path, entry: Entry, asked: tuple[ContractRef, ...]) -> str:
        if (entry.verdict == "good" or entry.contract) and (why := self._other_contract(entry, asked)):
            return why
        held = Held(path, None, b"", entry)
        judged = self._checks.judge(entry, self._project, self._holding)
        if entry.verdict != "good":
            return self._of_kept(entry, judged.judgement)
        for one in check_answer(held, entry, judged.judgement):
            if one.severity is Severity.ERROR:
                return _said(one)
        for one in self._checks.check(held, entry, self._project, self._holding, judged):
            if one.severity is Severity.ERROR or (one.code is Code.UNCHECKED and entry.contract):
                return _said(one)
        return ""

    def _of_kept(self, entry: Entry, by_today: Judgement) -> str:
        """Say that an answer which was kept on purpose is not bad in that way any more; empty where it is."""
        _, _, reason = entry.verdict.partition(":")
        judged = gate.judge(entry.request, entry.response, (), keep=(reason,), root=self._project.settings.root)
        is_same = entry.verdict == judged.verdict or reason == by_today.reason
        return "" if is_same else f"the gate says {by_today.verdict} of its answer today, and it was {entry.verdict}"

    def _other_contract(self, entry: Entry, asked: tuple[ContractRef, ...]) -> str:
        """Say that another contract is in force than the one that judged an answer; empty where it is the same."""
        stored = entry.contract
        if stored is None:
            unjudged = bool(asked) and not entry.unjudged
            return f"it was recorded without the contract {_named(asked[0])} that is in force" if unjudged else ""
        versions, schemas = self._declared(stored)
        versions |= {one.schema_version for one in asked if one.name == stored.name}
        if other := versions - {stored.schema_version}:
            was = f"it was recorded under {_named(stored)} schema_version {stored.schema_version}"
            return f"{was}, which is {min(other)} now"
        is_asked = any((one.schema, one.schema_version) == (stored.schema, stored.schema_version) for one in asked)
        if schemas - {stored.schema} or (asked and not is_asked):
            return f"the schema of the contract {_named(stored)} that judged it is another one now"
        return ""

    def _declared(self, stored: ContractRef) -> tuple[set[int], set[str]]:
        """Return version and schema that a contract has in the settings of today, as far as these say them."""
        declared = self._project.declared(stored.name)
        contract = self._project.contract(declared) if declared else None
        return {declared.schema_version} if declared else set(), {contract.digest} if contract else set()


def _said(one: Finding) -> str:
    return one_line(one.message.replace("\n", ": ", 1).replace("\n", "; "), 400)


def _named(ref: ContractRef) -> str:
    return repr(one_line(ref.name, 80))

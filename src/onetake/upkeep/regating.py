"""Judge an old answer as the answer to another request, under the contract that is in force."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from onetake import gate
from onetake.contract import Contract
from onetake.errors import FormatError, StoreError
from onetake.model import ContractRef, Entry, Request
from onetake.printable import one_line
from onetake.stores.directory import DirectoryStore
from onetake.upkeep.projects import Project, Schemas


class Regate:
    """The gate for answers of one cassette.

    Args:
        project: The settings that count for it.
        folder: The cassette's.
    """

    def __init__(self, project: Project, folder: Path) -> None:
        self._project = project
        self._store = DirectoryStore(folder)
        self._schemas = Schemas()

    def refusal(self, entries: Iterable[Entry], request: Request, asked: tuple[ContractRef, ...]) -> str:
        """Say why answers may not be given to another request; empty where all of them may.

        Args:
            entries: Those that hold the answers.
            request: The request.
            asked: The contracts that its session had.
        """
        return next(filter(None, (self._refusal(entry, request, asked) for entry in entries)), "")

    def _refusal(self, entry: Entry, request: Request, asked: tuple[ContractRef, ...]) -> str:
        stored = entry.contract
        if entry.verdict == "good" and (why := self._other_contract(entry, asked)):
            return why
        contract = self._contract(stored) if stored and entry.verdict == "good" else None
        kind, _, reason = entry.verdict.partition(":")
        keep = (reason,) if kind == "kept" else ()
        contracts = () if contract is None else (contract,)
        judged = gate.judge(request, entry.response, contracts, keep=keep, root=self._project.settings.root)
        if judged.verdict == entry.verdict:
            return ""
        broken = "; ".join(one_line(str(one), 200) for one in judged.violations[:3])
        return f"the gate says {judged.verdict} of its answer today" + (f": {broken}" if broken else "")

    def _other_contract(self, entry: Entry, asked: tuple[ContractRef, ...]) -> str:
        """Say that another contract is in force than the one that judged an answer; empty where it is the same."""
        stored = entry.contract
        if stored is None:
            unjudged = bool(asked) and not entry.unjudged
            return f"it was recorded without the contract {_named(asked[0])} that is in force" if unjudged else ""
        declared = self._project.declared(stored.name)
        versions = {one.schema_version for one in asked if one.name == stored.name}
        today = min(versions, default=declared.schema_version if declared else stored.schema_version)
        if today != stored.schema_version:
            return (
                f"it was recorded under {_named(stored)} schema_version {stored.schema_version}, which is {today} now"
            )
        if asked and not any(
            (one.schema, one.schema_version) == (stored.schema, stored.schema_version) for one in asked
        ):
            return f"the schema of the contract {_named(stored)} that judged it is another one now"
        return ""

    def _contract(self, stored: ContractRef) -> Contract | None:
        declared = self._project.declared(stored.name)
        if declared and (contract := self._project.contract(declared)):
            return contract
        name = f"_schemas/{stored.schema}.json"
        try:
            data = self._store.get_side(name)
            return None if data is None else self._schemas.contract(stored.schema, data, stored.name)
        except (StoreError, FormatError):
            return None


def _named(ref: ContractRef) -> str:
    return repr(one_line(ref.name, 80))

"""Stored answers under today's contract, or where that is not to be had, under the schema that lies beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from onetake import gate
from onetake.contract import Contract
from onetake.errors import FormatError, StoreError
from onetake.gate import Judgement, Kind
from onetake.model import ContractRef, Entry, Mode
from onetake.printable import one_line
from onetake.settings import ContractSettings
from onetake.upkeep import mends
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held, Holding
from onetake.upkeep.projects import Project, Schemas, aimed
from onetake.upkeep.standing import Standing, Today, standing

_MOST = 5
"""Violations that are told of one answer."""


class ContractChecks:
    """Judges stored answers. Keeps the loose lines of every contract that it judged by, for `loose`."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._loose: dict[tuple[Path, str], Contract] = {}

    def check(self, held: Held, entry: Entry, project: Project, holding: Holding) -> Iterator[Finding]:
        """Judge a good entry: whether replay would still serve it, and whether anything judged it."""
        stored = entry.contract
        declared = project.declared(stored.name) if stored else None
        contracts = self._contracts(stored, declared, entry, project, holding) if stored else ()
        judged = _judge(entry, contracts, project.settings.root)
        if judged.kind not in (Kind.GOOD, Kind.REJECT):
            why = f"its verdict is good, and the gate says {judged.verdict} of its response"
            yield finding(Code.BROKEN, held.path, why, mends.record_missing(entry), held.line_of("verdict"))
            return
        refused = judged.reason if judged.kind is Kind.REJECT else ""
        version = declared.schema_version if declared else None
        watch = project.watch(declared) if declared else None
        stands = standing(stored, Today(version, watch, refused))
        if stands is not Standing.GOOD:
            yield _standing_badly(held, entry, stands, judged, version)
        elif stored:
            yield from _unjudged(held, stored, declared, judged, contracts)

    def loose(self, projects: Iterator[Project]) -> Iterator[Finding]:
        """Name what the contracts still let pass, and which of them could not be read without an import."""
        for project in projects:
            for declared in project.settings.contracts.values():
                path, line = project.place(declared)
                contract = project.contract(declared)
                if contract is not None:
                    yield from _loose(path, line, contract)
                else:
                    yield _not_imported(path, line, declared)
        for (path, _), contract in self._loose.items():
            yield from _loose(path, 1, contract)

    def _contracts(
        self, stored: ContractRef, declared: ContractSettings | None, entry: Entry, project: Project, holding: Holding
    ) -> tuple[Contract, ...]:
        """Return what may judge an answer: the first of them that has nothing against it decides."""
        if declared and (contract := project.contract(declared)):
            return (contract,)
        name = f"_schemas/{stored.schema}.json"
        try:
            data = holding.store.get_side(name)
            kept = None if data is None else self._schemas.contract(stored.schema, data, stored.name)
        except (StoreError, FormatError):
            return ()  # the file has a finding of its own
        if kept is None:
            return ()
        self._loose.setdefault((project.settings.root, stored.schema), kept)
        return tuple(aimed(kept, on) for on in ((declared.on,) if declared else _selectors(entry)))

"""Stored answers under today's contract, or where that is not to be had, under the schema that lies beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from onetake import gate
from onetake.contract import Contract, unwatching
from onetake.contract.watch import REMEDY
from onetake.errors import FormatError, StoreError
from onetake.gate import Judgement, Kind
from onetake.model import ContractRef, Entry, Mode
from onetake.printable import one_line
from onetake.settings import ContractSettings
from onetake.stores.naming import schema_name
from onetake.upkeep import mends
from onetake.upkeep.contract_decision import Standing, Today, standing, vouched_under
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.freezing import Frozen
from onetake.upkeep.holding import Held, Holding
from onetake.upkeep.predating import Predating
from onetake.upkeep.projects import Project, Schemas, aimed

_RIGHT = "put that right, or mend `schema` of the contract in the settings"
_MOST = 5
"""Violations that are told of one answer."""


class Judged(NamedTuple):
    """What the gate says of a stored response today, the contract's settings, and all that were asked."""

    judgement: Judgement
    declared: ContractSettings | None
    contracts: tuple[Contract, ...]


class StoredSchema(NamedTuple):
    """A schema that lies beside entries: its file, what it is called there, and what it lets pass."""

    path: Path
    name: str
    lets_pass: tuple[str, ...]


class ContractChecks:
    """Judges stored answers, and remembers by which stored schemas, for `loose`."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._predating = Predating()
        self.stored: dict[str, StoredSchema] = {}
        """Those that judged an answer so far, by digest: each where it was met first."""

    def judge(self, entry: Entry, project: Project, holding: Holding) -> Judged:
        """Judge an entry by what judges it today.

        Args:
            entry: It, with a contract or without.
            project: Its own.
            holding: Its cassette, whose stored schemas judge where nothing of today does.
        """
        stored = entry.contract
        declared = project.declared(stored.name) if stored else None
        contracts = self._contracts(stored, declared, entry, project, holding) if stored else ()
        return Judged(_judge(entry, contracts, project.settings.root), declared, contracts)

    def check(
        self, held: Held, entry: Entry, project: Project, holding: Holding, by_today: Judged
    ) -> Iterator[Finding]:
        """Say of a good entry whether replay would still serve it, and whether anything judged it.

        Args:
            held: The file.
            entry: What is in it.
            project: Its own.
            holding: Its cassette.
            by_today: What `judge` said of it.
        """
        stored, (judged, declared, contracts) = entry.contract, by_today
        if judged.kind not in (Kind.GOOD, Kind.REJECT):
            why = f"its verdict is good, and the gate says {judged.verdict} of its response"
            yield finding(Code.BROKEN, held.path, why, mends.record_missing(entry, held.path), held.line_of("verdict"))
            return
        refused = judged.reason if judged.kind is Kind.REJECT else ""
        version = declared.schema_version if declared else None
        watch = ("" if project.unwatched(declared) else project.watch(declared)) if declared else None
        stands = standing(stored, Today(version, watch, refused), vouched_under(entry.provenance))
        if declared and stands is Standing.PREDATES:
            yield from self._predating.check(held, entry, declared, project)
        if stands in (Standing.BUMPED, Standing.BREAKS):
            yield _standing_badly(held, entry, stands, judged, version)
        elif declared and (wrong := project.wrong(declared)):
            yield finding(
                Code.UNCHECKED, held.path, f"nothing judges its answer: {wrong}", _RIGHT, held.line_of("contract")
            )
        elif stored:
            yield from _unjudged(held, stored, declared, judged, contracts, holding)

    def loose(self, projects: Iterator[Project]) -> Iterator[Finding]:
        """Name what the contracts still let pass, and which of them could not be read without an import.

        Nor is one to be used that is wrong, or watches a file which is not there: no session takes it.
        """
        for project in projects:
            for declared in project.settings.contracts.values():
                if why := project.wrong(declared):
                    place, line = project.said(declared, "schema")
                    yield finding(Code.BROKEN, place, why, _RIGHT, line)
                    continue
                if why := project.unwatched(declared):
                    place, line = project.said(declared, "watch")
                    yield finding(Code.BROKEN, place, why, REMEDY, line)
                path, line = project.place(declared)
                contract = project.contract(declared)
                if contract is not None:
                    yield from _loose(path, line, declared.name, contract.lint())
                if frozen := project.frozen(declared):
                    yield from _of_type(path, line, declared, frozen, contract if project.importing else None)
        for path, name, lets_pass in self.stored.values():
            yield from _loose(path, 1, name, lets_pass)

    def _contracts(
        self, stored: ContractRef, declared: ContractSettings | None, entry: Entry, project: Project, holding: Holding
    ) -> tuple[Contract, ...]:
        """Return what may judge an answer: the first of them that has nothing against it decides."""
        if declared and project.wrong(declared):
            return ()
        if declared and (contract := project.contract(declared)):
            return (unwatching(contract) if project.unwatched(declared) else contract,)
        name = schema_name(stored.schema)
        try:
            data = holding.store.get_side(name)
            kept = None if data is None else self._schemas.contract(stored.schema, data)
        except (StoreError, FormatError):
            return ()  # the file has a finding of its own
        if kept is None:
            return ()
        if stored.schema not in self.stored:
            self.stored[stored.schema] = StoredSchema(holding.folder / name, stored.name, kept.lint())
        return tuple(aimed(kept, on) for on in ((declared.on,) if declared else _selectors(entry)))


def _selectors(entry: Entry) -> tuple[str, ...]:
    """Return what a contract that is declared nowhere may have judged of an answer: its text, or a tool's calls."""
    choices = entry.answer.choices if entry.answer else ()
    tools = dict.fromkeys(f"tool:{call.name}" for choice in choices for call in choice.tool_calls)
    return (*(["text"] if any(not choice.tool_calls for choice in choices) else []), *tools)


def _judge(entry: Entry, contracts: tuple[Contract, ...], root: Path) -> Judgement:
    """Return the first judgement that has nothing against the answer, or the first of all."""
    found = [gate.judge(entry.request, entry.response, (), root=root)] if not contracts else []
    for contract in contracts:
        judged = gate.judge(entry.request, entry.response, (contract,), root=root)
        if judged.kind is Kind.GOOD and not judged.unjudged:
            return judged
        found.append(judged)
    return found[0]


def _standing_badly(held: Held, entry: Entry, stands: Standing, judged: Judgement, version: int | None) -> Finding:
    stored = entry.contract
    name = repr(one_line(stored.name, 80)) if stored else ""
    line = held.line_of("contract" if stored else "answer")
    again = mends.record_again(entry, Mode.NEW_EPISODES, held.path)
    if stored and stands is Standing.BUMPED:
        why = f"it was recorded under {name} schema_version {stored.schema_version}, which is {version} today"
        return finding(Code.SCHEMA_BUMPED, held.path, why, again, line)
    told = judged.violations[:_MOST]
    more = len(judged.violations) - len(told)
    lines = [one_line(str(violation), 300) for violation in told] + ([f"and {more} more"] if more else [])
    whose = f"contract {name}" if stored else "what its own request or content-type promises"
    why = "\n".join([f"its answer breaks {whose} ({judged.reason})", *lines])
    return finding(Code.BREAKS_CONTRACT, held.path, why, again, held.line_of("answer"))


def _unjudged(
    held: Held,
    stored: ContractRef,
    declared: ContractSettings | None,
    judged: Judgement,
    contracts: tuple[Contract, ...],
    holding: Holding,
) -> Iterator[Finding]:
    """Say that nothing judged an answer that a contract judged when it was recorded."""
    if contracts and not judged.unjudged:
        return
    name = repr(one_line(stored.name, 80))
    if not contracts and schema_name(stored.schema) not in holding.sides:
        why = f"nothing judges its answer: {name} cannot be read, and its schema does not lie beside the entry"
        mend = "declare the contract in the settings (`contracts`), or restore the schema from version control"
        yield finding(Code.UNCHECKED, held.path, why, mend, held.line_of("contract"))
    elif contracts:
        on = f" (on = {declared.on!r})" if declared else ""
        why = f"nothing judges its answer: contract {name} does not select it today{on}"
        yield finding(
            Code.UNCHECKED, held.path, why, "look at `on` of the contract in the settings", held.line_of("contract")
        )


def _loose(path: Path, line: int, name: str, lets_pass: tuple[str, ...]) -> Iterator[Finding]:
    for said in lets_pass:
        why = f"contract {one_line(name, 80)!r} is loose: {said}"
        mend = "say in the schema what may stand there; an answer recorded meanwhile may hold anything"
        yield finding(Code.LOOSE_CONTRACT, path, why, mend, line)


def _of_type(
    path: Path, line: int, declared: ContractSettings, frozen: Frozen, imported: Contract | None
) -> Iterator[Finding]:
    """Say what judges the answers of a type, and whether the file that it is frozen to is what it gives today."""
    freeze, name = mends.freeze(declared.name), repr(one_line(declared.name, 80))
    if why := frozen.differs(declared, imported) if imported else frozen.why:
        yield finding(Code.OUTDATED_SCHEMA, frozen.path, f"the frozen schema of contract {name} {why}", freeze)
    if imported is None:
        kind, judges = Code.NOT_IMPORTED, "the schemas that lie beside the entries, as the type was when they were made"
        if frozen.contract:
            kind, judges = Code.FROZEN_SCHEMA, "its frozen schema; validators of the type are in no schema"
        why = f"contract {name} is the type {declared.schema}, which was not imported: answers are judged by {judges}"
        more = "" if frozen.contract else f", or {freeze} without it"
        yield finding(kind, path, why, f"onetake check --import judges by the type itself{more}", line)

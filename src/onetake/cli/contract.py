"""`onetake contract`: the contracts that the settings declare, and the schemas of types as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from onetake.cli import output
from onetake.contract import Contract, names_type
from onetake.errors import UsageError
from onetake.exits import Exit
from onetake.printable import spelled
from onetake.settings import ContractSettings
from onetake.settings_values import nearest
from onetake.upkeep.freezing import FOREIGN, Frozen, check_apart, check_own, read_frozen, schema_bytes, write_frozen
from onetake.upkeep.projects import Project, Projects


@click.group(invoke_without_command=True)
@click.option("--import", "importing", is_flag=True, help="Import the types that contracts are declared by.")
@output.json_option()
@click.pass_context
def contract(context: click.Context, importing: bool, as_json: bool) -> None:
    """List the contracts that the settings declare: version, digests, and what each still lets pass.

    Without --import a type is told as it was frozen (`onetake contract freeze`). Exit code 1 where one is wrong.
    """
    if context.invoked_subcommand is not None:
        if importing or as_json:
            raise UsageError(f"options of `onetake contract {context.invoked_subcommand}` stand behind that word")
        return
    project = _project(importing=importing)
    told = [_told(project, declared) for declared in project.settings.contracts.values()]
    if as_json:
        output.print_json({"contracts": told})
    else:
        _print_contracts(told)
    context.exit(Exit.FINDINGS if any(one["why"] for one in told) else Exit.OK)


@contract.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--check", "checking", is_flag=True, help="Write nothing; exit code 1 where a file is out of date.")
@output.json_option()
@click.pass_context
def freeze(context: click.Context, names: tuple[str, ...], checking: bool, as_json: bool) -> None:
    """Write the schemas of types as files, by which `onetake check` judges without importing them.

    Imports the types of the contracts NAME, else of all that are declared by a type. Each schema goes to
    schemas/NAME.json, or where `frozen` of the contract says. Validators of a type are in no schema.
    """
    project = _project(importing=True)
    types = _types(project, names)
    check_apart(types, project.settings.root)
    made = [(declared, *_made(project, declared, checking=checking)) for declared in types]
    done = [(_checked if checking else _written)(*one) for one in made]
    failed = any(one.state not in _GOOD for one in done)
    if as_json:
        output.print_json({"contracts": [one.data() for one in done], "failed": failed})
    else:
        _print_frozen(done)
    context.exit(Exit.FINDINGS if failed else Exit.OK)


_GOOD = frozenset({"written", "unchanged", "current"})


@dataclass(frozen=True, slots=True)
class _Done:
    """What became of one frozen schema: `written`, `unchanged`; under --check `current`, `missing`, `outdated`."""

    declared: ContractSettings
    contract: Contract
    path: Path
    state: str
    why: str = ""

    def data(self) -> dict[str, Any]:
        return {
            "name": self.declared.name,
            "type": self.declared.schema,
            "path": output.json_path(self.path),
            "digest": self.contract.digest,
            "state": self.state,
            "why": self.why or None,
        }


def _project(*, importing: bool) -> Project:
    return Projects(Path.cwd(), importing=importing).of(Path.cwd())


def _types(project: Project, names: Sequence[str]) -> list[ContractSettings]:
    """Return the contracts to freeze, each once.

    Raises:
        UsageError: A name is not declared, or its contract is no type.
    """
    declared = project.settings.contracts
    for name in names:
        if name not in declared:
            known = f"they declare {', '.join(map(repr, declared)) or 'none'}"
            raise UsageError(f"contract {name!r} is not declared in the settings{nearest(name, declared, known)}")
        if not names_type(declared[name].schema):
            raise UsageError(f"contract {name!r} is the file {declared[name].schema}: only a type can be frozen")
    return [one for one in declared.values() if (one.name in names if names else names_type(one.schema))]


def _made(project: Project, declared: ContractSettings, *, checking: bool) -> tuple[Frozen, Contract, bytes]:
    """Import a type: the file it is frozen to, the contract, and what the file shall hold; nothing is written yet."""
    frozen, contract = read_frozen(declared, project.settings.root), project.imported(declared)
    if not checking:
        check_own(frozen)
    return frozen, contract, schema_bytes(contract, declared)


def _written(declared: ContractSettings, frozen: Frozen, contract: Contract, data: bytes) -> _Done:
    return _Done(declared, contract, frozen.path, "written" if write_frozen(frozen, data) else "unchanged")


def _checked(declared: ContractSettings, frozen: Frozen, contract: Contract, data: bytes) -> _Done:
    if frozen.contract is None and not frozen.why and not frozen.is_foreign:
        return _Done(declared, contract, frozen.path, "missing", "is not there")
    why = frozen.differs(declared, contract) or (FOREIGN if frozen.is_foreign else "")
    return _Done(declared, contract, frozen.path, "outdated" if why else "current", why)


def _told(project: Project, declared: ContractSettings) -> dict[str, Any]:
    """Return what is told of one contract; what is wrong with it stands in `why`."""
    found: dict[str, Any] = {"digest": None, "watch_digest": None, "frozen": None, "lint": []}
    why = ""
    try:
        if contract := project.contract(declared):
            found |= {"digest": contract.digest, "lint": list(contract.lint())}
        found["watch_digest"] = project.watch(declared)
        if frozen := project.frozen(declared):
            found["frozen"] = output.json_path(frozen.path) if frozen.contract else None
            imported = contract if project.importing else None
            why = frozen.differs(declared, imported) if imported else frozen.why
            why = why and f"{output.shown_path(frozen.path)} {why}"
    except UsageError as error:
        why = str(error)
    return {
        "name": declared.name,
        "schema": declared.schema,
        "schema_version": declared.schema_version,
        "on": declared.on,
        "watch": list(declared.watch),
        **found,
        "why": why or None,
    }


def _print_contracts(told: Sequence[dict[str, Any]]) -> None:
    for one in told:
        output.title(one["name"])
        output.fields([(f"  {name}", text) for name, text in _lines(one)])
        output.say()
    output.say(f"{len(told)} contract{'' if len(told) == 1 else 's'} declared")


def _lines(one: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "schema", one["schema"]
    yield "schema_version", str(one["schema_version"])
    yield "on", one["on"]
    unknown = "" if one["why"] else "not known: `onetake contract --import` imports the type"
    yield "digest", one["digest"] or unknown
    yield "frozen", spelled(one["frozen"] or "")
    yield "watch", "\n".join(one["watch"])
    yield "watch digest", one["watch_digest"] or ""
    yield "loose", "\n".join(one["lint"])
    yield "wrong", one["why"] or ""


def _print_frozen(done: Sequence[_Done]) -> None:
    if not done:
        output.say("no contract is declared by a type: there is nothing to freeze")
        return
    for one in done:
        output.say(f"{one.state}: {output.shown_path(one.path)} {one.why}".rstrip())
        output.say(f"  contract {one.declared.name}, of {one.declared.schema}, digest {one.contract.digest}")
    output.say("validators of a type are in no schema: `onetake check --import` asks them, too")

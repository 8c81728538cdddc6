"""`onetake status`: one advice for every entry, and what to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import click

from onetake.cli import chain, output
from onetake.cli.entries import folder_to_search
from onetake.printable import one_line
from onetake.upkeep import mends
from onetake.upkeep.advising import OCCASIONS, TABLE, Advice
from onetake.upkeep.findings import Severity
from onetake.upkeep.statuses import Advised, Status
from onetake.upkeep.statuses import status as status_of
from onetake.upkeep.successors import Successor

_MOST_GROUPS = 20
_MOST_PATHS = 10


@click.command()
@click.argument("path", required=False)
@click.option("--table", "as_table", is_flag=True, help="Print the decision table with the counts of this project.")
@click.option("--chain", "as_chain", is_flag=True, help="Print the entries with old answers of others, in order.")
@click.option("--import", "importing", is_flag=True, help="Import the types that contracts are declared by.")
@output.json_option()
def status(path: str | None, as_table: bool, as_chain: bool, importing: bool, as_json: bool) -> None:
    """Say what to do about stored entries: one advice each, why, and the command to run.

    They are looked for in PATH and below; in the settings' folder where PATH is left out. It is a report: the exit code
    is 0, whatever it says. `onetake check` is the gate.
    """
    start = folder_to_search(path)
    found = status_of(start, importing=importing)
    if as_json:
        table = {"table": _rows(found)} if as_table else {}
        begun = cache(_begun)  # there are many entries in few folders
        entries = [_data(one, begun(one.path.parent)) for one in found.entries]
        known = {"knowledge": found.knowledge, "probe": dict(found.probe) or None}
        told = {"chain": chain.data(found.chained)} if as_chain else {}
        output.print_json({"entries": entries, "counts": found.counts, **known, **table, **told})
    elif as_chain:
        chain.say(found.chained)
    elif as_table:
        heads = ("advice", "when", "what to do", "here")
        output.table(heads, [(one["advice"], one["when"], one["then"], str(one["count"])) for one in _rows(found)])
        _print_knowledge(found)
    elif not found.entries:
        output.say(f"no entries under {output.shown_path(start)}")
    else:
        _print(found)


def _begun(folder: Path) -> str:
    """Return what stands before the names of a folder's files."""
    told = output.json_path(folder)
    return "" if told == "." else f"{told.removesuffix('/')}/"


def _data(one: Advised, before: str) -> dict[str, Any]:
    said: dict[str, Any] = {
        "path": before + one.path.name,
        "key": one.key,
        "ordinal": one.ordinal,
        "advice": one.advice.value,
        "reason": one.reason if one.command or not one.mend else f"{one.reason}\nto mend it: {one.mend}",
        "command": one.command,
    }
    if one.advice is Advice.ORPHAN:
        said["successor"] = _successor(one.successor) if one.successor else None
    return said


def _successor(one: Successor) -> dict[str, Any]:
    places = [{"path": each.path, "kind": each.kind, "was": each.stored, "is": each.asked} for each in one.differences]
    path = output.json_path(one.path) if one.path else None
    return {"key": one.key, "ordinal": one.ordinal, "path": path, "changed": list(one.changed), "differences": places}


def _rows(found: Status) -> list[dict[str, Any]]:
    """Return the decision table: what each advice means, and how many entries there are of it."""
    advices = [
        {"advice": advice.value, "when": row.when, "then": row.then, "count": found.counts[advice.value]}
        for advice, row in TABLE.items()
    ]
    failing = sum(any(each.severity is Severity.ERROR for each in one.findings) for one in found.entries)
    counts = {"in CI": failing, "pre-release": len(found.entries)}
    return advices + [
        {"advice": name, "when": row.when, "then": row.then, "count": counts[name]} for name, row in OCCASIONS.items()
    ]


def _print(found: Status) -> None:
    for advice in TABLE:
        entries = [one for one in found.entries if one.advice is advice]
        if entries and advice is not Advice.REPLAY:
            output.title(f"{advice}: {output.entries(len(entries))}")
            _print_groups(entries)
            output.say()
    _print_chained(found)
    said = ", ".join(
        f"{found.counts[advice.value]} {advice}" for advice in reversed(tuple(TABLE)) if found.counts[advice]
    )
    output.say(f"{output.entries(len(found.entries))}: {said}")
    warned = sum(bool(one.reason) for one in found.entries if one.advice is Advice.REPLAY)
    if warned:
        output.say(f"{warned} of those that replay with a warning: `onetake check` says which")
    _print_knowledge(found)


def _print_chained(found: Status) -> None:
    """Print the entries with old answers of others, whatever the advice for them is."""
    by_path = {one.path: one for one in found.entries}
    entries = [
        replace(by_path[one.path], reason=one.finding.message, mend=one.finding.mend, successor=None)
        for one in found.chained
        if not one.is_left
    ]
    if entries:
        output.title(f"with an old answer: {output.entries(len(entries))}")
        _print_groups(entries)
        output.say()


def _print_groups(entries: list[Advised]) -> None:
    """Print entries of one advice, those together of which the same is said."""
    groups: dict[tuple[str, ...], list[Advised]] = {}
    for one in entries:
        groups.setdefault(_said(one), []).append(one)
    for said, group in islice(groups.items(), _MOST_GROUPS):
        for one in group[:_MOST_PATHS]:
            place = f" (now {one.successor.key[:16]})" if one.successor else ""
            output.say(f"  {output.shown_path(one.path)}{place}")
        if len(group) > _MOST_PATHS:
            output.say(f"  and {len(group) - _MOST_PATHS} more")
        output.say("\n".join(f"    {line}" for text in said for line in text.split("\n")))
    left = sum(map(len, islice(groups.values(), _MOST_GROUPS, None)))
    if left:
        output.say(f"  and {output.entries(left)} more: --json has them all")


def _said(one: Advised) -> tuple[str, ...]:
    """Return what is said of an entry, without what is its own alone."""
    todo = [f"to do: {mends.told(one.mend)}"] if one.mend else []
    if one.successor is None:
        return one.reason, *todo
    whole = one.reason.split("\n")
    return *whole[: len(whole) - len(one.successor.lines) - 1], *one.successor.lines, *todo


def _probe(last: Mapping[str, Any]) -> str:
    names = ("agreed", "drifted", "failed", "unasked", "unaskable")
    counts = ", ".join(f"{last[name]} {name}" for name in names if last.get(name))
    other = f", asked of {one_line(str(last['model']), 80)}" if last.get("model") else ""
    return f"{last.get('at')}: {last.get('sampled')} sampled{other}" + (f", {counts}" if counts else "")


def _print_knowledge(found: Status) -> None:
    if found.probe:
        output.say(f"last probe: {_probe(found.probe)}")
    if found.knowledge:
        output.say(f"which entries are orphans cannot be told of all: {found.knowledge}")
    for store in found.replies[:_MOST_PATHS]:
        output.say(f"which replies no batch needs any more: {mends.prune_replies(store)}")

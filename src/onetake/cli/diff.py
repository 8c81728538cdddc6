"""`onetake diff`: how two entries differ, or an entry from the one that git has at HEAD."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from onetake import git
from onetake.cli import output
from onetake.cli.entries import find_entry, load
from onetake.cli.readable import answer_data
from onetake.compare import Difference, differences, value_differences
from onetake.errors import FormatError, UsageError
from onetake.exits import Exit
from onetake.format import load_entry
from onetake.key import Keyer
from onetake.model import Entry
from onetake.printable import spelled
from onetake.upkeep.limits import SECONDS, TookTooLongError, at_most

_MOST = 200
"""Differences of one part that are listed."""


@click.command()
@click.argument("a")
@click.argument("b", required=False)
@output.json_option()
@click.pass_context
def diff(context: click.Context, a: str, b: str | None, as_json: bool) -> None:
    """Say how two entries differ.

    Request, answer, contract and provenance of A and B are compared. Without B: how A differs from what git has of the
    same file at HEAD, which then stands first. Exit code 1 where they differ. A and B are paths or the first 8 or more
    hex digits of keys.
    """
    path = find_entry(a)
    if b is None:
        names = f"HEAD:{output.json_path(path)}", output.json_path(path)
        found = compared(_at_head(path), load(path))
    else:
        other = find_entry(b)
        names = output.json_path(path), output.json_path(other)
        found = compared(load(path), load(other))
    if as_json:
        parts = {part: [_data(difference) for difference in listed] for part, listed in found.items()}
        output.print_json({"a": names[0], "b": names[1], "equal": not any(found.values()), **parts})
    else:
        _print(names, found)
    context.exit(Exit.FINDINGS if any(found.values()) else Exit.OK)


def compared(a: Entry, b: Entry) -> dict[str, list[Difference]]:
    """List how two entries differ, part by part; `asked` is of *a*, `stored` of *b*."""
    return {
        "request": differences(*_requests(a, b), _MOST),
        "answer": value_differences(answer_data(a), answer_data(b), _MOST),
        "contract": value_differences(_judged(a), _judged(b), _MOST),
        "provenance": value_differences(dict(a.provenance), dict(b.provenance), _MOST),
    }


def _requests(a: Entry, b: Entry) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return both requests under the key rules that they share; whole where these are not the same, or do not end."""
    if _rules(a) == _rules(b):
        (keyer, days), (other, other_days) = (Keyer.from_spec(entry.key_spec.rules) for entry in (a, b))
        with suppress(TookTooLongError), at_most(SECONDS):
            return keyer.parts(a.request, days), other.parts(b.request, other_days)
    whole = Keyer()
    return whole.parts(a.request), whole.parts(b.request)


def _rules(entry: Entry) -> dict[str, Any]:
    return {name: rule for name, rule in entry.key_spec.rules.items() if name != "today"}


def _judged(entry: Entry) -> dict[str, Any]:
    contract = asdict(entry.contract) if entry.contract else None
    violations = [asdict(violation) for violation in entry.violations]
    return {"verdict": entry.verdict, "contract": contract, "unjudged": entry.unjudged, "violations": violations}


def _at_head(path: Path) -> Entry:
    data = _git_show(path.parent, path.name)
    if data is None:
        why = "git has no such file at HEAD" if git.is_installed() else "there is no git to ask"
        raise UsageError(f"{output.shown_path(path)}: {why}; name a second entry")
    try:
        return load_entry(data, lambda name: _git_show(path.parent, name))
    except FormatError as error:
        raise FormatError(f"unreadable entry: HEAD:{output.shown_path(path)}: {error}") from None


def _git_show(folder: Path, name: str) -> bytes | None:
    """Return a file's bytes at HEAD, None where a repository or the file is missing."""
    return git.ask(folder, "cat-file", "blob", f"HEAD:./{name}")


def _data(difference: Difference) -> dict[str, str]:
    kind = {"added": "only_a", "removed": "only_b"}.get(difference.kind, difference.kind)
    return {"path": difference.path, "kind": kind, "a": difference.asked, "b": difference.stored}


def _print(names: tuple[str, str], found: dict[str, list[Difference]]) -> None:
    output.fields([("a", spelled(names[0])), ("b", spelled(names[1]))])
    for part, listed in found.items():
        if listed:
            output.say()
            output.title(part)
        for difference in listed:
            output.say("\n".join(_lines(difference)))
        if len(listed) == _MOST:
            output.say("  and maybe more")
    if not any(found.values()):
        output.say("no difference in request, answer, contract and provenance")


def _lines(difference: Difference) -> list[str]:
    if difference.kind == "order":
        return [
            f"  {difference.path}: only the order differs",
            f"    a {difference.asked}",
            f"    b {difference.stored}",
        ]
    sides = [f"    a {difference.asked}", f"    b {difference.stored}"]
    shown = {"added": sides[:1], "removed": sides[1:]}.get(difference.kind, sides)
    only = {"added": " (only in a)", "removed": " (only in b)"}.get(difference.kind, "")
    return [f"  {difference.path}{only}", *shown]

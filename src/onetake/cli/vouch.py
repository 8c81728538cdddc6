"""`onetake vouch`: a person says that entries were reviewed under today's parser."""

from __future__ import annotations

from typing import Any

import click

from onetake.cli import output
from onetake.cli.entries import find_entries
from onetake.exits import Exit
from onetake.upkeep.vouching import Vouched
from onetake.upkeep.vouching import vouch as vouch_for


@click.command()
@click.argument("entries", metavar="ENTRY...", nargs=-1, required=True)
@click.option("--reason", required=True, help="What you looked at, and why it is right; it is kept in the entry.")
@click.option("--import", "importing", is_flag=True, help="Import the types that contracts are declared by.")
@output.json_option()
@click.pass_context
def vouch(context: click.Context, entries: tuple[str, ...], reason: str, importing: bool, as_json: bool) -> None:
    """Say that entries were reviewed under today's parser, so that they no longer predate it.

    ENTRY is a path, or the first 8 or more hex digits of a key, looked for below the settings' folder. Each is checked
    first: what the check finds an error in is refused, and its file stays as it is. One whose contract is a type needs
    --import. Exit code 1 where one was refused.
    """
    paths = {path.absolute(): path for path in find_entries(entries)}
    found = []
    for one in vouch_for(tuple(paths.values()), reason, importing=importing):
        found.append(one)
        if not as_json:
            _print(one)
    if as_json:
        vouched = [{**_named(one), **one.note} for one in found if one.refusal is None]
        output.print_json({"vouched": vouched, "refused": [_refused(one) for one in found if one.refusal]})
    context.exit(Exit.FINDINGS if any(one.refusal for one in found) else Exit.OK)


def _named(one: Vouched) -> dict[str, Any]:
    key, ordinal = (one.entry.key, one.entry.ordinal) if one.entry else (None, None)
    return {"path": output.json_path(one.path), "key": key, "ordinal": ordinal}


def _refused(one: Vouched) -> dict[str, Any]:
    said = one.refusal
    return {**_named(one), "code": said.code.value, "message": said.message, "mend": said.mend} if said else {}


def _print(one: Vouched) -> None:
    path = output.shown_path(one.path)
    if one.refusal is None:
        output.say(f"vouched for: {path}")
        return
    output.say(f"refused: {path}")
    output.say(f"  {one.refusal.code}: {one.refusal.message}".replace("\n", "\n  "))
    output.say(f"  mend: {one.refusal.mend}")

"""`onetake rekey`: entries under the key and scrub rules of today."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onetake.cli import output
from onetake.cli.entries import files_to_change, find_entries
from onetake.errors import UsageError
from onetake.exits import Exit
from onetake.printable import one_line
from onetake.settings import KeyRules, key_rules
from onetake.settings_files import parse_toml

if TYPE_CHECKING:
    from onetake.upkeep.rekey.colliding import Meeting
    from onetake.upkeep.rekey.found import Move, Rekeying

_MOST = 20
"""Entries of one cassette, or of one key, that are listed; and keys to which several come."""
_ANSWERS = {True: "differ", False: "equal", None: "unknown"}
"""Whether the answers of entries that come to one key differ; None where one of them cannot be read."""


@click.command()
@click.argument("path", required=False)
@click.option("--yes", is_flag=True, help="Do it.")
@click.option("--add", "added", metavar="TOML", multiple=True, help="A key rule that a marker or a call adds.")
@click.option(
    "--drop", "dropped", metavar="TOML", multiple=True, help="A key rule that entries hold, and holds no more."
)
@click.option("--first", metavar="ENTRY", multiple=True, help="The entry that answers first, where that is not known.")
@output.json_option()
@click.pass_context
def rekey(
    context: click.Context,
    path: str | None,
    yes: bool,
    added: tuple[str, ...],
    dropped: tuple[str, ...],
    first: tuple[str, ...],
    as_json: bool,
) -> None:
    """Give entries the keys that they have under today's rules, and scrub them anew; nothing is asked again.

    They are looked for in PATH and below; in the settings' folder where PATH is left out. Without --yes it says what
    would be done, and does nothing. A key rule is written as in the settings: --drop 'ignore = ["$.user"]'.
    """
    from onetake.upkeep.rekey.found import Choices
    from onetake.upkeep.rekey.rekeying import rekey as rekey_entries

    start = files_to_change(path)
    chosen = tuple(found.resolve() for found in find_entries(first))
    choices = Choices(_rules("--add", added), _rules("--drop", dropped), chosen)
    found = rekey_entries(start, choices, writes=yes)
    if as_json:
        output.print_json(_data(found, done=yes))
    else:
        _print(found, done=yes)
    context.exit(Exit.FINDINGS if found.collisions or found.left else Exit.OK)


def _rules(option: str, texts: tuple[str, ...]) -> KeyRules:
    from onetake.options import joined

    found = KeyRules()
    for text in texts:
        table = parse_toml(Path(option), text.encode("utf-8", "surrogateescape"))
        try:
            found = joined(found, key_rules(table))
        except UsageError as error:
            raise UsageError(f"{option}: {error}") from None
    return found


def _data(found: Rekeying, *, done: bool) -> dict[str, Any]:
    shown = output.json_path
    return {
        "done": done,
        "entries": found.entries,
        "moves": [
            {
                "path": shown(one.path),
                "new_path": shown(one.new_path),
                "key": one.key,
                "ordinal": one.ordinal,
                "new_key": one.new_key,
                "new_ordinal": one.new_ordinal,
                "scrubbed": list(one.spans),
            }
            for one in found.moves
        ],
        "repeats": [_met(one) for one in found.repeats],
        "collisions": [{**_met(one.met), "why": one.why, "mend": one.mend} for one in found.collisions],
        "left": [{"path": shown(one.path), "why": one.why, "mend": one.mend} for one in found.left],
        "kept_rules": [{"rules": rules.split("\n"), "entries": number} for rules, number in sorted(found.kept.items())],
        "new_headers": [{"header": name, "entries": number} for name, number in sorted(found.headers.items())],
    }


def _met(one: Meeting) -> dict[str, Any]:
    paths = [output.shown_path(path) for path in one.paths]
    tests = [test or None for test in one.tests]
    return {"new_key": one.key, "paths": paths, "answers": _ANSWERS[one.differ], "tests": tests}


def _print(found: Rekeying, *, done: bool) -> None:
    for folder, moves in groupby(found.moves, lambda one: one.path.parent):
        listed = list(moves)
        output.title(f"{output.shown_path(folder)}  ({output.entries(len(listed))})")
        for one in listed[:_MOST]:
            output.say(f"  {_told(one)}")
        if len(listed) > _MOST:
            output.say(f"  and {len(listed) - _MOST} more")
        output.say()
    for met in found.repeats[:_MOST]:
        output.title(f"{'came' if done else 'come'} to one key, in this order: {met.key[:16]}")
        _say_met(met)
        output.say()
    if len(found.repeats) > _MOST:
        output.say(f"and {len(found.repeats) - _MOST} more keys to which several come: --json names all\n")
    for collision in found.collisions:
        output.title(f"left, as they come to one key: {collision.met.key[:16]}")
        _say_met(collision.met)
        _say_why(collision.why, collision.mend)
    for left in found.left:
        output.title("left")
        output.say(f"  {output.shown_path(left.path)}")
        _say_why(left.why, left.mend)
    _print_notes(found)
    output.say(_summary(found, done=done))


def _told(move: Move) -> str:
    names = move.path.name if move.path == move.new_path else f"{move.path.name} -> {move.new_path.name}"
    return names + (f"  (scrubbed: {', '.join(move.spans)})" if move.spans else "")


def _say_met(one: Meeting) -> None:
    """Print entries that come to one key, whether their answers differ, and who recorded them."""
    for path, test in list(zip(one.paths, one.tests, strict=True))[:_MOST]:
        output.say(f"  {output.shown_path(path)}  ({f'of {one_line(test, 200)}' if test else 'of no test'})")
    if len(one.paths) > _MOST:
        output.say(f"  and {len(one.paths) - _MOST} more")
    answers = {True: "their answers differ", False: "their answers are equal", None: "one cannot be read"}[one.differ]
    whose = "one test recorded them" if len(set(one.tests)) == 1 and one.tests[0] else ""
    whose = whose or ("no test recorded them" if not any(one.tests) else "not one test alone recorded them")
    output.say(f"    {answers}; {whose}")


def _say_why(why: str, mend: str) -> None:
    output.say(f"    {why}")
    output.say(f"    mend: {mend}")
    output.say()


def _print_notes(found: Rekeying) -> None:
    from onetake.quoting import quoted

    for rules, number in sorted(found.kept.items()):
        lines = rules.split("\n")
        output.say(f"kept in {output.entries(number)}, as a marker or call may hold it: {'; '.join(lines)}")
        output.say(f"  if nothing holds it any more: {' '.join(f'--drop {quoted(line)}' for line in lines)}")
    for name, number in sorted(found.headers.items()):
        output.say(
            f"the header {name} counts now, and {output.entries(number)} may lack it: record again what sends it"
        )


def _summary(found: Rekeying, *, done: bool) -> str:
    rekeyed = sum(one.key != one.new_key for one in found.moves)
    scrubbed = sum(bool(one.spans) for one in found.moves)
    stay = sum(len(one.met.paths) for one in found.collisions) + len(found.left)
    if not (found.moves or stay):
        return f"{output.entries(found.entries)}: all have their keys of today"
    told = f"{rekeyed} of {output.entries(found.entries)} {'re-keyed' if done else 'to be re-keyed'}"
    told += f", {scrubbed} scrubbed anew" if scrubbed else ""
    told += f", {stay} left" if stay else ""
    return told if done or not found.moves else f"{told}: `--yes` does it"

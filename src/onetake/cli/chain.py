"""How commands tell which entries hold an old answer of one that was recorded again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from onetake.cli import output
from onetake.upkeep.chaining import Marked
from onetake.upkeep.chains import Chained
from onetake.upkeep.mends import Command


def data(chain: Iterable[Chained]) -> list[dict[str, Any]]:
    """Return what `--json` has of entries that hold an old answer."""
    return [
        {
            "path": output.json_path(one.path),
            "key": one.key,
            "ordinal": one.ordinal,
            "origin": output.json_path(one.origin),
            "left": one.is_left,
            "reason": one.finding.message,
            **_mend(one.finding.mend),
        }
        for one in chain
    ]


def marked_data(marked: Iterable[Marked]) -> list[dict[str, Any]]:
    """Return what `--json` has of entries that were marked."""
    return [
        {
            "path": output.json_path(one.path),
            "origin": output.json_path(one.origin),
            "why": one.why,
            **_mend(one.mend),
        }
        for one in marked
    ]


def say(chain: Sequence[Chained]) -> None:
    """Print every chain in order: the entry that was recorded again, what holds its old answer, and what to run."""
    if not chain:
        output.say("no entry holds an old answer of one that was recorded again")
    for origin, together in groupby(chain, lambda one: one.origin):
        held = list(together)
        output.title(f"{output.shown_path(origin)}: {output.entries(len(held))} with an old answer of it")
        for number, one in enumerate(held, 1):
            output.say(f"  {number}. {output.shown_path(one.path)}")
            output.say("\n".join(f"     {line}" for line in one.finding.message.split("\n")))
        _say_mends(one.finding.mend for one in held)


def say_marked(marked: Sequence[Marked]) -> None:
    """Print which entries hold the old answer of one that was just recorded again, and what to run."""
    for origin, together in groupby(marked, lambda one: one.origin):
        held = list(together)
        output.title(f"{output.shown_path(origin)}: {output.entries(len(held))} with its old answer")
        for number, one in enumerate(held, 1):
            said = f"cannot be marked: {one.why}" if one.why else "marked"
            output.say(f"  {number}. {output.shown_path(one.path)}: {said}")
        _say_mends(one.mend for one in held)


def _say_mends(mends: Iterable[str]) -> None:
    for mend in dict.fromkeys(mends):
        output.say(f"  {'to do' if isinstance(mend, Command) else 'no command does it'}: {mend}")


def _mend(mend: str) -> dict[str, str]:
    return {"command": mend if isinstance(mend, Command) else "", "mend": mend}

"""`onetake doctor`: what endangers a suite that replays by vcrpy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import click

from onetake.cli import output
from onetake.cli.entries import folder_to_search
from onetake.doctor.examining import Report, counts, examine
from onetake.doctor.hazards import Hazard
from onetake.exits import Exit
from onetake.printable import counted, spelled
from onetake.quoting import quoted_path
from onetake.scrub import shown


@click.command()
@click.argument("path", required=False)
@output.json_option()
@click.pass_context
def doctor(context: click.Context, path: str | None, as_json: bool) -> None:
    """Find what endangers a suite that replays by vcrpy: what it cannot tell apart, and what goes live.

    The project's configuration and cassettes in PATH and below are read, in the current folder where PATH is left out.
    Nothing of the project runs. Exit code 1 where there is a hazard.
    """
    report = examine(folder_to_search(path))
    if as_json:
        output.print_json(_document(report))
    else:
        _print(report)
    context.exit(Exit.FINDINGS if report.hazards else Exit.OK)


def _document(report: Report) -> dict[str, Any]:
    return {
        "hazards": [_data(one) for one in report.hazards],
        "counts": counts(report.hazards),
        "cassettes": report.cassettes,
        "interactions": report.interactions,
        "openings": report.openings,
        "foreign": report.foreign,
        "recorders": report.recorders,
        "unread": [{"path": output.scrubbed_path(path), "why": shown(why)} for path, why in report.unread],
        "unclear": [
            {"path": output.scrubbed_path(path), "line": line, "what": shown(what)}
            for path, line, what in report.unclear
        ],
    }


def _data(one: Hazard) -> dict[str, Any]:
    return {
        "kind": one.kind.value,
        "path": output.scrubbed_path(one.path),
        "line": one.line,
        "message": shown(one.message),
        "why": one.why,
        "exposed": len(one.cassettes),
        "cassettes": [output.scrubbed_path(path) for path in one.cassettes],
        "mends": one.mends(_told([one])),
    }


def _told(hazards: Sequence[Hazard]) -> str:
    """Return how the command of a mend names their cassettes: one by its file, several by the folder that holds all."""
    cassettes = list(dict.fromkeys(path for one in hazards for path in one.cassettes))
    if not cassettes:
        return "PATH"
    if len(cassettes) == 1:
        return quoted_path(output.scrubbed_path(cassettes[0]))
    folder = next(each for each in cassettes[0].parents if all(path.is_relative_to(each) for path in cassettes))
    return quoted_path(output.scrubbed_path(folder))


def _print(report: Report) -> None:
    for kind, found in groupby(report.hazards, lambda one: one.kind):
        ones = list(found)
        output.title(f"{kind} ({len(ones)})")
        output.say(f"  {ones[0].why}.")
        for one in ones:
            place = spelled(output.scrubbed_path(one.path))
            output.say(f"  {place}:{one.line}  {counted(len(one.cassettes), 'cassette')} exposed")
            output.say("\n".join(f"    {line}" for line in shown(one.message).split("\n")))
        for mend in ones[0].mends(_told(ones)):
            output.say(f"  mend: {mend}")
        output.say()
    for path, why in report.unread:
        output.say(f"not read: {spelled(output.scrubbed_path(path))}: {shown(why)}")
    for path, line, what in report.unclear:
        output.say(f"not clear: {spelled(output.scrubbed_path(path))}:{line}: {shown(what)}")
    _summary(report)


def _summary(report: Report) -> None:
    if report.foreign:
        output.say("of other recorders: " + ", ".join(f"{name} {number}" for name, number in report.foreign.items()))
    if report.recorders:
        output.say("installed: " + ", ".join(f"{name} {version}" for name, version in report.recorders.items()))
    seen = f"{counted(report.cassettes, 'cassette')} with {counted(report.interactions, 'interaction')}"
    output.say(f"{seen}, opened at {counted(report.openings, 'place')}: {counted(len(report.hazards), 'hazard')}")

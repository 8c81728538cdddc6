"""`onetake check`: the gate for CI and pre-commit."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import click

from onetake.cli import output
from onetake.cli.entries import folder_to_search
from onetake.exits import Exit
from onetake.printable import counted
from onetake.upkeep.checking import Report
from onetake.upkeep.checking import check as check_entries
from onetake.upkeep.findings import Finding, count, fails
from onetake.upkeep.mends import told


@click.command()
@click.argument("path", required=False)
@click.option("--strict", is_flag=True, help="Let warnings fail it, too.")
@click.option("--import", "importing", is_flag=True, help="Import the types that contracts are declared by.")
@output.json_option()
@click.pass_context
def check(context: click.Context, path: str | None, strict: bool, importing: bool, as_json: bool) -> None:
    """Check that stored entries still say what is true: contracts, keys, answers, sidecars, secrets.

    They are looked for in PATH and below; in the settings' folder where PATH is left out. Nothing is asked of a
    provider, and without --import no code of the project runs. Exit code 1 on an error.
    """
    start = folder_to_search(path)
    report = check_entries(start, importing=importing)
    failed = fails(report.findings, strict=strict)
    if as_json:
        counts = count(report.findings)
        totals = {"cassettes": report.cassettes, "entries": report.entries, "counts": counts, "failed": failed}
        output.print_json({"findings": [_data(one) for one in report.findings], **totals})
    else:
        _print(report)
    context.exit(Exit.FINDINGS if failed else Exit.OK)


def _data(one: Finding) -> dict[str, Any]:
    return {
        "code": one.code.value,
        "path": output.json_path(one.path),
        "line": one.line,
        "severity": one.severity.value,
        "message": one.message,
        "mend": one.mend,
    }


def _print(report: Report) -> None:
    for path, found in groupby(report.findings, lambda one: one.path):
        output.title(output.shown_path(path))
        for one in found:
            output.say(f"  {one.severity}: {one.code}, line {one.line}")
            output.say(_indented(one.message, "    "))
            output.say(_indented(f"mend: {told(one.mend)}", "    "))
        output.say()
    counts = count(report.findings)
    said = ", ".join(counted(number, name) for name, number in counts.items() if name != "info" or number)
    output.say(f"{output.entries(report.entries)} checked: {said}")


def _indented(text: str, by: str) -> str:
    return "\n".join(by + line for line in text.split("\n"))

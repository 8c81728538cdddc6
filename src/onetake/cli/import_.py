"""`onetake import`: what other recorders wrote, as entries, without asking anybody anything."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from shutil import copyfileobj
from tempfile import TemporaryFile
from textwrap import indent
from typing import IO, Any

import click

from onetake.cli import output
from onetake.cli.entries import as_path
from onetake.doctor.ignoring import ignored_hosts
from onetake.errors import UsageError
from onetake.exits import Exit
from onetake.gate import keeps
from onetake.importers.counting import SAME_REQUEST, Groups
from onetake.importers.importing import Imported, Row, files_of, import_all
from onetake.importers.judging import Outcome
from onetake.importers.loose_limit import SETTING as LIMIT
from onetake.importers.loose_limit import Limit, set_limits
from onetake.importers.placing import Choices
from onetake.importers.summing import Totals
from onetake.printable import counted, one_line, spelled
from onetake.settings_values import EVERY_KIND, kept

_SHOWN = 20
_PLACES = 80
"""Characters of the positions that are told in a line."""
_EACH = 1000
"""Files after which a line of progress is due where no terminal shows it."""


@click.group("import")
def import_() -> None:
    """Import what other recorders wrote."""


@import_.command()
@click.argument("path", nargs=-1, required=True)
@click.option("--to", metavar="DIR", help="Put the cassettes under DIR; left out, each beside its file.")
@click.option("--dry-run", is_flag=True, help="Write nothing; only say what would be done.")
@click.option("--report", metavar="FILE", help="Write the whole report to FILE, as --json prints it.")
@click.option("--keep", multiple=True, metavar="KIND", help="Import bad answers of this kind: status:4xx, cut, all.")
@click.option("--keep-bodyless", is_flag=True, help="Import requests without a recorded body too.")
@click.option("--contract", multiple=True, metavar="NAME", help="Judge by this contract of the settings.")
@click.option("--blame", is_flag=True, help="Ask git which commit each file is of.")
@output.json_option()
@click.pass_context
def vcr(
    context: click.Context,
    path: tuple[str, ...],
    to: str | None,
    dry_run: bool,
    report: str | None,
    keep: tuple[str, ...],
    keep_bodyless: bool,
    contract: tuple[str, ...],
    blame: bool,
    as_json: bool,
) -> None:
    """Import cassettes of vcrpy: each PATH a file, or a folder of them. They are only read.

    Each interaction is keyed by its whole request, scrubbed, and judged as if it were recorded today; what becomes of
    it is one row of the report. Importing again changes nothing. Exit code 1 where something was not imported.
    """
    choices = Choices(as_path(to) if to else None, _kinds(keep), keep_bodyless, contract, blame, writes=not dry_run)
    files = files_of([as_path(word) for word in path], choices.to)
    totals, left = Totals(dry_run), _Left()
    if report:
        _check(report)
    with TemporaryFile() as rows:
        document = _Document(rows)
        for one in _told(import_all(files, choices), len(files)):
            totals.add(one)
            left.add(one)
            document.add(one)
        ignored = list(ignored_hosts(totals.folders.values()))
        rules = {"hosts": sorted(totals.hosts), "ignore": ignored, "keep": sorted(totals.keep)}
        limits = set_limits(totals.loose) if not dry_run else []
        said = {**totals.as_json(), "settings": rules, "legacy_loose": _limits(limits)}
        if report:
            with as_path(report).open("wb") as out:
                document.write(said, out)
        if as_json:
            document.write(said, sys.stdout.buffer)
    if not as_json:
        _print(totals, rules, limits)
        left.print(report)
    context.exit(Exit.OK if totals.are_all_in else Exit.FINDINGS)


def _kinds(keep: Sequence[str]) -> tuple[str, ...]:
    words = [word for one in keep for word in (EVERY_KIND if one == "all" else (one,))]
    return kept(words, "--keep") if words else ()


def _told(found: Iterator[Imported], files: int) -> Iterator[Imported]:
    """Say on standard error how far it is, where that takes long or somebody watches."""
    is_watched = sys.stderr is not None and sys.stderr.isatty()
    for number, one in enumerate(found, 1):
        if is_watched:
            click.echo(f"\r{number:,} of {files:,} files", nl=number == files, err=True)
        elif number % _EACH == 0:
            click.echo(f"{number:,} of {files:,} files", err=True)
        yield one


def _check(report: str) -> None:
    """See that the report can be written, before anything is imported.

    Raises:
        UsageError: It cannot.
    """
    try:
        with as_path(report).open("ab"):
            pass
    except OSError as error:
        raise UsageError(f"--report {report}: cannot be written: {error.strerror or error}") from None


class _Document:
    """The JSON document: its rows wait in a file until the totals are known, which stand before them.

    Args:
        rows: An empty file.
    """

    def __init__(self, rows: IO[bytes]) -> None:
        self._rows = rows
        self._between = b""

    def add(self, one: Imported) -> None:
        """Add the rows of a file."""
        for row in one.rows:
            self._rows.write(self._between + indent(json.dumps(_row(row), indent=2), "    ").encode())
            self._between = b",\n"

    def write(self, totals: Mapping[str, Any], out: IO[bytes]) -> None:
        """Write the whole document to a file."""
        out.write(json.dumps(totals, indent=2).encode().removesuffix(b"\n}") + b',\n  "rows": [\n')
        self._rows.seek(0)
        copyfileobj(self._rows, out)
        out.write(b"\n  ]\n}\n")


def _row(row: Row) -> dict[str, Any]:
    return {
        "source": output.scrubbed_path(row.source),
        "position": row.position,
        "outcome": str(row.outcome),
        "reason": row.reason,
        "key": row.key or None,
        "entry": row.entry or None,
        "notes": list(row.notes),
    }


def _limits(limits: Sequence[Limit]) -> list[dict[str, Any]]:
    return [
        {"file": output.json_path(one.file) if one.file else None, "number": one.number, "written": one.is_written}
        for one in limits
    ]


class _Left:
    """What was not imported, the interactions of one file with one reason together; the first ones are told."""

    def __init__(self) -> None:
        self._first: list[tuple[str, str, str, str]] = []
        self._number = 0
        self._kinds: set[str] = set()

    def add(self, one: Imported) -> None:
        """Add what was not imported of a file."""
        groups: dict[tuple[Outcome, str], list[Row]] = {}
        for row in one.rows:
            if row.outcome not in (Outcome.IMPORTED, Outcome.LOOSE):
                groups.setdefault((row.outcome, row.reason), []).append(row)
            if row.outcome is Outcome.WOULD_NOT_RECORD and keeps(EVERY_KIND, kind := row.reason.partition(": ")[0]):
                self._kinds.add(kind)
        self._number += len(groups)
        for (outcome, reason), rows in islice(groups.items(), max(0, _SHOWN - len(self._first))):
            places = _runs([row.position for row in rows if row.position is not None])
            why = one_line("; ".join((reason, *_statuses(rows))), 240)
            self._first.append((spelled(output.scrubbed_path(one.path)), places, str(outcome).replace("_", " "), why))

    def print(self, report: str | None) -> None:
        """Print it."""
        if self._first:
            output.say()
            output.table(("not imported", "at", "what", "why"), self._first)
        if (more := self._number - len(self._first)) > 0:
            output.say(f"and {more:,} more: {report or '--report FILE'} has a row for every interaction")
        if self._kinds:
            flags = " ".join(f"--keep {kind}" for kind in sorted(self._kinds))
            output.say(f"to import what would not be recorded all the same: {flags}")


def _runs(positions: Sequence[int]) -> str:
    """Write positions, which ascend, as runs: `0-3, 7`."""
    steps = groupby(enumerate(positions), lambda pair: pair[1] - pair[0])
    runs = [[position for _, position in run] for _, run in steps]
    return one_line(", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs), _PLACES)


def _statuses(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(note for row in rows for note in row.notes if note.startswith(SAME_REQUEST)))


def _print(totals: Totals, rules: Mapping[str, Sequence[str]], limits: Sequence[Limit]) -> None:
    outcomes, verb = totals.outcomes, "would be written" if totals.dry_run else "written"
    output.title(f"{counted(totals.files, 'file')}, {counted(totals.interactions, 'interaction')}")
    output.fields(
        [
            ("imported", _number(outcomes[Outcome.IMPORTED])),
            ("loose", _number(outcomes[Outcome.LOOSE])),
            ("refused", _number(outcomes[Outcome.REFUSED])),
            ("would not be recorded today", _number(outcomes[Outcome.WOULD_NOT_RECORD])),
            ("foreign", _number(outcomes[Outcome.FOREIGN])),
            ("entries", f"{totals.new:,} {verb}, {totals.were_there:,} were there"),
            ("answers", f"{totals.bytes_in:,} bytes read, {totals.bytes_out:,} stored"),
            ("requests", _requests(totals.groups)),
            ("scrubbed", ", ".join(f"{kind} {number:,}" for kind, number in totals.secrets.most_common())),
            ("settings written", "\n".join(_limit(one) for one in limits if one.is_written)),
            (
                "settings to add",
                "\n".join(
                    [f"{name} = {json.dumps(said)}" for name, said in rules.items() if said]
                    + [_limit(one) for one in limits if not one.is_written]
                ),
            ),
        ]
    )


def _limit(one: Limit) -> str:
    file = f" in {output.shown_path(one.file)}" if one.file else ""
    return f"{LIMIT} = {one.number}{file}: loose entries may only become fewer"


def _requests(groups: Groups) -> str:
    said = [f"{groups.distinct:,} distinct"]
    if groups.url_only:
        said.append(f"{counted(groups.url_only, 'URL')} with several bodies, which vcrpy's default cannot tell apart")
    if groups.repeated:
        other = f"{groups.other_answers:,} with other answers, {groups.other_statuses:,} with other statuses"
        said.append(f"{groups.repeated:,} recorded more than once: {other}")
    if groups.only_credentials:
        said.append(f"{groups.only_credentials:,} told apart by credentials in the URL alone, which do not count")
    return "\n".join(said)


def _number(number: int) -> str:
    return f"{number:,}" if number else ""

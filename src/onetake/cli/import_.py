"""`onetake import`: what other recorders wrote, as entries, without asking anybody anything."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from onetake.cli import output
from onetake.cli.entries import as_path
from onetake.exits import Exit
from onetake.importers.counting import SAME_REQUEST, Groups
from onetake.importers.ignoring import ignored_hosts
from onetake.importers.importing import Imported, Row, files_of, import_all
from onetake.importers.judging import Outcome
from onetake.importers.placing import Choices
from onetake.printable import counted, one_line
from onetake.settings_values import EVERY_KIND, kept

_SHOWN = 20
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
    found = list(_told(import_all(files, choices), len(files)))
    rules = _rules(found)
    document = _document(found, rules, dry_run=dry_run) if as_json or report else {}
    if report:
        as_path(report).write_bytes(json.dumps(document, indent=2).encode() + b"\n")
    if as_json:
        output.print_json(document)
    else:
        _print(found, rules, report, dry_run=dry_run)
    is_whole = all(row.outcome in (Outcome.IMPORTED, Outcome.LOOSE) for one in found for row in one.rows)
    context.exit(Exit.OK if is_whole else Exit.FINDINGS)


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


def _document(found: Sequence[Imported], rules: dict[str, list[str]], *, dry_run: bool) -> dict[str, Any]:
    outcomes, groups = _outcomes(found), _groups(found)
    return {
        "files": len(found),
        "interactions": sum(one.interactions for one in found),
        "distinct": groups.distinct,
        **{str(outcome): outcomes[outcome] for outcome in Outcome},
        "url_only_groups": groups.url_only,
        "repeated_groups": groups.repeated,
        "repeated_other_answers": groups.other_answers,
        "repeated_other_statuses": groups.other_statuses,
        "never_played": sum(one.never_played for one in found),
        "written": 0 if dry_run else sum(one.written for one in found),
        "answer_bytes": {"read": sum(one.bytes_in for one in found), "stored": sum(one.bytes_out for one in found)},
        "secrets": _secrets(found),
        "settings": rules,
        "dry_run": dry_run,
        "rows": [_row(row) for one in found for row in one.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "source": output.shown_path(row.source),
        "position": row.position,
        "outcome": str(row.outcome),
        "reason": row.reason,
        "key": row.key or None,
        "entry": row.entry or None,
        "notes": list(row.notes),
    }


def _outcomes(found: Sequence[Imported]) -> Counter[Outcome]:
    return Counter(row.outcome for one in found for row in one.rows)


def _groups(found: Sequence[Imported]) -> Groups:
    return sum((one.groups for one in found), Groups())


def _secrets(found: Sequence[Imported]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in found:
        total.update(one.secrets)
    return dict(total.most_common())


def _rules(found: Sequence[Imported]) -> dict[str, list[str]]:
    """Return the settings to add: the program's own servers that are played, and the hosts that vcrpy ignored."""
    vcrpy = [one.path for one in found if one.interactions]
    return {"hosts": sorted({host for one in found for host in one.hosts}), "ignore": list(ignored_hosts(vcrpy))}


def _print(found: Sequence[Imported], rules: dict[str, list[str]], report: str | None, *, dry_run: bool) -> None:
    outcomes, groups = _outcomes(found), _groups(found)
    written, interactions = sum(one.written for one in found), sum(one.interactions for one in found)
    was_there = outcomes[Outcome.IMPORTED] + outcomes[Outcome.LOOSE] - written
    output.title(f"{counted(len(found), 'file')}, {counted(interactions, 'interaction')}")
    output.fields(
        [
            ("imported", _number(outcomes[Outcome.IMPORTED])),
            ("loose", _number(outcomes[Outcome.LOOSE])),
            ("refused", _number(outcomes[Outcome.REFUSED])),
            ("would not be recorded today", _number(outcomes[Outcome.WOULD_NOT_RECORD])),
            ("foreign", _number(outcomes[Outcome.FOREIGN])),
            ("entries", f"{written:,} {'would be written' if dry_run else 'written'}, {was_there:,} were there"),
            ("answers", f"{sum(o.bytes_in for o in found):,} bytes read, {sum(o.bytes_out for o in found):,} stored"),
            ("requests", _requests(groups)),
            ("scrubbed", ", ".join(f"{kind} {number:,}" for kind, number in _secrets(found).items())),
            ("settings to add", "\n".join(f"{name} = {json.dumps(said)}" for name, said in rules.items() if said)),
        ]
    )
    left = _left(found)
    if left:
        output.say()
        output.table(("not imported", "at", "what", "why"), left[:_SHOWN])
    if len(left) > _SHOWN:
        output.say(f"and {len(left) - _SHOWN:,} more: {report or '--report FILE'} has a row for every interaction")


def _left(found: Sequence[Imported]) -> list[tuple[str, str, str, str]]:
    """Return what was not imported, the interactions of one file with one reason together."""
    groups: dict[tuple[Path, Outcome, str], list[Row]] = {}
    for row in (row for one in found for row in one.rows):
        if row.outcome not in (Outcome.IMPORTED, Outcome.LOOSE):
            groups.setdefault((row.source, row.outcome, row.reason), []).append(row)
    return [
        (
            output.shown_path(source),
            ", ".join(str(row.position) for row in rows if row.position is not None),
            str(outcome).replace("_", " "),
            one_line("; ".join((reason, *_statuses(rows))), 240),
        )
        for (source, outcome, reason), rows in groups.items()
    ]


def _statuses(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(note for row in rows for note in row.notes if note.startswith(SAME_REQUEST)))


def _requests(groups: Groups) -> str:
    said = [f"{groups.distinct:,} distinct"]
    if groups.url_only:
        said.append(f"{counted(groups.url_only, 'URL')} with several bodies, which vcrpy's default cannot tell apart")
    if groups.repeated:
        other = f"{groups.other_answers:,} with other answers, {groups.other_statuses:,} with other statuses"
        said.append(f"{groups.repeated:,} recorded more than once: {other}")
    return "\n".join(said)


def _number(number: int) -> str:
    return f"{number:,}" if number else ""

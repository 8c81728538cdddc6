"""`onetake review`: what changed among entries since a commit, to be decided on like code."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import click

from onetake.cli import output, review_markdown, review_shown
from onetake.cli.entries import folder_to_search
from onetake.errors import UsageError
from onetake.printable import counted, one_line
from onetake.review.change import Changes, Kind
from onetake.review.changes import changes as changes_of
from onetake.review.reading import Read, Reader
from onetake.scrub import shown
from onetake.upkeep.projects import Projects

_MOST_LEFT = 20


@click.command()
@click.argument("path", required=False)
@click.option("--against", metavar="REV", help="Compare with this commit; left out: HEAD.")
@click.option("--list", "as_list", is_flag=True, help="List what there is to review, and ask nothing.")
@click.option("--markdown", is_flag=True, help="Print a comment for a pull request, and ask nothing.")
@click.option("--all", "show_all", is_flag=True, help="Ask about what was accepted before, too.")
@click.option("--import", "importing", is_flag=True, help="Import the types that contracts are declared by.")
@output.json_option("Print what there is to review as one JSON document, and ask nothing.")
@click.pass_context
def review(
    context: click.Context,
    path: str | None,
    against: str | None,
    as_list: bool,
    markdown: bool,
    show_all: bool,
    importing: bool,
    as_json: bool,
) -> None:
    """Review entries like code: what is new, recorded again or gone since a commit, what waits, what was refused.

    They are looked for in PATH and below; in the settings' folder where PATH is left out. In a terminal each is shown,
    and a single key decides: accept, discard, record again, edit, skip.
    """
    if markdown and (as_list or as_json):
        raise UsageError("--markdown prints a comment, and goes neither with --list nor with --json")
    asks = not (as_list or markdown or as_json)
    if asks and not (sys.stdin.isatty() and sys.stdout.isatty()):
        ways = "--list, --json or --markdown"
        raise UsageError(f"a review asks for single keys, for which it needs a terminal; without one: {ways}")
    start = folder_to_search(path)
    projects = Projects(start, importing=importing)
    found = changes_of(start, against, projects)
    reader = Reader(found, projects, importing=importing)
    if as_json:
        output.print_json(_data(found, reader))
    elif markdown:
        reads = (reader.read(one) for one in found.found)
        click.echo(review_markdown.comment("Entries to review", _summary(found), reads, len(found.found)), nl=False)
    elif as_list:
        _list(found, reader)
    else:
        from onetake.cli.review_keys import ask

        context.exit(ask(found, reader, _summary(found), show_all=show_all))


def _summary(found: Changes) -> list[str]:
    """Say on a few lines what there is to review, what it is compared with, and what is not reviewed."""
    counts = Counter(one.kind for one in found.found)
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in Kind if counts[kind])
    base = found.base
    against = f"against {shown(one_line(base.name, 80))}" if base.commit else ""
    lines = [f"{counted(len(found.found), 'change')}{f' {against}' if against else ''}: {kinds or 'nothing to review'}"]
    if base.top is None:
        why = f"{base.why_none}: what is new, recorded again or gone cannot be told without git"
        lines.append(f"{why}; only what waits for its test and what was refused is shown")
    elif not base.commit:
        lines.append(f"{base.why_none}: every entry is new")
    accepted = sum(one.is_accepted for one in found.found)
    lines += [f"{accepted} of them accepted before"] if accepted else []
    lines += [f"not counted: {output.entries(found.ignored)} that git ignores"] if found.ignored else []
    left = [f"not reviewed: {review_shown.told(one.path)}: {one.why}" for one in found.left]
    more = [f"and {len(left) - _MOST_LEFT} more"] if len(left) > _MOST_LEFT else []
    return [*lines, *left[:_MOST_LEFT], *more]


def _list(found: Changes, reader: Reader) -> None:
    rows = [_row(reader.read(one)) for one in found.found]
    if rows:
        output.table(("change", "entry", "contract", "by", "verdict", "what", "accepted"), rows)
        output.say()
    for line in _summary(found):
        output.say(line)


def _row(read: Read) -> tuple[str, ...]:
    entry = read.entry
    contract = f"{entry.contract.name} v{entry.contract.schema_version}" if entry and entry.contract else ""
    return (
        read.change.kind.value,
        review_shown.told(read.change.path),
        contract,
        str(entry.provenance.get("test") or "") if entry else "",
        entry.verdict if entry else "",
        review_shown.in_short(read, review_shown.differences(read)),
        "yes" if read.change.is_accepted else "",
    )


def _data(found: Changes, reader: Reader) -> dict[str, Any]:
    base = found.base
    counts = Counter(one.kind for one in found.found)
    return {
        "against": {"name": base.name, "commit": base.commit or None, "why_none": base.why_none or None},
        "changes": list(_changes(found, reader)),
        "counts": {kind.value: counts[kind] for kind in Kind},
        "accepted": sum(one.is_accepted for one in found.found),
        "ignored": found.ignored,
        "not_reviewed": [{"path": output.scrubbed_path(one.path), "why": one.why} for one in found.left],
    }


def _changes(found: Changes, reader: Reader) -> Iterator[dict[str, Any]]:
    for one in found.found:
        read = reader.read(one)
        yield review_shown.data(read, review_shown.differences(read))

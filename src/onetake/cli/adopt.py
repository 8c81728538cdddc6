"""`onetake adopt`: new entries from old ones, after a change that no answer hangs on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from onetake.cli import output
from onetake.cli.adopt_replies import adopt_replies
from onetake.cli.batch_options import input_option
from onetake.cli.entries import folder_to_search
from onetake.errors import UsageError
from onetake.exits import Exit
from onetake.printable import counted
from onetake.quoting import quoted_path
from onetake.upkeep.adopt.adopting import Group, Plan, Unexplained, Written
from onetake.upkeep.adopt.adopting import adopt as adopt_group
from onetake.upkeep.adopt.planning import plan
from onetake.upkeep.mends import told

_TESTS = 5
_MISSES = 10


@click.command()
@click.argument("path", required=False)
@click.option("--from", "old", metavar="OLD", help="The earlier job whose replies a batch takes over.")
@input_option
@click.option("--yes", is_flag=True, help="Write the entries; without it they are only shown.")
@click.option("--only", multiple=True, metavar="NAME", help="Only the difference of this name; a caution needs it.")
@click.option("--reason", default="", metavar="TEXT", help="Why it may be, for the provenance of the new entries.")
@output.json_option()
@click.pass_context
def adopt(
    context: click.Context,
    path: str | None,
    old: str | None,
    input_: str | None,
    yes: bool,
    only: tuple[str, ...],
    reason: str,
    as_json: bool,
) -> None:
    """Answer what the last run missed from stored entries, where a small difference explains it.

    After an SDK's upgrade that adds a field, say, or an edit of a prompt that changes nothing of its sense. Only
    cassettes in PATH and below count; those of the whole project where it is left out. Each difference is shown, with
    what it explains. One with a caution, such as an edited prompt, is adopted only where --only names it. Nothing is
    asked of a provider, and no entry is replaced. Exit code 1 where a miss is left, or with --yes a caution.

    With --from for a batch: the good replies that an earlier job got become replies to the job of today, where nothing
    but the words of its prompt were edited, and you say that these ask the same. PATH is then an output or the job file
    (left out: the last run of this folder); OLD an output of the earlier job, its file, or the digits that
    `onetake batch plan` says.
    """
    if old is not None:
        if only:
            raise UsageError("--only chooses among what a run of tests missed, and goes without --from")
        adopt_replies(path, old, input_, reason, yes=yes, as_json=as_json)
        return
    if input_ is not None:
        raise UsageError("--input is a batch's, and goes with --from")
    start = folder_to_search(path)
    found = plan(start)
    chosen = _chosen(found, only)
    ready = [group for group in chosen if group.name in only or not group.needs_naming]
    done = [one for group in ready for one in adopt_group(group, reason, start)] if yes else []
    unnamed = [group for group in chosen if group not in ready]
    left = any(group.refused for group in found.groups) or (yes and bool(unnamed))
    if as_json:
        output.print_json(_document(found, done, wrote=yes))
    else:
        _print(found, done)
        _print_next(ready, unnamed, done if yes else None, path)
    context.exit(Exit.FINDINGS if found.unexplained or left or any(map(_failed, done)) else Exit.OK)


def _chosen(found: Plan, only: Sequence[str]) -> list[Group]:
    names = {group.name for group in found.groups}
    if unknown := [name for name in only if name not in names]:
        raise UsageError(f"--only {unknown[0]}: no difference has that name; `onetake adopt` shows all")
    refused = [group for group in found.groups if group.refused and group.name in only]
    if refused:
        raise UsageError(f"--only {refused[0].name}: it is refused: {refused[0].refused}")
    return [group for group in found.groups if not group.refused and (not only or group.name in only)]


def _failed(one: Written) -> bool:
    return bool(one.why)


def _document(found: Plan, done: Sequence[Written], *, wrote: bool) -> dict[str, Any]:
    return {
        "groups": [_group_data(group) for group in found.groups],
        "unexplained": [_unexplained_data(one) for one in found.unexplained],
        "left": [{"path": output.json_path(path), "why": why} for path, why in found.left],
        "written": [output.json_path(one.path) for one in done if not one.why],
        "failed": [{"path": output.json_path(one.path), "why": one.why} for one in done if one.why],
        "done": wrote,
    }


def _group_data(group: Group) -> dict[str, Any]:
    return {
        "name": group.name,
        "difference": [
            {"kind": one.kind.value, "path": one.place, "old": one.old or None, "new": one.new or None}
            for one in group.operations
        ],
        "misses": len(group.misses),
        "tests": list(group.tests),
        "cautions": list(group.cautions),
        "refused": group.refused,
        "mend": group.mend,
        "entries": [
            {
                "cassette": output.json_path(one.folder),
                "from": output.json_path(one.old),
                "key": one.entry.key,
                "ordinal": one.entry.ordinal,
                "missed": one.missed,
            }
            for one in group.adoptions
        ],
    }


def _unexplained_data(one: Unexplained) -> dict[str, Any]:
    return {
        "cassette": output.json_path(one.missed.folder),
        "test": one.missed.test,
        "key": one.missed.key,
        "why": one.why,
        "mend": one.mend,
    }


def _print(found: Plan, done: Sequence[Written]) -> None:
    for group in found.groups:
        _print_group(group)
    for one in found.unexplained[:_MISSES]:
        output.title(f"{output.shown_path(one.missed.folder)}: {one.missed.key[:16]} is not explained")
        output.say(f"  {one.why}")
        output.say(f"  mend: {told(one.mend)}".replace("\n", "\n  "))
        output.say()
    if len(found.unexplained) > _MISSES:
        output.say(f"and {len(found.unexplained) - _MISSES} more that are not explained")
    for path, why in found.left:
        output.say(f"{output.shown_path(path)}: left out: {why}; `onetake check` says more")
    for failure in filter(_failed, done):
        output.say(f"{output.shown_path(failure.path)}: not written: {failure.why}")
    if not found.groups and not found.unexplained:
        output.say("nothing to adopt: what the last runs asked for is stored, or nothing was missed")


def _print_next(
    ready: Sequence[Group], unnamed: Sequence[Group], done: Sequence[Written] | None, path: str | None
) -> None:
    """Say what was written, or would be, and what to run next; nothing is done on a dry run."""
    command = f"onetake adopt {quoted_path(path)}" if path else "onetake adopt"
    written = sum(not one.why for one in done or ())
    if written:
        next_one = "run all tests, then `onetake prune --superseded`"
        output.say(f"{output.entries(written)} written; the old ones stay until you {next_one}")
    elif done is not None and (ready or unnamed):
        output.say("nothing was written")
    elif ready:
        number = sum(len(group.adoptions) for group in ready)
        named = "".join(f" --only {group.name}" for group in ready if group.needs_naming)
        output.say(f"{output.entries(number)} would be written: `{command}{named} --yes` does it")
    for group in unnamed:
        entries = output.entries(len(group.adoptions))
        output.say(f"{entries} of {group.name}, which has a caution: `{command} --only {group.name} --yes` writes them")


def _print_group(group: Group) -> None:
    output.title(f"{group.name}: {counted(group.requests, 'request')} missed")
    for one in group.operations:
        output.say(f"  {one}")
    tests = ", ".join(group.tests[:_TESTS]) + (f" and {len(group.tests) - _TESTS} more" * (len(group.tests) > _TESTS))
    missed = sum(one.missed for one in group.adoptions)
    others = len(group.adoptions) - missed
    repeated = ": one for each answer that a request has" if missed > group.requests else ""
    output.fields(
        [
            ("  tests", tests),
            ("  caution", "\n".join(group.cautions)),
            ("  refused", group.refused),
            ("  mend", group.mend),
            ("  entries", f"{missed:,} for what was missed{repeated}" if missed else ""),
            ("", f"{others:,} more, to which the same applies and which the run did not reach" if others else ""),
        ]
    )
    output.say()

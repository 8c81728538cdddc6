"""`onetake init`: settings, lines for git, a hook and a CI template; asks nothing, and is safe to run again."""

from __future__ import annotations

from typing import Any

import click

from onetake.cli import output
from onetake.cli.init_files import BY_HAND, CREATED, EXTENDED, THERE, Change, check_writable, write
from onetake.cli.init_seen import Seen, folder_named, look
from onetake.cli.init_steps import plan

_WORDS = {CREATED: "created", EXTENDED: "extended", THERE: "already there", BY_HAND: "to do by hand"}
_PLANNED = {**_WORDS, CREATED: "would create", EXTENDED: "would extend"}


@click.command()
@click.argument("folder", required=False)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@output.json_option()
def init(folder: str | None, dry_run: bool, as_json: bool) -> None:
    """Set a project up: settings, .gitattributes, .gitignore, a pre-commit hook, a CI workflow.

    It asks nothing, changes nothing that is there, and is safe to run again. FOLDER is the project; left out, the
    nearest folder, from the current one up, that has settings or is a project.
    """
    seen = look(folder_named(folder), exactly=folder is not None)
    changes = plan(seen)
    check_writable(changes)
    if not dry_run:
        for change in changes:
            if change.after is not None:
                write(change)
    if as_json:
        output.print_json(_data(seen, changes, dry_run=dry_run))
    else:
        _print(seen, changes, dry_run=dry_run)


def _print(seen: Seen, changes: list[Change], *, dry_run: bool) -> None:
    output.title(f"onetake init in {seen.root.as_posix()}{'' if not dry_run else ' (dry run: nothing is written)'}")
    output.say(f"seen: {', '.join(_told(seen)) or 'no SDK of a provider, and no tests'}")
    words = _PLANNED if dry_run else _WORDS
    width = max(map(len, words.values()))
    for change in changes:
        output.say(f"{words[change.action]:<{width}}  {output.shown_path(change.path)}: {change.why}")
        if change.action == BY_HAND or (dry_run and change.text):
            output.say("".join(f"    {line}\n" if line else "\n" for line in change.text.splitlines()).rstrip("\n"))


def _told(seen: Seen) -> list[str]:
    """Return what was seen, in the order of how much it says."""
    facts = [*seen.sdks]
    if seen.uses_pytest:
        facts.append(f"pytest, in {seen.tests}/" if seen.tests else "pytest")
    return [*facts, seen.runner] if seen.runner else facts


def _data(seen: Seen, changes: list[Change], *, dry_run: bool) -> dict[str, Any]:
    return {
        "root": seen.root.as_posix(),
        "dry_run": dry_run,
        "seen": {
            "sdks": seen.sdks,
            "pytest": seen.uses_pytest,
            "tests": seen.tests or None,
            "runner": seen.runner or None,
        },
        "files": [
            {
                "path": output.json_path(change.path),
                "action": change.action,
                "text": change.text or None,
                "why": change.why,
            }
            for change in changes
        ],
    }

"""`onetake prune`: what is needed no more, by reason, to the trash."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from onetake.cassette_files import is_one_file
from onetake.cli import output, sizes
from onetake.cli.entries import files_to_change
from onetake.errors import UsageError
from onetake.exits import Exit
from onetake.printable import counted, spelled
from onetake.quoting import quoted_path
from onetake.upkeep.leftover_checks import WHY
from onetake.upkeep.prune.planning import OF_FILES, Plan, Wanted
from onetake.upkeep.prune.planning import plan as plan_of
from onetake.upkeep.prune.prunable import BY_RUNS, Left, Reason
from onetake.upkeep.prune.removing import Done
from onetake.upkeep.prune.removing import prune as prune_by

_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_AGE = re.compile(r"([0-9]{1,5})([hdw])")

_MOST = 20
"""Files of one reason that are listed."""


@click.command()
@click.argument("path", required=False)
@click.option("--orphans", is_flag=True, help="Entries that a run of all tests left without use.")
@click.option("--superseded", is_flag=True, help="Of those, the ones in whose place another one is used.")
@click.option("--stale", is_flag=True, help="Entries of another schema_version, or that break today's contract.")
@click.option("--older-than", metavar="AGE", help="Entries that were recorded so long ago: 90d, 12w, 36h.")
@click.option("--rejects", is_flag=True, help="Answers that the gate refused.")
@click.option(
    "--sidecars", is_flag=True, help="Bodies and schemas that no entry names; every other reason takes them too."
)
@click.option("--max-bytes", metavar="SIZE", help="Take what is needed least until so much is kept: 200MB.")
@click.option("--empty", is_flag=True, help="Empty the trash, for good.")
@click.option("--import", "importing", is_flag=True, help="Import the types that contracts are declared by.")
@click.option("--yes", is_flag=True, help="Do it.")
@output.json_option()
@click.pass_context
def prune(
    context: click.Context,
    /,
    path: str | None,
    older_than: str | None,
    max_bytes: str | None,
    empty: bool,
    importing: bool,
    yes: bool,
    as_json: bool,
    **flags: bool,
) -> None:
    """Move what is needed no more to the trash, .onetake/trash/: entries, rejects and sidecars.

    They are looked for in PATH and below; in the settings' folder where PATH is left out. Without --yes it says what
    would be done, and does nothing; without a reason, what could be done for each. What is pinned or shared stays. Exit
    code 4 where the runs on record cannot tell what is unused, where a word of the setting `pinned` names nothing, or
    where --max-bytes is not reached.
    """
    wanted = _wanted(flags, older_than, max_bytes, empty=empty)
    shows_all = not wanted.reasons and wanted.most is None
    if shows_all and yes:
        raise UsageError("--yes needs a reason: --orphans, --stale, …; without --yes all that could be pruned is shown")
    start = files_to_change(path, OF_FILES)
    if shows_all:
        wanted = Wanted(frozenset(Reason) - {Reason.OLD, Reason.TRASH})
    plan = plan_of(start, wanted, importing=importing)
    unproved = bool(plan.unproved) and bool(wanted.reasons & BY_RUNS) and not shows_all
    refused = unproved or (yes and bool(plan.pins))
    done = prune_by(plan) if yes and not refused else None
    if as_json:
        output.print_json(_data(plan, done, wanted, refused=refused))
    else:
        _print(plan, done, wanted, path, refused=refused, shows_all=shows_all)
    is_short = refused or plan.over > 0 or bool(done and done.busy)
    context.exit(Exit.INCONCLUSIVE if is_short else Exit.OK)


def _wanted(flags: dict[str, bool], older_than: str | None, max_bytes: str | None, *, empty: bool) -> Wanted:
    words = {"orphans": Reason.ORPHAN, "rejects": Reason.REJECT, "sidecars": Reason.SIDECAR}
    chosen = {words.get(name) or Reason(name) for name, is_set in flags.items() if is_set}
    chosen |= {Reason.TRASH} if empty else set()
    chosen |= {Reason.OLD} if older_than is not None else set()
    age = _age(older_than) if older_than is not None else None
    return Wanted(frozenset(chosen), age, sizes.parse(max_bytes, "--max-bytes") if max_bytes is not None else None)


def _age(word: str) -> timedelta:
    found = _AGE.fullmatch(word.strip())
    if found is None:
        raise UsageError(f"--older-than {word}: must be a number of hours, days or weeks, as in 36h, 90d or 12w")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def _rows(plan: Plan, done: Done | None) -> list[dict[str, Any]]:
    """Return every file that goes, or has gone: its path, the reasons by name, and its size."""
    entries = plan.entries if done is None else done.entries
    why_not = {False: "no entry names it", True: WHY}
    swept = None if done is None else set(done.sidecars)
    sidecars = [one for one in plan.sidecars if swept is None or one.path in swept]
    emptied = [one for _, one in plan.emptied] if done is None else done.emptied
    found = [(one.path, {reason.value: why for reason, why in one.why.items()}, one.size) for one in entries]
    found += [(one.path, {Reason.SIDECAR.value: why_not[one.is_left_over]}, one.size) for one in sidecars]
    found += [(one.path, {Reason.TRASH.value: "it goes for good"}, one.size) for one in emptied]
    return [{"path": output.json_path(path), "reasons": why, "size": size} for path, why, size in found]


def _data(plan: Plan, done: Done | None, wanted: Wanted, *, refused: bool) -> dict[str, Any]:
    rows = [] if refused else _rows(plan, done)
    return {
        "done": done is not None,
        "files": rows,
        "total": {"files": len(rows), "bytes": sum(row["size"] for row in rows)},
        "left": [{"path": output.json_path(one.path), "why": one.why} for one in _left(plan, done)],
        "unproved": _by_root(plan.unproved),
        "busy": _by_root(done.busy if done else {}),
        "unmatched_pins": [word for words in plan.pins.values() for word in words],
        "in_trash": {"files": len(plan.in_trash), "bytes": sum(one.size for _, one in plan.in_trash)},
        "limit": None if wanted.most is None else {"bytes": wanted.most, "kept": plan.kept, "over": plan.over},
    }


def _left(plan: Plan, done: Done | None) -> list[Left]:
    return [*plan.left, *(done.left if done else ())]


def _by_root(why: Mapping[Path, str]) -> list[dict[str, str]]:
    return [{"root": output.json_path(root), "why": said} for root, said in sorted(why.items())]


def _print(plan: Plan, done: Done | None, wanted: Wanted, path: str | None, *, refused: bool, shows_all: bool) -> None:
    by_runs = bool(wanted.reasons & BY_RUNS) or plan.over > 0
    for root, why in sorted(plan.unproved.items()) if by_runs else ():
        output.say(f"which entries are unused cannot be told in {output.shown_path(root)}: {why}")
    if refused:
        _print_pins(plan)
        output.say("nothing was touched")
        return
    for root, why in sorted(done.busy.items()) if done else ():
        output.say(f"nothing was touched in {output.shown_path(root)}: {why}; try again")
    rows = _rows(plan, done)
    for reason in Reason:
        _print_reason(reason, [row for row in rows if next(iter(row["reasons"])) == reason.value])
    _print_left(_left(plan, done))
    _print_pins(plan)
    _print_total(plan, rows, wanted, done=done is not None, shows_all=shows_all)
    _print_trash(plan, done, path)
    _print_over(plan, wanted)


def _print_reason(reason: Reason, rows: list[dict[str, Any]]) -> None:
    if not rows:
        return
    output.title(f"{reason.value}: {_files(rows)}")
    cells = [(spelled(row["path"]), sizes.shown(row["size"]), _why(row["reasons"])) for row in rows[:_MOST]]
    output.table(("file", "size", "why"), cells)
    output.say(f"and {len(rows) - _MOST:,} more: --json names all" if len(rows) > _MOST else "")


def _print_pins(plan: Plan) -> None:
    for root, words in sorted(plan.pins.items()):
        where, which = output.shown_path(root), ", ".join(map(repr, words))
        output.say(f"pinned in the settings of {where}, and no entry: {which}; --yes needs such words mended first")


def _why(reasons: Mapping[str, str]) -> str:
    (_, first), *more = reasons.items()
    return "; ".join([first, *(f"{name}: {why}" for name, why in more)])


def _print_left(left: list[Left]) -> None:
    if not left:
        return
    output.title(f"left: {counted(len(left), 'file')}")
    output.table(("file", "why"), [(output.shown_path(one.path), one.why) for one in left[:_MOST]])
    output.say(f"and {len(left) - _MOST:,} more: --json names all" if len(left) > _MOST else "")


def _print_total(plan: Plan, rows: list[dict[str, Any]], wanted: Wanted, *, done: bool, shows_all: bool) -> None:
    gone = [row for row in rows if Reason.TRASH.value in row["reasons"]]
    moved = [row for row in rows if Reason.TRASH.value not in row["reasons"]]
    if moved or not gone:
        what = f"{'moved' if done else 'would move'} {_files(moved)} to the trash"
        how = "" if done else ": name the reasons that are to count, and --yes" if shows_all else ": --yes does it"
        output.say(f"{what}{how if moved else ''}" if moved else "nothing to prune")
    if gone:
        output.say(f"{'removed' if done else 'would remove'} {_files(gone)} from the trash for good")


def _print_trash(plan: Plan, done: Done | None, path: str | None) -> None:
    """Say what lies in the trash, once what was to be done is done; nothing where a dry run tells of it anyway."""
    there = [one for _, one in plan.in_trash] if done is None else done.in_trash
    if there and (done is not None or not plan.emptied):
        size = sizes.shown(sum(one.size for one in there))
        words = ["onetake prune", *([quoted_path(path)] if path else []), "--empty --yes"]
        output.say(f"in the trash: {counted(len(there), 'file')}, {size}; `{' '.join(words)}` removes them for good")


def _print_over(plan: Plan, wanted: Wanted) -> None:
    if wanted.most is not None and plan.over:
        over = f"{sizes.shown(plan.over)} more than {sizes.shown(wanted.most)} are kept"
        in_files = any(is_one_file(one.path) for one in plan.left)
        where = "; what is in one file, its own command prunes" if in_files else ""
        output.say(f"{over}: tests or pins need the rest, or it cannot be told that they do not{where}")


def _files(rows: list[dict[str, Any]]) -> str:
    return f"{counted(len(rows), 'file')}, {sizes.shown(sum(row['size'] for row in rows))}"

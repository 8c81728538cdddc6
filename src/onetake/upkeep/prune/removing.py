"""What a plan says is done, as far as it still holds: to the trash, and of the trash for good."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from onetake import placing
from onetake.making import is_being_made
from onetake.upkeep.prune import trash
from onetake.upkeep.prune.planning import Plan, in_trash
from onetake.upkeep.prune.prunable import BY_RUNS, Left, Prunable
from onetake.upkeep.prune.sidecars import sweep
from onetake.upkeep.prune.trash import Trashed


@dataclass(slots=True)
class Done:
    """What a prune did.

    Args:
        entries: What went to the trash.
        sidecars: What went with it, as nothing names it.
        emptied: What left the trash for good.
        left: What stayed although it was to go.
        busy: Settings folders where nothing was touched, and why.
        in_trash: What lies in the trash now.
    """

    entries: list[Prunable] = field(default_factory=list)
    sidecars: list[Path] = field(default_factory=list)
    emptied: list[Trashed] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    busy: dict[Path, str] = field(default_factory=dict)
    in_trash: list[Trashed] = field(default_factory=list)


def prune(plan: Plan) -> Done:
    """Do what a plan says, as far as it still holds.

    Args:
        plan: It; what was changed, or used by a run of tests, since it was made stays.

    Returns:
        What was done, and what stayed although it was to go.

    Raises:
        OSError, StoreError: Something cannot be moved or removed; nothing is lost, and to prune again goes on.
    """
    done = Done()
    roots = (
        {one.root for one in plan.entries} | {one.root for one in plan.sidecars} | {root for root, _ in plan.emptied}
    )
    done.busy = {root: why for root in sorted(roots) if (why := _why_not(root, plan))}
    for (root, folder), found in groupby(sorted(plan.entries, key=_place), key=_place):
        if root not in done.busy:
            _put_away(root, folder, list(found), done)
    for root, folder, is_left_over in dict.fromkeys((one.root, one.folder, one.is_left_over) for one in plan.sidecars):
        if root in done.busy:
            continue
        if is_left_over:
            done.sidecars += trash.put_left_over_away(root, folder)
        elif not is_being_made(root, folder):
            done.sidecars += [folder / name for name in sweep(root, folder)]
    for root in roots - done.busy.keys():
        done.emptied += trash.remove([one for where, one in plan.emptied if where == root], root)
    done.in_trash = [one for _, one in in_trash(plan.around)]
    return done


def _place(one: Prunable) -> tuple[Path, Path]:
    return one.root, one.folder


def _why_not(root: Path, plan: Plan) -> str:
    """Say why nothing of a settings folder may be touched now; empty where it may."""
    by_runs = any(one.root == root and one.why.keys() & BY_RUNS for one in plan.entries)
    if by_runs and not plan.runs[root].is_newest:
        return "a run of tests has ended meanwhile, and may have used what was to go"
    return "a test that records is at work there" if placing.is_anyone_there(root) else ""


def _put_away(root: Path, folder: Path, found: list[Prunable], done: Done) -> None:
    if is_being_made(root, folder):
        done.left += [Left(one.path, "its cassette is being made") for one in found]
        return
    left = trash.put_away(root, folder, {one.path: one.mark for one in found})
    done.left += [Left(path, why) for path, why in left.items()]
    done.entries += [one for one in found if one.path not in left]

"""`onetake store`: what a store holds, whether it is whole, and a folder as one file or back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onetake.aside import aside, hide
from onetake.cli import output, sizes
from onetake.cli.batch_words import offer_to_pack
from onetake.cli.entries import as_path
from onetake.errors import UsageError
from onetake.exits import Exit
from onetake.printable import one_line
from onetake.settings import load_settings
from onetake.store_users import alone
from onetake.stores import DiskStore, open_store
from onetake.upkeep import packing, quarantining

if TYPE_CHECKING:
    from onetake.batch.pruning import Pruned, Rules

_STAYS = {
    "needed": "needed",
    "kept": "of the last prompts",
    "foreign": "of others",
    "damaged": "damaged",
    "young": "too young",
    "pinned": "pinned",
}
"""Why a reply is not pruned, and how that is said."""


@click.group()
def store() -> None:
    """Look after a store: a folder of entries, or one file (`.db`)."""


@store.command("stats")
@click.argument("path")
@output.json_option()
def stats_(path: str, as_json: bool) -> None:
    """Count what the store PATH holds: entries, bytes, verdicts, contracts, models."""
    where = _existing(path)
    found = packing.stats(where)
    if as_json:
        output.print_json({"path": path, **asdict(found)})
        return
    output.fields(
        [
            ("store", f"{path} ({found.kind})"),
            ("entries", f"{found.entries} of {found.keys} requests"),
            ("damaged", str(found.damaged) if found.damaged else ""),
            ("sidecars", str(found.sides) if found.sides else ""),
            ("size", f"{sizes.shown(found.bytes)} (entries: {sizes.shown(found.content)})"),
            ("verdicts", _counts(found.verdicts)),
            ("contracts", _counts(found.contracts, "none")),
            ("models", _counts(found.models, "unknown")),
            ("recorded", f"{found.oldest} to {found.newest}" if found.oldest else ""),
        ]
    )
    offer_to_pack(where, open_store(where))


@store.command()
@click.argument("path")
@click.option("--repair", is_flag=True, help="Take what is damaged out of the store, so that it is asked again.")
@output.json_option()
@click.pass_context
def fsck(context: click.Context, path: str, repair: bool, as_json: bool) -> None:
    """Verify that every entry and sidecar of the store PATH is whole. Exit code 5 where one is not.

    What an entry says is not judged: `onetake check` does that.
    """
    where = _existing(path)
    with alone(where) if repair else nullcontext():
        taken = quarantining.quarantine(where, _quarantine(where)) if repair else []
        found = list(packing.faults(where))
    if as_json:
        moved = {"quarantined": [asdict(fault) for fault in taken]} if repair else {}
        output.print_json({"path": path, "faults": [asdict(fault) for fault in found], **moved})
    else:
        for fault in taken:
            output.say(f"moved to {output.shown_path(Path(fault.place))}: {fault.why}")
        for fault in found:
            output.say(f"{fault.place}: {fault.why}")
        output.say(f"{path}: {len(found)} damaged" if found else f"{path}: whole")
    context.exit(Exit.DAMAGE if found else Exit.OK)


@store.command()
@click.argument("folder")
@click.argument("file")
@output.json_option()
def pack(folder: str, file: str, as_json: bool) -> None:
    """Write the entries of FOLDER as one new FILE (`.db`), which holds the same bytes. The folder stays."""
    _copy(packing.pack, folder, file, as_json=as_json)


@store.command()
@click.argument("file")
@click.argument("folder")
@output.json_option()
def unpack(file: str, folder: str, as_json: bool) -> None:
    """Write the entries of FILE as a new FOLDER of files, to be read and reviewed. The file stays."""
    _copy(packing.unpack, file, folder, as_json=as_json)


@store.command()
@click.argument("path")
@click.option("--older-than", type=click.FloatRange(0), default=14.0, show_default=True, metavar="DAYS", help="Grace.")
@click.option(
    "--prompts", type=click.IntRange(0), default=0, metavar="K", help="Keep all that the last K prompts asked."
)
@click.option("--max-bytes", metavar="SIZE", help="Take the oldest, and no more than bring the store to SIZE: 2GB.")
@click.option("--delete", is_flag=True, help="Do it; without this it is only said.")
@click.option("--forget", multiple=True, metavar="OUT", help="Give up what only this output needs; again for others.")
@click.option("--all", "foreign", is_flag=True, help="Also what no batch has asked: of use_cassette, say.")
@output.json_option()
@click.pass_context
def prune(
    context: click.Context,
    /,
    path: str,
    older_than: float,
    prompts: int,
    max_bytes: str | None,
    delete: bool,
    forget: tuple[str, ...],
    foreign: bool,
    as_json: bool,
) -> None:
    """Say which replies of the store PATH no batch leads to any more, and with --delete delete them.

    What the last run of each output needs stays, what is pinned, and what is younger than the days of grace. Exit code
    4 where --max-bytes is not reached: nothing that is needed goes for it.
    """
    from onetake.batch import pruning

    where = _existing(path)
    most = None if max_bytes is None else sizes.parse(max_bytes, "--max-bytes")
    rules = pruning.Rules(datetime.now(UTC), older_than, prompts, foreign, most)
    with ExitStack() as stack:
        opened = stack.enter_context(closing(open_store(where, path)))
        if delete:
            stack.enter_context(alone(where))
        found = _prunable(opened, where, rules, forget)
        if delete:
            pruning.prune(opened, where, found.going)
    if as_json:
        output.print_json(_data(path, where, found, deleted=delete))
    else:
        _tell(path, where, found, deleted=delete)
    context.exit(Exit.INCONCLUSIVE if found.over else Exit.OK)


def _prunable(opened: DiskStore, where: Path, rules: Rules, forget: Sequence[str]) -> Pruned:
    from onetake.batch import pruning, roots
    from onetake.batch.opening import ledger_of
    from onetake.cli.batch_options import reopened
    from onetake.pins import Pins

    settings = load_settings(where)
    pins = Pins(settings.root, settings.pinned)
    left_out = {str(as_path(word).absolute()) for word in forget}
    found = roots.roots_of(where, left_out)
    unfinished = [one for one in found if not one.keys]
    with ExitStack() as stack:
        ledger = stack.enter_context(closing(ledger_of(where)))
        roots.check_known(found, ledger, opened.place, left_out)
        batches = [stack.enter_context(closing(reopened(one.told))) for one in unfinished]
        needed = chain(*(roots.listed(where, one) for one in found), *map(pruning.reached, batches))
        jobs = {one.job for one in unfinished}
        return pruning.prunable(opened, where, needed, ledger, rules, lambda at, entry: bool(pins.why(at, entry)), jobs)


def _data(path: str, where: Path, found: Pruned, *, deleted: bool) -> dict[str, Any]:
    counts = {name: getattr(found, name) for name in ("entries", *_STAYS)}
    size = sum(one.size for one in found.going)
    total = {"prunable": len(found.going), "bytes": size, "size": found.size, "over": found.over}
    return {"path": path, **counts, **total, "prompts": _by_prompt(where, found), "deleted": deleted}


def _by_prompt(where: Path, found: Pruned) -> list[dict[str, Any]]:
    """Return what goes by the prompt that it answers, the largest first."""
    from onetake.batch.remembering import words_of

    number, size = Counter[str](), Counter[str]()
    for one in found.going:
        number[one.job] += 1
        size[one.job] += one.size
    rows = []
    for job, taken in size.most_common():
        model, prompt = words_of(where, job) if job else ("", "")
        rows.append({"job": job, "model": model, "prompt": prompt, "replies": number[job], "bytes": taken})
    return rows


def _tell(path: str, where: Path, found: Pruned, *, deleted: bool) -> None:
    size = sum(one.size for one in found.going)
    stays = [(words, f"{count:,}" if (count := getattr(found, name)) else "") for name, words in _STAYS.items()]
    goes = ("deleted" if deleted else "can go", f"{len(found.going):,} ({sizes.shown(size)})")
    output.fields([("store", f"{path}: {output.entries(found.entries)}, {sizes.shown(found.size)}"), *stays, goes])
    columns, prompts = ("prompt", "model", "replies", "bytes", "text"), _by_prompt(where, found)
    cells = [(one["job"][:12], one["model"], f"{one['replies']:,}", one["bytes"], one["prompt"]) for one in prompts]
    if cells:
        output.say()
        output.table(columns, [(*row, sizes.shown(taken), one_line(text, 60)) for *row, taken, text in cells])
    if found.over:
        output.say(f"still {sizes.shown(found.over)} too much: the rest stays, for the reasons above")
    if found.going and not deleted:
        output.say("nothing was deleted: --delete does it")


def _copy(way: Callable[[Path, Path], packing.Packed], source: str, target: str, *, as_json: bool) -> None:
    done = way(as_path(source), as_path(target))
    if as_json:
        output.print_json({"from": source, "to": target, **asdict(done)})
    else:
        output.say(f"{target}: {done.entries} entries, {done.sides} sidecars")


def _quarantine(path: Path) -> Path:
    root = load_settings(path).root
    hide(root)
    return aside(root, "quarantine", path.with_suffix(""))


def _existing(path: str) -> Path:
    found = as_path(path)
    if not found.exists():
        raise UsageError(f"{path}: there is no such store")
    return found


def _counts(found: Mapping[str, int], unnamed: str = "") -> str:
    return ", ".join(f"{number} {name or unnamed}" for name, number in found.items())

"""`onetake store`: what a store holds, whether it is whole, and a folder as one file or back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from onetake.aside import aside, hide
from onetake.cli import output
from onetake.cli.entries import as_path
from onetake.cli.exits import Exit
from onetake.errors import UsageError
from onetake.settings import load_settings
from onetake.stores import Store, open_store
from onetake.upkeep import packing, quarantining

if TYPE_CHECKING:
    from onetake.batch.pruning import Pruned

_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@click.group()
def store() -> None:
    """Look after a store: a folder of entries, or one file (`.db`)."""


@store.command("stats")
@click.argument("path")
@output.json_option()
def stats_(path: str, as_json: bool) -> None:
    """Count what the store PATH holds: entries, bytes, verdicts, contracts, models."""
    found = packing.stats(_existing(path))
    if as_json:
        output.print_json({"path": path, **asdict(found)})
        return
    output.fields(
        [
            ("store", f"{path} ({found.kind})"),
            ("entries", f"{found.entries} of {found.keys} requests"),
            ("damaged", str(found.damaged) if found.damaged else ""),
            ("sidecars", str(found.sides) if found.sides else ""),
            ("size", f"{_size(found.bytes)} (entries: {_size(found.content)})"),
            ("verdicts", _counts(found.verdicts)),
            ("contracts", _counts(found.contracts, "none")),
            ("models", _counts(found.models, "unknown")),
            ("recorded", f"{found.oldest} to {found.newest}" if found.oldest else ""),
        ]
    )


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
@click.option("--delete", is_flag=True, help="Do it; without this it is only said.")
@click.option("--forget", multiple=True, metavar="OUT", help="Give up what only this output needs; again for others.")
@click.option("--all", "foreign", is_flag=True, help="Also what no batch has asked: of use_cassette, say.")
@output.json_option()
def prune(path: str, older_than: float, delete: bool, forget: tuple[str, ...], foreign: bool, as_json: bool) -> None:
    """Say which replies of the store PATH no batch leads to any more, and with --delete delete them.

    What the last run of each output needs stays, and what is younger than the days of grace.
    """
    from onetake.batch import pruning

    where = _existing(path)
    with closing(open_store(where, path)) as opened:
        found = _prunable(opened, where, older_than, forget, foreign=foreign)
        if delete:
            pruning.prune(opened, where, found)
    if as_json:
        told = {name: value for name, value in asdict(found).items() if name != "slots"}
        output.print_json({"path": path, **told, "prunable": len(found.slots), "deleted": delete})
        return
    output.fields(
        [
            ("store", f"{path}: {found.entries:,} entries"),
            ("needed", f"{found.needed:,}"),
            ("too young", f"{found.young:,}" if found.young else ""),
            ("of others", f"{found.foreign:,}" if found.foreign else ""),
            ("deleted" if delete else "can go", f"{len(found.slots):,} ({_size(found.bytes)})"),
            ("of these", _counts(found.models)),
        ]
    )
    if found.slots and not delete:
        output.say("nothing was deleted: --delete does it")


def _prunable(opened: Store, where: Path, older_than: float, forget: Sequence[str], *, foreign: bool) -> Pruned:
    from datetime import UTC, datetime

    from onetake.batch import pruning
    from onetake.batch.opening import ledger_of
    from onetake.batch.remembering import runs_on
    from onetake.cli.batch_options import reopened

    left_out = {str(as_path(word).absolute()) for word in forget}
    told = [one for one in runs_on(where) if one.output not in left_out]
    pruning.check_known(told, opened.place)
    with ExitStack() as stack:
        ledger = stack.enter_context(closing(ledger_of(where)))
        if any(ledger.is_under_way(run) for run in ledger.runs()):
            raise UsageError(f"{opened.place}: a run is under way; prune when it has ended")
        batches = [stack.enter_context(closing(reopened(one))) for one in told]
        asked = None if foreign else ledger.asked()
        return pruning.prunable(opened, batches, asked, older_than=older_than, now=datetime.now(UTC))


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


def _size(number: int) -> str:
    return next((f"{number / unit:.1f} {name}" for unit, name in _UNITS if number >= unit), f"{number} B")

"""`onetake batch run` and `retry`: what is missing is asked, then the output is published whole."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from onetake import modes
from onetake.batch.failures import ASKED_AGAIN, Failure
from onetake.batch.showing import KINDS
from onetake.cli import output
from onetake.cli.batch_options import (
    again,
    csv_option,
    input_option,
    job_option,
    limit_option,
    load,
    put_together,
    text_option,
)
from onetake.cli.batch_plan import planned, tell
from onetake.cli.batch_words import classes, dollars, may_have_been_billed, offer_to_pack
from onetake.cli.entries import as_path
from onetake.printable import counted, spelled

if TYPE_CHECKING:
    from onetake.batch.attempts import Settled
    from onetake.batch.opening import Opened
    from onetake.batch.running import Ended

_Command = TypeVar("_Command", bound=Callable[..., Any])

_RETRIED = [str(one) for one in Failure if one in {*ASKED_AGAIN, Failure.GAVE_UP}]


def _run_options(command: _Command) -> _Command:
    """Add the options that go before a job's `[run]`."""
    options = (
        click.option("--concurrency", metavar="N|N-M", help="Calls in flight: a number, or a range."),
        click.option("--rpm", type=float, metavar="N", help="Requests a minute at most."),
        click.option("--tpm", type=float, metavar="N", help="Tokens a minute at most."),
        click.option("--max-cost", type=float, metavar="USD", help="What this run may spend."),
        click.option("--timeout", type=float, metavar="S", help="Seconds that one attempt may take."),
        click.option("--deadline", type=float, metavar="S", help="Seconds that this run may take."),
        click.option("--max-attempts", type=int, metavar="N", help="How often one request is sent at most."),
        click.option("--max-failures", metavar="N|N%", help="Rows that may fail before the exit code is 7."),
        click.option("--progress", type=click.Choice(KINDS), default="auto", help="How progress is shown."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("input_", metavar="INPUT")
@job_option
@click.option("-o", "--output", "out", metavar="OUT", required=True, help="Where the rows go.")
@text_option
@csv_option
@limit_option
@click.option("--keep-input", is_flag=True, help="Let each row hold its record, too.")
@click.option("--store", metavar="PATH", help="Where the replies are kept: a file (.db) or a folder.")
@click.option("--repairs", type=int, metavar="N", help="How often to ask again after a bad answer.")
@_run_options
@click.option("--offline", is_flag=True, help="Send nothing: what is not stored is a miss, exit code 6.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, as `onetake batch plan`, and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before money is spent.")
@output.json_option()
@click.pass_context
def run(
    context: click.Context,
    /,
    input_: str,
    job: str,
    out: str,
    keep_input: bool,
    offline: bool,
    dry_run: bool,
    yes: bool,
    progress: str,
    as_json: bool,
    text: bool,
    csv: bool,
    limit: int | None,
    **told: Any,
) -> None:
    """Ask about each record of INPUT what is not stored yet, then write OUT, a row a record.

    To resume, run it again. INPUT is a file, or - for standard input.
    """
    with closing(put_together(load(job, told), input_, text=text, csv=csv, limit=limit)) as batch:
        if dry_run or not (yes or offline or _agreed(batch)):
            if dry_run:
                _tell_plan(batch, as_json=as_json)
            return
        ended = _run(batch, as_path(out), keep_input=keep_input, offline=offline, progress=progress, as_json=as_json)
    context.exit(ended.exit_code)


@click.command()
@click.argument("target", required=False)
@click.option(
    "--class",
    "only",
    multiple=True,
    required=True,
    type=click.Choice(_RETRIED),
    help="Which rows to ask again; may be given again.",
)
@input_option
@_run_options
@output.json_option()
@click.pass_context
def retry(
    context: click.Context,
    /,
    target: str | None,
    only: tuple[str, ...],
    input_: str | None,
    progress: str,
    as_json: bool,
    **told: Any,
) -> None:
    """Ask again for the rows of a class that failed, and write the output anew.

    TARGET is an output or a job file; left out: the last run of this folder. The replies that there were go to
    `.onetake/trash/`.
    """
    batch, was = again(target, input_, told)
    with closing(batch):
        # They load the engine, which other commands do not need.
        from onetake.batch.retiring import retire

        modes.refuse_sealed()

        def retires() -> None:
            retired = retire(batch, {Failure(word) for word in only})
            if not as_json:
                rows = counted(retired.rows, "row")
                output.say(f"{rows} to ask again, stored replies moved to the trash: {retired.replies:,}")

        out, keep_input = Path(was.output), was.keep_input
        ended = _run(batch, out, keep_input=keep_input, progress=progress, as_json=as_json, retire=retires)
    context.exit(ended.exit_code)


def _run(
    batch: Opened,
    out: Path,
    *,
    keep_input: bool,
    progress: str,
    as_json: bool,
    offline: bool = False,
    retire: Callable[[], None] | None = None,
) -> Ended:
    from onetake.batch import running, showing

    if offline or modes.sealed_by_environment():
        ended = running.replay(batch, out, keep_input=keep_input)
    else:
        kind = "none" if as_json and progress == "auto" else progress
        shows = partial(showing.shown, kind, sys.stderr)
        settled = partial(_tell_settled, on_stderr=as_json)
        ended = running.run(batch, out, keep_input=keep_input, shows=shows, on_settled=settled, retire=retire)
    if as_json:
        output.print_json(ended_data(ended, out))
    else:
        _tell(batch, ended, out)
        offer_to_pack(batch.job.run.store, batch.store)
    return ended


def ended_data(ended: Ended, out: Path) -> dict[str, Any]:
    """Return how a run ended as plain data."""
    from onetake.batch.progress import facts

    published, outcome = ended.published, ended.outcome
    asked = facts(outcome.tally, outcome.tally.began) if outcome else {}
    names = ("cached", "asked", "repaired", "shared", "calls", "again", "cost", "unpriced")
    return {
        "output": output.json_path(out),
        "published": published is not None,
        "rows": published.rows if published else None,
        "failures": dict(published.failures) if published else {},
        "sha256": published.manifest.output.sha256 if published else None,
        **{name: asked.get(name, 0) for name in names},
        "stopped": outcome.why if outcome else "",
        "may_have_been_billed": ended.settled.lost,
        "exit": ended.exit_code,
    }


def _tell_settled(settled: Settled, *, on_stderr: bool) -> None:
    """Say what a killed run left, at once: it is said once, and this run may be killed, too."""
    if billed := may_have_been_billed(settled.lost):
        click.echo(f"an earlier run was killed: {billed}", err=on_stderr)


def _tell(batch: Opened, ended: Ended, out: Path) -> None:
    said = ended_data(ended, out)
    if ended.outcome is not None:
        again_ = f", {said['again']:,} of them again" if said["again"] else ""
        unknown = f", the price of {counted(said['unpriced'], 'call')} unknown" if said["unpriced"] else ""
        output.say(f"{counted(said['calls'], 'call')} sent{again_}: {dollars(said['cost'])}{unknown}")
    if ended.published is None:
        output.say(f"stopped: {said['stopped']}; {spelled(said['output'])} was not written: run it again to go on")
        return
    failed = sum(said["failures"].values())
    output.say(f"{spelled(said['output'])}: {counted(said['rows'], 'row')}, {failed:,} failed")
    if failed:
        from onetake.batch.reporting import standing

        output.say()
        classes(standing(batch, gave_up=True).classes, said["output"])


def _tell_plan(batch: Opened, *, as_json: bool) -> None:
    from dataclasses import asdict

    found, why = planned(batch)
    if as_json:
        output.print_json(asdict(found))
    else:
        tell(batch, found, why)


def is_person_there() -> bool:
    """Tell whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _agreed(batch: Opened) -> bool:
    """Ask a person, where there is one, before replies are paid for a second time: the prompt was edited, say."""
    if not is_person_there() or modes.sealed_by_environment():
        return True
    from onetake.batch.planning import NEW, REPAIR

    found, why = planned(batch)
    if all(one.reason in (NEW, REPAIR) for one in found.reasons):
        return True
    tell(batch, found, why)
    return click.confirm("\nSend them?", err=True)

"""`onetake batch plan`: what a run would find, do and cost. Nothing is sent."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from onetake.cli import output
from onetake.cli.batch_options import csv_option, job_option, limit_option, load, put_together, text_option
from onetake.cli.batch_words import price

if TYPE_CHECKING:
    from onetake.batch.opening import Opened
    from onetake.batch.planning import Plan


@click.command()
@click.argument("input_", metavar="INPUT")
@job_option
@text_option
@csv_option
@limit_option
@click.option("--store", metavar="PATH", help="The store, in the place of the job's.")
@click.option("--explain", is_flag=True, help="Say what the request of the first record counts by.")
@output.json_option()
def plan(
    input_: str, job: str, text: bool, csv: bool, limit: int | None, store: str | None, explain: bool, as_json: bool
) -> None:
    """Say what a run on INPUT would find and cost; nothing is sent.

    INPUT is a file, or - for standard input.
    """
    with closing(put_together(load(job, {"store": store}), input_, text=text, csv=csv, limit=limit)) as batch:
        found, why = planned(batch)
        parts = first_request(batch) if explain else None
    if as_json:
        output.print_json({**asdict(found), **({"request": parts} if explain else {})})
        return
    tell(batch, found, why)
    if explain and parts is None:
        output.say("\nno record of this input makes a request")
    elif explain:
        from onetake.cli.readable import pretty

        output.say(f"\nthe first request counts by all of this, and by nothing else:\n{pretty(parts)}")


def planned(batch: Opened) -> tuple[Plan, str]:
    """Return what a run would do, and why its price is unknown where it is."""
    from onetake.batch.costs import Costs
    from onetake.batch.planning import plan as plan_batch
    from onetake.batch.remembering import earlier

    costs = Costs(batch.job.ask, batch.job.run.prices)
    return plan_batch(batch, costs, earlier(batch)), costs.why_unknown


def tell(batch: Opened, found: Plan, why_unknown: str) -> None:
    """Print the plan of a batch."""
    from onetake.batch.progress import span

    failed = ", ".join(f"{number:,} {name}" for name, number in found.failures.items())
    output.fields(
        [
            ("records", f"{found.records:,}"),
            ("stored", f"{found.hits:,}" + (f" ({failed})" if failed else "")),
            ("missing", f"{found.misses:,}"),
            ("requests", f"{found.keys:,} different{_shared(found.duplicates)}"),
            ("bad lines", f"{found.bad_lines:,}" if found.bad_lines else ""),
            ("no field", f"{found.missing_fields:,}" if found.missing_fields else ""),
            ("orphans", f"{found.orphans:,} stored, which no record leads to" if found.orphans else ""),
            ("to send", f"{found.calls:,}, about {found.tokens:,} tokens" if found.calls else "nothing"),
            ("cost", price(found.cost_low, found.cost_high, why_unknown) if found.calls else ""),
            ("time", f"about {span(found.seconds)}" if found.calls and found.seconds is not None else ""),
        ]
    )
    if found.reasons:
        output.say()
        output.table(
            ("missing", "first", "why"),
            [(f"{one.count:,}", f"line {one.example}", one.reason) for one in found.reasons],
        )
    for one in found.reasons:
        if one.adopt and (command := _adoption(batch, one.adopt)):
            output.say(f"\nwhere the new words ask the same, {command} takes over what is stored")


def _adoption(batch: Opened, digits: str) -> str:
    """Return the command that takes over the replies to an earlier prompt; empty where there is no file to name."""
    from onetake.batch.opening import STDIN
    from onetake.quoting import quoted_path

    job, source = batch.job.path, batch.source
    if job is None or source is None or source.name == STDIN:
        return ""
    names = (quoted_path(output.json_path(path)) for path in (job, source.path))
    return f"`onetake adopt {next(names)} --from {digits} --input {next(names)}`"


def _shared(duplicates: int) -> str:
    if not duplicates:
        return ""
    return "; one record asks what another asks" if duplicates == 1 else f"; {duplicates:,} records ask what others ask"


def first_request(batch: Opened) -> Any:
    """Return the parts that the key of the first record's request is made of; None where no record makes one."""
    from onetake.batch.asking import MissingFieldError

    for record in batch.records():
        if record.data is not None:
            try:
                return batch.policy.keyer.parts(batch.asking.request(record.data))
            except MissingFieldError:
                continue
    return None

"""`onetake batch drift`: a few stored requests are asked again, and today's answers compared. Nothing is stored."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from onetake import modes
from onetake.cli import output
from onetake.cli.batch_options import job_option, load
from onetake.errors import UsageError
from onetake.exits import Exit

if TYPE_CHECKING:
    from onetake.batch.drifting import Drift
    from onetake.batch.opening import Opened


@click.command()
@job_option
@click.option("--sample", "size", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="How many.")
@click.option("--store", metavar="PATH", help="The store, in the place of the job's.")
@output.json_option()
@click.pass_context
def drift(context: click.Context, job: str, size: int, store: str | None, as_json: bool) -> None:
    """Ask a sample of the stored requests again, and say how many answers are another today.

    Always the same sample, chosen by key; nothing is stored or replaced. Exit code 3 where an answer differs, 4 where
    nothing could be compared, or not all and none differs.
    """
    import asyncio

    from onetake.batch.opening import Opened

    modes.refuse_sealed()
    with closing(Opened(load(job, {"store": store}))) as batch:
        found = asyncio.run(_asked(batch, size))
    if not found.cases:
        raise UsageError(f"{batch.store.place}: holds no good reply of {batch.job.ask.model} to ask again")
    if as_json:
        output.print_json({**asdict(found), "job": batch.job.digest()})
    else:
        _tell(found)
    inconclusive = Exit.INCONCLUSIVE if found.inconclusive else Exit.OK
    context.exit(Exit.DRIFT if found.changed else inconclusive)


async def _asked(batch: Opened, size: int) -> Drift:
    from onetake.batch.drifting import drift as ask_again
    from onetake.batch.drifting import sample
    from onetake.batch.sending import Sender

    sender = Sender(batch.job.ask, timeout=batch.job.run.timeout, environ=os.environ)
    try:
        return await ask_again(batch, sample(batch, size), sender.send)
    finally:
        await sender.close()


def _tell(found: Drift) -> None:
    for case in found.cases:
        if case.changed is None:
            output.say(f"{case.key[:16]}  could not be compared: {case.why}")
        elif case.changed:
            output.say(f"{case.key[:16]}  {case.why}")
    output.fields(
        [
            ("changed", f"{found.changed} of {found.compared}"),
            ("of all", f"{found.low:.1%} to {found.high:.1%}, at 95 %" if found.compared else ""),
            ("compared", ", ".join(found.label_paths) or "the whole answer"),
            ("no answer", str(found.inconclusive) if found.inconclusive else ""),
            ("models", f"then {', '.join(found.models_then) or '?'}; now {', '.join(found.models_now) or '?'}"),
            ("baseline", found.baseline[:16]),
        ]
    )

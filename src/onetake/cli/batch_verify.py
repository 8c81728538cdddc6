"""`onetake batch verify`: an output is made again from what is stored, and compared."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from onetake.cli import output
from onetake.cli.batch_options import input_option
from onetake.cli.entries import as_path
from onetake.errors import UsageError
from onetake.exits import Exit
from onetake.printable import counted
from onetake.store_users import using

if TYPE_CHECKING:
    from onetake.batch.manifest import Manifest
    from onetake.batch.opening import Opened


@click.command()
@click.argument("out", metavar="OUT")
@input_option
@click.option("-c", "--job", "job", metavar="JOB", help="The job file, where it is not where it was.")
@output.json_option()
@click.pass_context
def verify(context: click.Context, out: str, input_: str | None, job: str | None, as_json: bool) -> None:
    """Make the rows of OUT again from the store, and say the first that differs. Nothing is sent.

    Exit code 6 where something differs.
    """
    from onetake.batch.manifest import load_manifest
    from onetake.batch.records import Tally
    from onetake.batch.verifying import verify as compared

    path = as_path(out)
    manifest = load_manifest(path)
    with closing(_opened(path, manifest, input_, job)) as batch, using(batch.job.run.store):
        tally = Tally()
        found = compared(batch.records(tally), tally, batch.resolver, path, manifest, batch.job.digest())
    if as_json:
        data = {"output": output.json_path(path), "rows": manifest.rows, "sha256": manifest.output.sha256}
        output.print_json({**data, "differences": [asdict(one) for one in found]})
    elif found:
        for one in found:
            output.say(f"{one.what}{f' {one.line}' if one.line is not None else ''}: {one.why}")
    else:
        output.say(f"{output.shown_path(path)}: {counted(manifest.rows, 'row')}, as the store gives them")
    context.exit(Exit.MISS if found else Exit.OK)


def _opened(out: Path, manifest: Manifest, input_: str | None, job: str | None) -> Opened:
    """Put together what a manifest says, from the output's folder; what a person says goes before it."""
    from onetake.batch.job import load_job
    from onetake.batch.opening import STDIN, Opened, open_source

    folder = out.absolute().parent
    if job is None and not manifest.job_path:
        raise UsageError(f"{out}: Python code made its job: use its onetake.Batch")
    if input_ is None and manifest.input_path == STDIN:
        raise UsageError(f"{out}: its input came from standard input: name a file that holds it with --input")
    made = load_job(as_path(job) if job is not None else folder / manifest.job_path)
    run = replace(made.run, store=folder / manifest.store, repairs=manifest.repairs)
    source = str(as_path(input_)) if input_ is not None else str(folder / manifest.input_path)
    return Opened(replace(made, run=run), open_source(source, manifest.form, manifest.limit))

"""`onetake batch`: a model is asked about each record of an input, once, and each gets one row of the output."""

from __future__ import annotations

import click

from onetake.cli.batch_drift import drift
from onetake.cli.batch_plan import plan
from onetake.cli.batch_read import explain, failures, report, status
from onetake.cli.batch_run import retry, run
from onetake.cli.batch_verify import verify


@click.group()
def batch() -> None:
    """Ask a model about each record of an input: once, whatever happens; one row each."""


for _command in (plan, run, verify, drift, status, report, failures, retry, explain):
    batch.add_command(_command)

"""What the commands of a batch have in common: the job and the input that they are given, or that a run was given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from onetake.cli.entries import as_path
from onetake.cli.output import json_path
from onetake.errors import UsageError

if TYPE_CHECKING:
    from onetake.batch.job import Job
    from onetake.batch.opening import Opened
    from onetake.batch.remembering import Told

_Command = TypeVar("_Command", bound=Callable[..., Any])
_LIMITS = ("concurrency", "rpm", "tpm", "max_cost", "deadline", "max_failures")
_RUN = (*_LIMITS, "repairs", "timeout", "max_attempts", "store")

job_option = click.option("-c", "--job", "job", metavar="JOB", required=True, help="The job file.")
text_option = click.option("--text", is_flag=True, help="The input is lines of text; the record is {line}.")
csv_option = click.option("--csv", is_flag=True, help="The input is CSV with a header.")
limit_option = click.option("--limit", type=click.IntRange(1), metavar="N", help="Take the first N records alone.")
input_option = click.option("--input", "input_", metavar="INPUT", help="The input, where it is not where it was.")


def load(job: str, told: Mapping[str, Any]) -> Job:
    """Read a job file, with what the command line says in the place of its `[run]`.

    Args:
        job: The file.
        told: Options by their names in `[run]`; None for those that were not given. A store counts from here.

    Raises:
        UsageError: The file or a value is wrong.
    """
    from onetake.batch.job import load_job

    return _with(load_job(as_path(job)), told)


def put_together(job: Job, name: str, *, text: bool = False, csv: bool = False, limit: int | None = None) -> Opened:
    """Put a job and an input together.

    Args:
        job: The job.
        name: The input's path, `-` for standard input.
        text: Whether it is said to be lines of text.
        csv: Whether it is said to be CSV.
        limit: How many records count.

    Raises:
        UsageError: There is no such input, or the job is wrong.
    """
    from onetake.batch.opening import STDIN, Opened, open_source
    from onetake.batch.records import Form

    if text and csv:
        raise UsageError("--text and --csv: an input is one of them")
    form = Form.TEXT if text else Form.CSV if csv else None
    return Opened(job, open_source(name if name == STDIN else str(as_path(name)), form, limit))


def again(target: str | None, input_: str | None, overriding: Mapping[str, Any] | None = None) -> tuple[Opened, Told]:
    """Put together what an earlier run was told.

    Args:
        target: Its output, or a job file, whose last run counts; None for the last run of this folder.
        input_: The input, where it is not where it was.
        overriding: What the command line says in the place of the job's `[run]`.

    Raises:
        UsageError: No such run is known, or something of it is not there any more.
    """
    from onetake.batch.opening import STDIN

    told = _told(target)
    if not told.job:
        raise UsageError(f"{told.output}: Python code made its job: use its onetake.Batch")
    if told.input == STDIN and input_ is None:
        raise UsageError(f"{told.output}: its input came from standard input: name a file that holds it with --input")
    return reopened(told, str(as_path(input_)) if input_ is not None else None, overriding), told


def reopened(told: Told, name: str | None = None, overriding: Mapping[str, Any] | None = None) -> Opened:
    """Put together what an earlier run was told.

    Args:
        told: That.
        name: The input, where it is not where it was.
        overriding: As for `again`.

    Raises:
        UsageError: Something of it is not there any more.
    """
    from onetake.batch.job import load_job
    from onetake.batch.opening import Opened, open_source
    from onetake.batch.remembering import form_of

    job = load_job(Path(told.job))
    job = _with(replace(job, run=replace(job.run, repairs=told.repairs, store=Path(told.store))), overriding or {})
    return Opened(job, open_source(name or told.input, form_of(told), told.limit))


def rerun(told: Told) -> str:
    """Return the command that goes on with a run, as a shell takes it."""
    from onetake.batch.opening import STDIN
    from onetake.batch.records import Form, form_of
    from onetake.quoting import quoted

    source = told.input if told.input == STDIN else json_path(Path(told.input))
    words = [source, "-c", json_path(Path(told.job)), "-o", json_path(Path(told.output))]
    usual = Form.JSONL if told.input == STDIN else form_of(Path(told.input))
    words += [f"--{told.form}"] if told.form != usual else []
    words += ["--limit", str(told.limit)] if told.limit is not None else []
    words += ["--keep-input"] if told.keep_input else []
    return f"onetake batch run {' '.join(map(quoted, words))}"


def _with(job: Job, told: Mapping[str, Any]) -> Job:
    from onetake.batch.job import run_values

    given = {name: told[name] for name in _RUN if told.get(name) is not None}
    if store := given.pop("store", None):
        given["store"] = str(Path.cwd() / as_path(store))
    return replace(job, run=replace(job.run, **run_values(given, "[run]")))


def _told(target: str | None) -> Told:
    from onetake.batch.remembering import last_run, recall

    if target is None:
        if found := last_run():
            return found
        raise UsageError("no batch has run in this folder: name its output, or its job file")
    path = as_path(target).absolute()
    found = last_run(path) if path.suffix.lower() == ".toml" else recall(path)
    if found is None:
        raise UsageError(f"{target}: no run of it is known; name an output, or a job file that was run")
    return found

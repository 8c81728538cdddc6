"""`onetake batch status`, `report`, `failures` and `explain`: what became of a batch. Nothing is sent."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onetake.batch.failures import Failure
from onetake.cli import output
from onetake.cli.batch_options import again, input_option, rerun
from onetake.cli.batch_words import classes, dollars, may_have_been_billed
from onetake.errors import UsageError
from onetake.printable import counted

if TYPE_CHECKING:
    from onetake.batch.attempts import Run, Totals
    from onetake.batch.ledger import Ledger
    from onetake.batch.opening import Opened
    from onetake.batch.remembering import Told
    from onetake.batch.reporting import Standing


@click.command()
@click.argument("target", required=False)
@input_option
@output.json_option()
def status(target: str | None, input_: str | None, as_json: bool) -> None:
    """Say how far a batch is: what is stored, what is missing, what a killed run may have left unpaid.

    TARGET is an output or a job file; left out: the last run of this folder.
    """
    batch, told = again(target, input_)
    with closing(batch):
        found, since = _standing(batch, told)
        with closing(batch.ledger()) as ledger:
            runs = _runs(ledger, told)
            state = _state(ledger, runs)
            billed = len([one for one in ledger.open_intents() if one.run in {run.id for run in runs}])
    if as_json:
        data = {name: getattr(found, name) for name in ("records", "answered", "adopted", "failed", "waiting")}
        output.print_json(
            {
                "output": told.output,
                "job": told.job,
                "input": told.input,
                **data,
                "differences": since,
                **state,
                "may_have_been_billed": billed,
            }
        )
        return
    output.fields(
        [
            ("output", _shown(told.output)),
            ("job", _shown(told.job)),
            ("input", told.input if told.input == "-" else _shown(told.input)),
            (
                "records",
                _counts(found),
            ),
            ("last run", _last(state, found)),
            ("killed", may_have_been_billed(billed)),
        ]
    )
    _say_since(told, since)
    if found.waiting and state["state"] != "running":
        output.say(f"to go on: {rerun(told)}")


@click.command()
@click.argument("target", required=False)
@input_option
@output.json_option()
def report(target: str | None, input_: str | None, as_json: bool) -> None:
    """Say what a batch came to: rows, failures by class with the likely fix, and what its calls took and cost.

    TARGET is an output or a job file; left out: the last run of this folder.
    """
    batch, told = again(target, input_)
    with closing(batch):
        found, since = _standing(batch, told)
        with closing(batch.ledger()) as ledger:
            runs = _runs(ledger, told)
            totals = [ledger.totals(run.id) for run in runs]
    took = _took(totals)
    stored = "1 reply" if took["stored"] == 1 else f"{took['stored']:,} replies"
    if as_json:
        output.print_json({"output": told.output, **asdict(found), "differences": since, "runs": len(runs), **took})
        return
    output.fields(
        [
            ("output", _shown(told.output)),
            (
                "rows",
                _counts(found),
            ),
            ("calls", f"{took['attempts']:,} in {counted(len(runs), 'run')}, {stored} stored"),
            ("tokens", f"{took['input_tokens']:,} asked, {took['output_tokens']:,} answered"),
            ("cost", _cost(took)),
            ("lost", may_have_been_billed(took["lost"] + took["unsettled"])),
            ("came to", ", ".join(f"{word}: {number:,}" for word, number in took["outcomes"].items())),
        ]
    )
    _say_since(told, since)
    if found.classes:
        output.say()
        classes(found.classes, output.json_path(Path(told.output)))


@click.command()
@click.argument("target", required=False)
@click.option(
    "--class",
    "only",
    multiple=True,
    type=click.Choice([str(one) for one in Failure]),
    help="This class; may be given again.",
)
@input_option
@output.json_option()
def failures(target: str | None, only: tuple[str, ...], input_: str | None, as_json: bool) -> None:
    """List the rows that have no answer, each with the reply that came.

    TARGET is an output or a job file; left out: the last run of this folder.
    """
    from onetake.batch.reporting import failed_data
    from onetake.batch.reporting import failures as found_in

    batch, _ = again(target, input_)
    with closing(batch):
        found = found_in(batch, {Failure(word) for word in only})
        if as_json:
            output.print_json([failed_data(one) for one in found])
            return
        rows = [(str(one.line), one.failure.value, one.message, one.reply or "", (one.key or "")[:16]) for one in found]
    if rows:
        output.table(("line", "class", "says", "reply", "key"), rows)
    else:
        output.say(f"no row failed{' in these classes' if only else ''}")


@click.command()
@click.argument("line", type=click.IntRange(1))
@click.argument("target", required=False)
@input_option
@output.json_option()
def explain(line: int, target: str | None, input_: str | None, as_json: bool) -> None:
    """Say how the row of record LINE comes about: its request, the replies that are stored, why one is missing.

    TARGET is an output or a job file; left out: the last run of this folder.
    """
    batch, _ = again(target, input_)
    with closing(batch):
        found = _explained(batch, line)
    if as_json:
        output.print_json(found)
        return
    from onetake.cli.readable import pretty
    from onetake.strictjson import finite

    shown = {name: value for name, value in found.items() if value not in (None, [], "")}
    output.fields([(name, value if isinstance(value, str) else pretty(finite(value))) for name, value in shown.items()])


def _explained(batch: Opened, line: int) -> dict[str, Any]:
    from onetake.batch.planning import Why
    from onetake.batch.remembering import earlier
    from onetake.batch.resolving import Needed

    record = next(islice(batch.records(), line - 1, None), None)
    if record is None:
        raise UsageError(f"line {line}: the input ends before it")
    found = batch.resolver.resolve(record)
    keys = list(found.keys)
    replies = [_reply(batch, key) for key in keys]
    common = {"line": line, "record": record.data, "replies": replies}
    if isinstance(found, Needed):
        parts = batch.policy.keyer.parts(found.reply.asked.scrubbed, found.reply.asked.days)
        why, _ = Why(batch, earlier(batch))(record, found)
        return {**common, "missing": why, "key": found.reply.asked.key, "request": parts}
    row = (
        {"error": {"class": found.failure.value, "message": found.message}}
        if found.failure
        else {"answer": found.answer}
    )
    request = batch.policy.keyer.parts(batch.asking.request(record.data)) if record.data is not None and keys else None
    return {**common, "row": row, "key": keys[-1] if keys else None, "request": request}


def _reply(batch: Opened, key: str) -> dict[str, Any]:
    from onetake.cassette import Cassette
    from onetake.cli.readable import said
    from onetake.model import Entry

    entry = Cassette(batch.store).load(key, 0)
    place = batch.store.locate(key, 0)
    if not isinstance(entry, Entry):
        return {"place": place}
    broken = [str(one) for one in entry.violations]
    adopted = entry.provenance.get("adopted")
    return {
        "place": place,
        "verdict": entry.verdict,
        "said": said(entry),
        **({"violations": broken} if broken else {}),
        **({"adopted": adopted} if adopted else {}),
    }


def _standing(batch: Opened, told: Told) -> tuple[Standing, list[dict[str, Any]]]:
    """Return how far a batch is today, and why its output is not what it comes to today."""
    from onetake.batch.records import Tally
    from onetake.batch.reporting import standing
    from onetake.batch.verifying import outdated

    tally = Tally()
    found = standing(batch, tally=tally)
    return found, [asdict(one) for one in outdated(Path(told.output), tally, batch.job.digest())]


def _say_since(told: Told, since: list[dict[str, Any]]) -> None:
    if since:
        output.say(f"{_shown(told.output)} was made before something changed:")
    for one in since:
        output.say(f"  {one['what']}: {one['why']}")


def _counts(found: Standing) -> str:
    answered = f"{found.answered:,} answered" + (f" ({found.adopted:,} adopted)" if found.adopted else "")
    return f"{found.records:,}: {answered}, {found.failed:,} failed, {found.waiting:,} missing"


def _runs(ledger: Ledger, told: Told) -> list[Run]:
    """Return the runs that made an output, the last one first."""
    return [run for run in ledger.runs() if run.output_file == told.output]


def _state(ledger: Ledger, runs: list[Run]) -> dict[str, Any]:
    if not runs:
        return {"state": "never sent", "began": None, "ended": None, "why": ""}
    last = runs[0]
    killed = "running" if ledger.is_under_way(last) else "killed"
    state = killed if last.ended is None else "stopped" if last.why else "ended"
    return {"state": state, "began": _time(last.began), "ended": _time(last.ended), "why": last.why}


def _last(state: dict[str, Any], found: Standing) -> str:
    if state["began"] is None:
        return f"none of its runs {'came so far as' if found.waiting else 'had'} to send anything"
    why = f" ({state['why']})" if state["why"] else ""
    return f"{state['state']}{why}, began {state['began']}" + (f", ended {state['ended']}" if state["ended"] else "")


def _took(totals: list[Totals]) -> dict[str, Any]:
    classes_: dict[str, int] = {}
    for one in totals:
        for word, number in one.classes.items():
            classes_[word] = classes_.get(word, 0) + number
    return {
        "attempts": sum(one.attempts for one in totals),
        "stored": sum(one.stored for one in totals),
        "lost": sum(one.lost for one in totals),
        "unsettled": sum(one.unsettled for one in totals),
        "outcomes": dict(sorted(classes_.items())),
        "input_tokens": sum(one.input for one in totals),
        "output_tokens": sum(one.output for one in totals),
        "cost": float(sum(one.cost for one in totals)),
        "unpriced": sum(one.unpriced for one in totals),
    }


def _cost(took: dict[str, Any]) -> str:
    unknown = f", the price of {counted(took['unpriced'], 'call')} unknown" if took["unpriced"] else ""
    return dollars(took["cost"]) + unknown


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _shown(path: str) -> str:
    return output.shown_path(Path(path)) if path else ""

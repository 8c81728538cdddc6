"""`onetake probe`: some stored requests are asked again, and today's answers compared in structure."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from onetake.cli import chain, output
from onetake.cli.entries import as_path, find_entries, folder_to_search, load
from onetake.errors import StoreError, UsageError
from onetake.exits import Exit
from onetake.printable import counted, one_line
from onetake.settings import load_settings
from onetake.upkeep.chaining import chained, mark

if TYPE_CHECKING:
    from onetake.probing.accepting import Accepted
    from onetake.probing.asking import Asker
    from onetake.probing.findings import Compared, Unknown
    from onetake.probing.report import Case, Labelled, Report
    from onetake.probing.running import Wanted

_MOST = 20
_WIDTH = 160
_LONGEST = 1000
_NEXT = "read what drifted, mend the program, then `onetake probe --accept KEY...` records those answers again"
_OF_SAMPLES = {
    **{name: name for name in ("select", "oldest", "seed", "repeat", "model", "strict", "report")},
    "size": "sample",
}
"""Parameters that mean nothing to entries that are named, and their options."""


@click.command()
@click.argument("words", nargs=-1, metavar="[PATH]...")
@click.option("--sample", "size", type=click.IntRange(1), default=5, show_default=True, metavar="N", help="How many.")
@click.option("--select", multiple=True, metavar="WORD", help="Only these: model:NAME, contract:NAME, a path, a key.")
@click.option("--oldest", is_flag=True, help="The oldest, and not those that the seed draws.")
@click.option("--seed", default="onetake", show_default=True, metavar="TEXT", help="Another one draws another sample.")
@click.option("--repeat", type=click.IntRange(1, 2), default=1, show_default=True, help="2 asks each twice.")
@click.option("--model", default="", metavar="NAME", help="Ask this model in the place of the stored one.")
@click.option("--strict", is_flag=True, help="Let a warning be drift, too.")
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="Stay within this.")
@click.option("--rpm", type=click.FloatRange(0, min_open=True), metavar="N", help="Requests a minute at most.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="S", help="Seconds for one answer.")
@click.option("--report", type=click.Path(dir_okay=False), metavar="FILE", help="Write the report there: probe.json.")
@click.option("--import", "importing", is_flag=True, help="Import the types that contracts are declared by.")
@click.option("--accept", is_flag=True, help="Record the named entries again, through the gate.")
@click.option(
    "--chain", "as_chain", is_flag=True, help="With --accept: mark the entries that hold an old answer of them."
)
@output.json_option()
@click.pass_context
def probe(context: click.Context, /, words: tuple[str, ...], accept: bool, as_json: bool, **given: Any) -> None:
    """Ask some stored requests again, as they are, and say where today's answers have another structure.

    They are chosen from PATH and below, from the settings' folder where it is left out: some of every operation, model
    and contract, always the same ones. Texts may differ. A credential comes from the environment, and goes to its
    provider's own origin, or to one that the settings map. No cassette is written to; but with --accept what stands in
    the place of PATH are entries, by path or key, and each is recorded again from what comes now.

    Exit code 3 for drift; 4 where nothing, or too little, could be compared.
    """
    if given["as_chain"] and not accept:
        raise UsageError("--chain goes with --accept; `onetake status --chain` says which entries hold old answers")
    if accept:
        _accept(context, words, given, as_json=as_json)
    if len(words) > 1:
        raise UsageError("probe takes one PATH; entries are named with --accept")
    from onetake.probing.report import InterruptedProbe
    from onetake.probing.running import run

    start = folder_to_search(words[0] if words else None)
    place = as_path(given["report"]) if given["report"] else None
    if place:
        _see_that_it_can_be_written(place)
    stopped = Exit.OK
    with _stopping() as codes:
        try:
            report = run(start, _wanted(given), asker=_asker(given))
        except InterruptedProbe as interrupted:
            report, stopped = interrupted.report, codes[-1]
    unwritten = _written(report, place) if place else ""
    if as_json:
        output.print_json(report.document())
    else:
        _print(report, load_settings(start).root, None if unwritten else place)
    if failed := [why for why in (unwritten, report.unnoted) if why]:
        click.echo(one_line(f"onetake: {'; '.join(failed)}", _LONGEST), err=True)
    context.exit(stopped or (Exit.DAMAGE if failed else report.exit_code))


@contextmanager
def _stopping() -> Iterator[list[Exit]]:
    """Let SIGTERM end the asking as Ctrl-C does, so that what is paid for is told; the last code is what follows."""
    codes = [Exit.INTERRUPTED]

    def terminate(*_: object) -> None:
        codes.append(Exit.TERMINATED)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield codes
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _wanted(given: dict[str, Any]) -> Wanted:
    from onetake.probing.report import Selection, Thresholds
    from onetake.probing.running import Wanted

    chosen = Selection(given["size"], given["seed"], given["oldest"], given["select"], given["model"], given["repeat"])
    return Wanted(chosen, Thresholds.of(strict=given["strict"]), given["importing"])


def _asker(given: dict[str, Any]) -> Asker:
    from onetake.probing.asking import TIMEOUT_S, Asker, Terms

    return Asker(Terms(given["model"], given["rpm"], given["max_cost"], given["timeout"] or TIMEOUT_S))


def _see_that_it_can_be_written(path: Path) -> None:
    """See it before anything is asked and paid for."""
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise StoreError(f"{output.shown_path(path)}: cannot be written")


def _written(report: Report, place: Path) -> str:
    """Write the report; returns why it is not written, where it is not."""
    try:
        place.write_bytes((json.dumps(report.document(), indent=2) + "\n").encode())
    except OSError as error:
        return f"{output.shown_path(place)}: cannot be written: {error.strerror or error}"
    return ""


def _print(report: Report, root: Path, written: Path | None) -> None:
    from onetake.probing.report import Outcome

    told = [case for case in report.cases if report.outcome(case) is not Outcome.UNASKABLE]
    for case in told:
        output.title(f"{report.outcome(case)}: {output.shown_path(root / case.entry)}")
        _print_came(case.came)
    _print_unaskable([case for case in report.cases if report.outcome(case) is Outcome.UNASKABLE], root)
    if told:
        output.say()
    counts = [f"{number} {outcome}" for outcome in Outcome if (number := report.count(outcome))]
    output.fields(
        [
            ("sampled", f"{report.sampled}: {', '.join(counts)}"),
            ("labels", _labels(report.labelled(), "labelled differently")),
            ("noise", _labels(report.noise(), "labelled differently when asked twice")),
            ("cost", f"${report.cost_usd:.4f}" if report.cost_usd is not None else ""),
            ("report", output.shown_path(written) if written else ""),
            ("next", _NEXT if report.count(Outcome.DRIFTED) else ""),
        ]
    )


def _labels(counted_: Labelled | None, what: str) -> str:
    if counted_ is None:
        return ""
    low, high = counted_.interval
    return f"{counted_.differing} of {counted_.of} {what}; {low:.1%} to {high:.1%} of all, at 95 %"


def _print_came(came: Compared | Unknown) -> None:
    from onetake.probing.report import Unknown

    if isinstance(came, Unknown):
        output.say(f"  {came.why}")
        return
    for one in came.findings[:_MOST]:
        was, now = (one_line(json.dumps(value, ensure_ascii=False), _WIDTH) for value in (one.recorded, one.live))
        output.say(f"  {one.severity}: {one.kind}, {one.path}: was {was}, is {now}")
    if len(came.findings) > _MOST:
        output.say(f"  and {len(came.findings) - _MOST} more: --json has them all")


def _print_unaskable(cases: list[Case], root: Path) -> None:
    """Print what nobody can ask again, those together of which the same is said."""
    groups: dict[str, list[str]] = {}
    for case in cases:
        groups.setdefault(getattr(case.came, "why", ""), []).append(case.entry)
    for why, entries in groups.items():
        output.say(f"unaskable: {output.entries(len(entries))}: {why}")
        for entry in entries[:_MOST]:
            output.say(f"  {output.shown_path(root / entry)}")
        if len(entries) > _MOST:
            output.say(f"  and {len(entries) - _MOST} more")


def _accept(context: click.Context, words: tuple[str, ...], given: dict[str, Any], *, as_json: bool) -> None:
    """Record entries again; ends the command."""
    if not words:
        raise UsageError("--accept needs the keys of entries, or their paths: what was looked at, not all there is")
    for name, option in _OF_SAMPLES.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"--{option} is for what is only compared, and goes without --accept")
    from onetake.probing.accepting import accept

    paths = find_entries(words)
    chains = {path: chained(path, load(path)) for path in paths} if given["as_chain"] else {}
    done, stopped = [], Exit.OK
    with _stopping() as codes:
        try:
            for one in accept(paths, _asker(given), importing=given["importing"]):
                done.append(one)
                if not as_json:
                    _print_accepted(one)
        except KeyboardInterrupt:
            stopped = codes[-1]  # what is recorded again is told, and marked
    marked = mark([chains[one.path] for one in done if one.path in chains and not one.why])
    if as_json:
        told = {"chain": chain.marked_data(marked)} if given["as_chain"] else {}
        accepted = [_named(one) for one in done if not one.why]
        output.print_json({"accepted": accepted, "refused": _refused(done), **told})
    else:
        chain.say_marked(marked)
        if failed := sum(bool(one.why) for one in done):
            output.say(f"{counted(failed, 'answer')} not stored")
    code = Exit.FINDINGS if any(one.why for one in done) else Exit.OK
    context.exit(stopped or code)


def _print_accepted(one: Accepted) -> None:
    from onetake.probing.report import Compared

    path = output.shown_path(one.path)
    output.say(f"left as it was: {path}\n  {one.why}" if one.why else f"recorded again: {path}")
    if isinstance(one.came, Compared):
        _print_came(one.came)


def _named(one: Accepted) -> dict[str, Any]:
    from onetake.probing.report import Compared

    findings = one.came.findings if isinstance(one.came, Compared) else ()
    said = {"path": output.json_path(one.path), "key": one.key, "ordinal": one.ordinal}
    return {**said, "findings": [asdict(each) for each in findings]}


def _refused(done: list[Accepted]) -> list[dict[str, Any]]:
    return [{**_named(one), "why": one.why} for one in done if one.why]

"""`onetake migrate`: prove that a suite may leave vcrpy, before anything of it is changed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from onetake.cli import output
from onetake.errors import UsageError
from onetake.exits import Exit
from onetake.importers.judging import Outcome
from onetake.printable import counted, one_line, sides
from onetake.proving import Brought, Comparison, Proof, Test, prove
from onetake.proving_runs import Telling

_REQUESTS = 3
_SHOWN = 2
"""Differences of one request that are shown, at least one of each kind; `--json` has ten."""
_FAILING = 20
"""Tests that fail on both sides and are named; `--json` has all."""
_WIDTH = 100
_EACH = 60.0
"""Seconds after which a line of progress is due where no terminal shows it."""


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--check", is_flag=True, help="Run the suite under both recorders, and compare.")
@click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(min=1), help="End a run of the suite that takes longer."
)
@output.json_option()
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def migrate(
    context: click.Context, check: bool, timeout: float | None, as_json: bool, arguments: tuple[str, ...]
) -> None:
    """Say which tests pass only because their recorder ignores what is asked; ARGUMENTS, behind `--`, are pytest's.

    The suite runs once under its own recorder, which is sealed, and once under onetake on what an import makes of its
    cassettes, in a temporary folder. No cassette goes live or is written. All else in the tests runs as ever, in the
    current folder: what they write stays, and what they send without a cassette goes out. Exit code 1 where a test
    passes on an answer to another request, or has another outcome.
    """
    if not check:
        raise UsageError("say --check; `onetake import vcr PATH` takes the cassettes over")
    proof = prove(arguments, Telling(timeout=timeout) if as_json else Telling(_say, _progress(), timeout))
    if as_json:
        output.print_json(_document(proof))
    else:
        _print(proof)
    context.exit(Exit.FINDINGS if len(proof.of(Comparison.SAME)) < len(proof.tests) else Exit.OK)


def _say(line: str) -> None:
    click.echo(one_line(line, 1000), err=True)


def _progress() -> Callable[[str], None]:
    """Return what shows the last line of a run: in place where a terminal does, else each minute."""
    is_watched = sys.stderr is not None and sys.stderr.isatty()
    due = time.monotonic() + _EACH

    def show(line: str) -> None:
        nonlocal due
        if is_watched:
            click.echo(f"\r\x1b[K{one_line(line, _WIDTH)}\r", nl=False, err=True)
        elif time.monotonic() >= due:
            due = time.monotonic() + _EACH
            _say(f"  {line}")

    return show


def _document(proof: Proof) -> dict[str, Any]:
    brought = proof.brought
    return {
        "tests": len(proof.tests),
        "passed_before": sum(test.before == "passed" for test in proof.tests),
        "passed_now": sum(test.now == "passed" for test in proof.tests),
        "body_ignored": [_data(test) for test in proof.of(Comparison.BODY)],
        "other_outcome": [_data(test) for test in proof.of(Comparison.OTHERWISE)],
        "failed_both": [_data(test) for test in _failing(proof)],
        "cassettes": brought.cassettes,
        "cassettes_there": brought.there,
        "interactions": dict(brought.interactions),
        "import": _flags(brought),
        "settings": _settings(brought),
        "outcomes": {test.id: {"before": test.before, "now": test.now} for test in proof.tests},
    }


def _data(test: Test) -> dict[str, Any]:
    return {
        "test": test.id,
        "before": test.before,
        "now": test.now,
        "differing": list(test.differing),
        "why": test.why,
    }


def _failing(proof: Proof) -> list[Test]:
    return [test for test in proof.tests if (test.before, test.now) == ("failed", "failed")]


def _print(proof: Proof) -> None:
    brought = proof.brought
    settings = _settings(brought)
    there = f", {brought.there:,} of them imported before" if brought.there else ""
    output.fields(
        [
            ("tests", f"{len(proof.tests):,}"),
            ("under their own recorder", _outcomes([test.before for test in proof.tests])),
            ("under onetake", _outcomes([test.now for test in proof.tests])),
            ("cassettes", f"{brought.cassettes:,}{there}"),
            ("interactions", _counts(brought.interactions)),
            ("settings to add", "\n".join(f"{name} = {json.dumps(said)}" for name, said in settings.items() if said)),
        ]
    )
    ignored, otherwise = proof.of(Comparison.BODY), proof.of(Comparison.OTHERWISE)
    if ignored:
        output.say()
        output.title(f"{counted(len(ignored), 'test')} passed only because the body was ignored")
        for test in ignored:
            _print_differing(test)
    if otherwise:
        output.say()
        output.title(f"{counted(len(otherwise), 'test')} with another outcome")
        output.table(
            ("test", "before", "now", "why"), [(test.id, test.before, test.now, test.why) for test in otherwise]
        )
    _print_failing(_failing(proof))
    output.say()
    output.say(_next_step(proof))


def _print_differing(test: Test) -> None:
    output.say(f"{test.id}" + (f" ({test.now} under onetake)" if test.now != "passed" else ""))
    for one in test.differing[:_REQUESTS]:
        output.say(f"  {', '.join(one['kinds'])}: {one_line(one['asked'], 200)}")
        for found in one["differences"][: max(_SHOWN, len(one["kinds"]))]:
            output.say(f"    {sides(found['path'], found['asked'], found['stored'])}")
    if (more := len(test.differing) - _REQUESTS) > 0:
        output.say(f"  and {counted(more, 'more request')}: --json has all")


def _print_failing(failing: Sequence[Test]) -> None:
    if not failing:
        return
    output.say()
    output.title(f"{counted(len(failing), 'test')} failed under both")
    output.table(("test", "why, under onetake"), [(test.id, test.why) for test in failing[:_FAILING]])
    if (more := len(failing) - _FAILING) > 0:
        output.say(f"and {more:,} more: --json has all")


def _flags(brought: Brought) -> list[str]:
    """Return the flags of `onetake import vcr` without which it takes over less, under these settings."""
    return ["--keep-bodyless"] if brought.interactions.get(Outcome.LOOSE) else []


def _settings(brought: Brought) -> dict[str, list[str]]:
    """Return what the settings of the run under onetake named besides the project's, but for `match`."""
    return {"hosts": list(brought.hosts), "keep": list(brought.keep)}


def _next_step(proof: Proof) -> str:
    brought, ignored, otherwise = proof.brought, proof.of(Comparison.BODY), proof.of(Comparison.OTHERWISE)
    steps = ["add the settings above"] if any(_settings(brought).values()) else []
    if not brought.there or brought.there < brought.cassettes:
        steps.append(f"`{' '.join(['onetake import vcr', *_flags(brought)])}`")
    if ignored:
        steps.append('match = "legacy" in the settings: these tests pass, and are counted')
    elif otherwise:
        steps.append("mend what has another outcome")
    first = f"next: {', then '.join(steps)}" if steps else ""
    same = "every test has the outcome that it had" if _failing(proof) else "the suite passes as it is"
    return "; ".join(filter(None, (first, "" if ignored or otherwise else same)))


def _outcomes(words: Sequence[str]) -> str:
    return _counts({word or "not run": words.count(word) for word in ("passed", "failed", "skipped", "")})


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {word.replace('_', ' ')}" for word, number in numbers.items() if number)

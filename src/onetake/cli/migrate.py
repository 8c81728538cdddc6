"""`onetake migrate`: prove that a suite may leave vcrpy, before anything of it is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from onetake.cli import output
from onetake.errors import UsageError
from onetake.exits import Exit
from onetake.printable import counted, one_line
from onetake.proving import Found, Proof, Test, prove

_REQUESTS = 3
_SHOWN = 2
"""Differences of one request that are shown, at least one of each kind; `--json` has ten."""


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--check", is_flag=True, help="Run the suite under both recorders, and compare.")
@output.json_option()
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def migrate(context: click.Context, check: bool, as_json: bool, arguments: tuple[str, ...]) -> None:
    """Say which tests pass only because their recorder ignores what is asked; ARGUMENTS, behind `--`, are pytest's.

    The suite runs once under its own recorder, which is sealed, and once under onetake on what an import makes of its
    cassettes. The project is not touched, and nothing goes out. Exit code 1 where a test passes on an answer to another
    request, or has another outcome.
    """
    if not check:
        raise UsageError("say --check; `onetake import vcr PATH` takes the cassettes over")
    proof = prove(arguments, (lambda _: None) if as_json else lambda line: click.echo(line, err=True))
    if as_json:
        output.print_json(_document(proof))
    else:
        _print(proof)
    context.exit(Exit.FINDINGS if len(proof.of(Found.SAME)) < len(proof.tests) else Exit.OK)


def _document(proof: Proof) -> dict[str, Any]:
    return {
        "tests": len(proof.tests),
        "passed_before": sum(test.before == "passed" for test in proof.tests),
        "passed_now": sum(test.now == "passed" for test in proof.tests),
        "body_ignored": [_data(test) for test in proof.of(Found.BODY)],
        "other_outcome": [_data(test) for test in proof.of(Found.OTHERWISE)],
        "cassettes": proof.cassettes,
        "interactions": dict(proof.imported),
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


def _print(proof: Proof) -> None:
    output.fields(
        [
            ("tests", f"{len(proof.tests):,}"),
            ("under their own recorder", _outcomes([test.before for test in proof.tests])),
            ("under onetake", _outcomes([test.now for test in proof.tests])),
            ("cassettes", f"{proof.cassettes:,}"),
            ("interactions", _counts(proof.imported)),
        ]
    )
    ignored, otherwise = proof.of(Found.BODY), proof.of(Found.OTHERWISE)
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
    output.say()
    output.say(_next_step(ignored, otherwise))


def _print_differing(test: Test) -> None:
    output.say(f"{test.id}" + (f" ({test.now} under onetake)" if test.now != "passed" else ""))
    for one in test.differing[:_REQUESTS]:
        output.say(f"  {', '.join(one['kinds'])}: {one_line(one['asked'], 200)}")
        for found in one["differences"][: max(_SHOWN, len(one["kinds"]))]:
            sides = [f"{word} {found[word]}" for word in ("asked", "stored") if found[word]]
            output.say(f"    {one_line(found['path'], 160)}: {'only ' * (len(sides) == 1)}{', '.join(sides)}")
    if (more := len(test.differing) - _REQUESTS) > 0:
        output.say(f"  and {counted(more, 'more request')}: --json has all")


def _next_step(ignored: Sequence[Test], otherwise: Sequence[Test]) -> str:
    if ignored:
        return 'next: `onetake import vcr`, then match = "legacy" in the settings: these tests pass, and are counted'
    if otherwise:
        return "next: `onetake import vcr`, then mend what has another outcome"
    return "next: `onetake import vcr`; the suite passes as it is"


def _outcomes(words: Sequence[str]) -> str:
    return _counts({word or "not run": words.count(word) for word in ("passed", "failed", "skipped", "")})


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {word.replace('_', ' ')}" for word, number in numbers.items() if number)

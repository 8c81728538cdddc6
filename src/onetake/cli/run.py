"""`onetake run`: an unchanged program, and its child processes, recorded or sealed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onetake import modes
from onetake.cli import output
from onetake.errors import UsageError
from onetake.exits import Exit
from onetake.model import Repeats
from onetake.settings import MODE_WORDS, parse_mode

if TYPE_CHECKING:
    from onetake.programs import Ending


_LONGEST = 160
"""Characters of a program's command line that a remedy repeats."""
_SECRET = re.compile("key|token|secret|passw|credential", re.IGNORECASE)
"""Words of a command line beside which a secret may stand."""


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--mode", metavar="MODE", help=f"{', '.join(MODE_WORDS)}; before all but ONETAKE_MODE=none.")
@click.option("--cassette", metavar="DIR", help="The cassette, from the settings' folder.")
@click.option("--repeats", type=click.Choice([one.value for one in Repeats]), help="One answer for all, or one each.")
@click.option("--keep", metavar="KIND", multiple=True, help="Keep bad answers of this kind; may be given again.")
@click.option("--contract", metavar="NAME", multiple=True, help="A contract of the settings; may be given again.")
@click.option("--report", metavar="FILE", help="Write what the run came to into FILE, as JSON.")
@output.json_option("Say the end as one line of JSON, on standard error.", on_stderr=True)
@click.option("--quiet", is_flag=True, help="Say nothing at the end of a run in which nothing was refused.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def run(
    context: click.Context,
    /,
    command: tuple[str, ...],
    mode: str | None,
    report: str | None,
    as_json: bool,
    quiet: bool,
    **asked: Any,
) -> None:
    """Run COMMAND with every model call recorded or replayed.

    COMMAND is any command line; all Pythons that it starts are part of the session. Its exit code is ours, unless
    something was refused.
    """
    if report is not None:
        _write(report, b"")  # a place that cannot be written is told before anything is paid for
    with modes.running(parse_mode(mode) if mode else None, _again(command, asked)):
        ending, code = _run(command, **asked)
    if report is not None:
        _write(report, json.dumps({**ending.as_json(), "exit": code}, indent=2).encode() + b"\n")
    _tell(ending, code, as_json=as_json, quiet=quiet)
    context.exit(code)


def _run(
    command: Sequence[str], cassette: str | None, repeats: str | None, keep: Sequence[str], contract: Sequence[str]
) -> tuple[Ending, int]:
    # They load the engine, which other commands do not need.
    from onetake import active
    from onetake.cli.supervise import Supervised
    from onetake.programs import check_children_judge, end, program_of, session_of

    asked = {"repeats": repeats, "keep": list(keep) or None, "contract": list(contract) or None}
    session = session_of(program_of(command), cassette, **asked)
    check_children_judge(session)
    scope = session.open()
    token = active.bind(scope)
    try:
        code = Supervised().run(command)
    except UsageError as error:
        end(session, error, is_program=False)
        raise
    finally:
        active.unbind(scope, token)
    ending = end(session, SystemExit(code) if code else None, is_program=False)
    return ending, _code(ending, code)


def _again(command: Sequence[str], asked: Mapping[str, Any]) -> str:
    """Return the command line that runs the same in another mode, with `{mode}` in its place; no secret is in it."""
    from onetake.programs import program_of
    from onetake.quoting import quoted
    from onetake.scrub import Scrubber
    from onetake.settings import load_settings

    scrubbing = Scrubber(load_settings(program_of(command).start).scrub).begin()

    def shown(words: Iterable[str]) -> str:
        return " ".join(quoted(scrubbing.text(word), _LONGEST) for word in words)

    given = {name: [said] if isinstance(said, str) else said or () for name, said in asked.items()}
    options = shown(word for name, words in given.items() for one in words for word in (f"--{name}", one))
    program = shown(command)
    if len(program) > _LONGEST or any(map(_SECRET.search, command)):
        program = "…"
    return " ".join(filter(None, ("onetake run --mode {mode}", options, "--", program)))


def _code(ending: Ending, code: int) -> int:
    """Return the exit code: what was refused goes before the program's own, and a seal round nothing is no success."""
    return ending.code or code or (Exit.USAGE if ending.was_unsealed else Exit.OK)


def _tell(ending: Ending, code: int, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        click.echo(json.dumps({**ending.as_json(), "exit": code}), err=True)
    elif not quiet or ending.refusals or ending.was_unsealed:
        click.echo(ending.text(), err=True, nl=False)


def _write(report: str, content: bytes) -> None:
    try:
        Path(report).write_bytes(content)
    except OSError as error:
        raise UsageError(f"--report {report}: cannot be written: {error.strerror or error}") from error

"""The command line, `onetake`: one file per command, every error one line on stderr and an exit code."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any

import click

from onetake.cli.demo import demo
from onetake.cli.diff import diff
from onetake.cli.exits import Exit, code_of
from onetake.cli.list_ import list_
from onetake.cli.show import show
from onetake.errors import OnetakeError
from onetake.printable import one_line
from onetake.provenance import version

_LONGEST_ERROR = 2000


class Commands(click.Group):
    """A group of commands whose errors become exit codes."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command line, and exit with its code."""
        options["standalone_mode"] = False
        try:
            code = super().main(*args, **options)
        except OnetakeError as error:
            code = _tell(str(error), code_of(error))
        except RecursionError:
            code = _tell("an entry is nested too deep", Exit.DAMAGE)
        except click.ClickException as error:
            code = _tell(error.format_message(), Exit.USAGE)
        except click.Abort:
            code = _tell("interrupted", Exit.INTERRUPTED)
        sys.exit(code or Exit.OK)


def _tell(text: str, code: Exit) -> Exit:
    click.echo(f"onetake: {one_line(text, _LONGEST_ERROR)}", err=True)
    return code


def _say_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"onetake {version()}")
        context.exit()


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_say_version, help="Print the version."
)
@click.pass_context
def commands(context: click.Context) -> None:
    """Record a model's answer once, only if it is good; replay it to exactly the caller that asked."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        context.exit(Exit.USAGE)


for _command in (demo, list_, show, diff):
    commands.add_command(_command)


def main() -> None:
    """Run the command line of this process, and exit."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe whose encoding lacks a character gets its escape, never a traceback.
        with contextlib.suppress(io.UnsupportedOperation):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
    commands.main(prog_name="onetake")

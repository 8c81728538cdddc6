"""The command line, `onetake`: a file per command; every error is a line on stderr, a refusal a few, and a code."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Any

import click

from onetake.cli import output
from onetake.errors import ContractError, InteractionNotFound, NotStored, OnetakeError, UnreadableEntry
from onetake.exits import Exit, code_of
from onetake.printable import one_line
from onetake.provenance import version

_LONGEST_ERROR = 2000
_REFUSALS = frozenset(kind.__name__ for kind in (InteractionNotFound, UnreadableEntry, ContractError, NotStored))
"""Errors that say in lines of their own, indented, what lies nearest and what mends it."""
_MOST_LINES = 40
_MODULES = {
    **{name: name for name in ("init", "run", "demo", "show", "diff", "contract", "batch", "store", "probe", "review")},
    **{name: name for name in ("status", "check", "adopt", "vouch", "pin", "rekey", "prune", "doctor", "migrate")},
    "list": "list_",
    "import": "import_",
}
"""The module of each command, which holds it under its own name; loaded when it is called: all take longer than one."""


class Commands(click.Group):
    """A group of commands whose errors become exit codes, and with `--json` JSON documents too."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted({*_MODULES, *self.commands})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return a command, None where there is none of that name."""
        if name in _MODULES and name not in self.commands:
            self.add_command(getattr(import_module(f"onetake.cli.{_MODULES[name]}"), _MODULES[name]), name)
        return super().get_command(context, name)

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command line, and exit with its code."""
        given = args[0] if args else options.get("args")
        asked: dict[str, bool] = {}
        try:
            code = super().main(*args, **{**options, "standalone_mode": False, "obj": asked})
        except (OnetakeError, RecursionError, click.ClickException, click.Abort, OSError) as error:
            kind, message, code = _told(error)
            _tell(kind, message, code, _json_place(error, asked, sys.argv[1:] if given is None else given))
            _drop_output()
        sys.exit(code or Exit.OK)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Read a command line; `--help` and `--version` print here."""
        with _ending_unread():
            return super().make_context(*args, **options)

    def invoke(self, context: click.Context) -> Any:
        """Run the command that was read."""
        with _ending_unread():
            try:
                return super().invoke(context)
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()


@contextlib.contextmanager
def _ending_unread() -> Iterator[None]:
    """End with the code of a closed pipe where nobody reads the output any more, before click makes 1 of it."""
    try:
        yield
    except BrokenPipeError:
        _drop_output()
        raise click.exceptions.Exit(Exit.UNREAD) from None


def _told(error: BaseException) -> tuple[str, str, Exit]:
    """Return what is said of an error: its kind, the text, and the exit code."""
    match error:
        case OnetakeError():
            return error.class_name, str(error), code_of(error)
        case RecursionError():
            return "FormatError", "an entry is nested too deep", Exit.DAMAGE
        case click.ClickException():
            return "UsageError", " ".join(error.format_message().split()), Exit.USAGE
        case OSError(errno=errno.EBADF, filename=None):
            return "OSError", "standard input or output is closed", Exit.DAMAGE
        case OSError():
            where = f"{output.shown_path(Path(str(error.filename)))}: " if error.filename else ""
            return "OSError", f"{where}{error.strerror or error}", Exit.DAMAGE
    return "Interrupted", "interrupted", Exit.INTERRUPTED


def _json_place(error: BaseException, asked: Mapping[str, bool], words: Sequence[str]) -> bool | None:
    """Return whether JSON goes to standard error, None for no JSON; a line that was not understood is read by word."""
    unread = isinstance(error, click.UsageError) and "--json" in takewhile("--".__ne__, words)
    return asked.get("json_on_stderr", False if unread else None)


def _tell(kind: str, message: str, code: Exit, json_on_stderr: bool | None) -> None:
    from onetake.scrub import shown  # what was wrongly given for a word may be a key

    message = shown(message)
    lines = message.split("\n", _MOST_LINES) if kind in _REFUSALS else [message]
    with contextlib.suppress(OSError):  # nobody can be told that nothing can be told
        click.echo("onetake: " + "\n".join(one_line(line, _LONGEST_ERROR) for line in lines), err=True)
    with contextlib.suppress(OSError):
        if json_on_stderr is not None:
            output.print_error({"kind": kind, "message": message, "exit": int(code)}, on_stderr=json_on_stderr)


def _drop_output() -> None:
    """Send what waits and cannot be written nowhere: Python would complain of it at its end."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
            continue
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


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


def _open_closed() -> None:
    """Put something in the place of each standard stream that is closed, where the next file would be opened else.

    To write to standard output fails then, as it does on a full disk, and so does to read; what is said on standard
    error goes nowhere. No program that is started from here inherits any of it.
    """
    for name, access, mode in (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, access), mode, encoding="utf-8"))


def main() -> None:
    """Run the command line of this process, and exit."""
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe whose encoding lacks a character gets its escape, never a traceback.
        with contextlib.suppress(io.UnsupportedOperation):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
    commands.main(prog_name="onetake")

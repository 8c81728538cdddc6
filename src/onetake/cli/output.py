"""What commands print: JSON for programs, tables for a terminal, plain lines for everything else.

Every text goes through `printable` and `scrub`, here and nowhere else, so that nothing a model or a file said reaches a
terminal as a control sequence, and no secret that lies in a file or in its name is told. What was shortened before was
scrubbed before: see `printable.one_line`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeVar

import click

from onetake.printable import block, one_line, spelled
from onetake.strictjson import finite

if TYPE_CHECKING:
    from rich.console import Console

_NARROW = 80
"""Columns below which a table cannot be read."""

_LONGEST = 4096
"""Characters of a cell or title that are shown: as many as a path may have, since what is copied must be whole."""

_SHORTEST_SECRET = 12
"""Characters: no secret that is known by its look is shorter."""

_VERBATIM = re.compile(r"^//[?.]/(UNC/|(?=[A-Za-z]:))")
"""How Windows begins a path that it takes word for word, with slashes: nobody writes it so, and it hides the drive."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def json_option(help: str = "Print one JSON document.", *, on_stderr: bool = False) -> Callable[[_Command], _Command]:  # noqa: A002
    """Make a command's `--json`, which is its argument `as_json`; with it the command's errors are JSON, too.

    Args:
        help: What the command's help says of it.
        on_stderr: True for a command whose standard output belongs to another program.
    """

    def note(context: click.Context, _: click.Parameter, wanted: bool) -> bool:
        if wanted:
            context.ensure_object(dict)["json_on_stderr"] = on_stderr
        return wanted

    return click.option("--json", "as_json", is_flag=True, is_eager=True, callback=note, help=help)


def print_json(value: Any) -> None:
    """Print a JSON document, ASCII only: safe on any terminal, and exact for any text but a secret.

    A number that no float holds is a text there: readers would make infinity of it, or the largest float.
    """
    text = _document(value)
    from onetake.scrub import may_hold_secret, shown_data  # slow to load

    click.echo(_document(shown_data(value)) if may_hold_secret(text) else text)


def _document(value: Any) -> str:
    try:
        return _laid_out(value, "\n")
    except ValueError:
        return _laid_out(finite(value), "\n")


def _laid_out(value: Any, pad: str) -> str:
    """Return what `json.dumps` does with an indent of 2, in a fifth of its time where many containers hold only leaves.

    Args:
        value: Plain JSON data, the names of objects texts.
        pad: A line's end, and what its next line begins with.
    """
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    inner = pad + "  "
    if not members or not any(isinstance(member, dict | list | tuple) for member in members):
        line = _lines(inner)(value)
        return f"{line[0]}{inner}{line[1:-1]}{pad}{line[-1]}" if members else line
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {_laid_out(member, inner)}" for name, member in value.items()]
        return "{" + inner + f",{inner}".join(parts) + pad + "}"
    return "[" + inner + f",{inner}".join([_laid_out(member, inner) for member in members]) + pad + "]"


@cache
def _lines(pad: str) -> Callable[[Any], str]:
    """Return the C encoder, which knows no indent, with one between the items of a container without others."""
    return json.JSONEncoder(allow_nan=False, separators=(f",{pad}", ": ")).encode


def print_error(error: Mapping[str, Any], *, on_stderr: bool) -> None:
    """Print an error as a JSON document.

    Args:
        error: `kind`, `message` and `exit`.
        on_stderr: True prints one line on standard error, where text of others may stand before it.
    """
    click.echo(json.dumps({"error": error}, indent=None if on_stderr else 2), err=on_stderr)


def say(text: str = "") -> None:
    """Print lines of text."""
    click.echo(_shown(block(text)))


def title(text: str) -> None:
    """Print a line that stands out on a terminal."""
    if not _is_terminal():
        say(text)
        return
    from rich.text import Text

    _console().print(Text(_shown(one_line(text, _LONGEST)), style="bold"), soft_wrap=True)


def fields(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and values, one a line, aligned; those without a value are left out, further lines indented."""
    shown = [(name, _shown(block(value))) for name, value in pairs if value]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        lines = value.split("\n")
        for label, line in zip([name, *[""] * (len(lines) - 1)], lines, strict=True):
            click.echo(f"{label:<{width}}  {line}".rstrip())


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of one-line cells; columns without any value are left out."""
    kept = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    heads = [columns[i] for i in kept]
    cells = [[_shown(one_line(row[i], _LONGEST)) for i in kept] for row in rows]
    if not _is_terminal():
        _aligned(heads, cells)
    elif _console().width < _NARROW:
        for row in cells:
            fields(list(zip(heads, row, strict=True)))
            click.echo()
    else:
        _rich_table(heads, cells)


def entries(number: int) -> str:
    """Write a number of entries: `1 entry`, `2,000 entries`."""
    return f"{number:,} {'entry' if number == 1 else 'entries'}"


def json_path(path: Path) -> str:
    """Return a path as it stands in JSON and in commands: from the current folder where it lies below.

    It has forward slashes on every system, and is the name of the file whatever that holds.
    """
    return told(path.absolute(), Path.cwd())


def shown_path(path: Path) -> str:
    """Return a path as it is told: as `json_path` does, on one line, what cannot be printed as escapes."""
    return spelled(json_path(path))


def scrubbed_path(path: Path) -> str:
    """Return a path as `json_path` does, without the secrets in its names."""
    from onetake.scrub import shown  # slow to load, and few commands tell the names of others' files

    return shown(json_path(path))


def told(path: PurePath, here: PurePath) -> str:
    r"""Return an absolute path as it is told to someone who is in a folder.

    Args:
        path: Absolute; `\\?\` before it on Windows is left out.
        here: The folder, absolute.

    Source: Windows takes a path behind `\\?\` word for word, so with the slashes that are told it would name nothing.
    """
    full, base = (type(path)(_VERBATIM.sub(_as_written, each.as_posix())) for each in (path, here))
    return (full.relative_to(base) if full.is_relative_to(base) else full).as_posix()


def _shown(text: str) -> str:
    """Return a text without secrets, as all of it is printed."""
    if len(text) < _SHORTEST_SECRET:
        return text
    from onetake.scrub import shown  # slow to load

    return shown(text)


def _as_written(found: re.Match[str]) -> str:
    return "//" if found[1] else ""


def _aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    everything = [heads, *rows]
    widths = [max(_width(row[i]) for row in everything) for i in range(len(heads))]
    for row in everything:
        padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


def _width(text: str) -> int:
    """Return how many columns a text takes: two for a letter of Chinese, say, and none for an accent."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _rich_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    grid = Table(*heads, box=None, header_style="dim", pad_edge=False)
    grid.columns[0].no_wrap = True
    for column in grid.columns[1:]:
        column.overflow = "fold"
    for row in rows:
        grid.add_row(*map(Text, row))  # Text, not str: what looks like markup is none
    _console().print(grid)


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def _console() -> Console:
    from rich.console import Console

    return Console(file=sys.stdout, color_system=None if os.environ.get("NO_COLOR") else "auto", highlight=False)

"""What commands print: JSON for programs, tables for a terminal, plain lines for everything else.

Every text goes through `printable`, here and nowhere else, so that nothing a model or a file said reaches a terminal as
a control sequence.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onetake.printable import block, one_line

if TYPE_CHECKING:
    from rich.console import Console

_NARROW = 80
"""Columns below which a table cannot be read."""


def print_json(value: Any) -> None:
    """Print a JSON document, ASCII only: safe on any terminal, and exact for any text."""
    click.echo(json.dumps(value, indent=2))


def say(text: str = "") -> None:
    """Print lines of text."""
    click.echo(block(text))


def title(text: str) -> None:
    """Print a line that stands out on a terminal."""
    if not _is_terminal():
        say(text)
        return
    from rich.text import Text

    _console().print(Text(one_line(text, 400), style="bold"), soft_wrap=True)


def fields(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names and values, one a line, aligned; those without a value are left out, further lines indented."""
    shown = [(name, block(value)) for name, value in pairs if value]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        lines = value.split("\n")
        for label, line in zip([name, *[""] * (len(lines) - 1)], lines, strict=True):
            click.echo(f"{label:<{width}}  {line}".rstrip())


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of one-line cells; columns without any value are left out."""
    kept = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    heads = [columns[i] for i in kept]
    cells = [[one_line(row[i]) for i in kept] for row in rows]
    if not _is_terminal():
        _aligned(heads, cells)
    elif _console().width < _NARROW:
        for row in cells:
            fields(list(zip(heads, row, strict=True)))
            click.echo()
    else:
        _rich_table(heads, cells)


def shown_path(path: Path) -> str:
    """Return a path as it is told: from the current folder where it lies below, with forward slashes."""
    full = path.absolute()
    return (full.relative_to(Path.cwd()) if full.is_relative_to(Path.cwd()) else full).as_posix()


def _aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    everything = [heads, *rows]
    widths = [max(len(row[i]) for row in everything) for i in range(len(heads))]
    for row in everything:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


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

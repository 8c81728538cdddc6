"""A review as Markdown for a comment of a pull request: nothing that a model said can act there.

Whatever others wrote stands in a fence that is longer than any run of backticks in it, or is escaped. The signs by
which a forge calls people or names places (`@name`, `#12`, `!12`) are broken everywhere: mail and bots read fences too.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from onetake.cli.review_shown import Section, facts, heading, sections
from onetake.printable import block, one_line
from onetake.review.reading import Read

MARKER = "<!-- onetake review -->"
"""The first line, by which a program finds its own comment again."""
MOST_BYTES = 60_000
"""Bytes of a comment: GitHub takes 65,536 characters."""
_MOST_LINES = 40
_MOST_OF_A_FENCE = 3_000
_ROOM_FOR_THE_END = 600
_BREAK = "\u200b"
_CALLS = re.compile(r"[@#](?=\w)|!(?=\d)|\bGH-(?=\d)", re.IGNORECASE)
"""What a forge makes a reference of: people, issues, requests."""


def comment(title: str, summary: Sequence[str], reads: Iterable[Read], total: int) -> str:
    """Return the comment.

    Args:
        title: Its heading.
        summary: Lines of ours about all changes.
        reads: The changes, read one after the other as far as there is room.
        total: How many there are.

    Returns:
        Markdown of at most `MOST_BYTES` in UTF-8; what has no room is counted.
    """
    parts = [MARKER, f"### {_plain(title)}", *(f"- {_plain(line)}" for line in summary)]
    text = "\n".join(parts) + "\n"
    for number, read in enumerate(reads):
        item = "\n" + "\n".join(_item(read)) + "\n"
        if len((text + item).encode("utf-8", "replace")) > MOST_BYTES - _ROOM_FOR_THE_END:
            left = total - number
            return f"{text}\n{left} more {'has' if left == 1 else 'have'} no room here: `onetake review` shows all.\n"
        text += item
    return text


def _item(read: Read) -> Iterator[str]:
    yield "<details>"
    yield f"<summary>{_code(heading(read.change))}</summary>"
    yield ""
    yield from _fenced([f"{name}: {value}" for name, value in facts(read)], "text")
    for section in sections(read):
        yield ""
        yield f"**{section.name}**"
        yield ""
        yield from _section(section)
    yield ""
    yield "</details>"


def _section(section: Section) -> Iterator[str]:
    lines = list(section.lines[:_MOST_LINES])
    if len(section.lines) > _MOST_LINES:
        lines.append(f"… and {len(section.lines) - _MOST_LINES} more lines")
    yield from _fenced(lines, "diff" if section.is_diff else "text")


def _fenced(lines: Sequence[str], language: str) -> Iterator[str]:
    """Yield lines in a fence that nothing in them can end."""
    text = "\n".join(line for one in lines for line in block(one).split("\n"))
    if len(text) > _MOST_OF_A_FENCE:
        text = text[:_MOST_OF_A_FENCE] + "…"
    text = broken(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield text
    yield fence


def broken(text: str) -> str:
    """Return a text in which no sign calls anybody, or leads anywhere."""
    return _CALLS.sub(rf"\g<0>{_BREAK}", text)


def _code(text: str) -> str:
    """Return a line for a place of HTML, where Markdown is not read."""
    return f"<code>{html.escape(broken(one_line(text, 300)))}</code>"


def _plain(text: str) -> str:
    """Return a line of ours that may quote others, as text that Markdown makes nothing of."""
    line = broken(one_line(text, 300))
    return re.sub(r"([\\`*_{}\[\]()#+!|>~$&]|<)", lambda found: "&lt;" if found[0] == "<" else f"\\{found[0]}", line)

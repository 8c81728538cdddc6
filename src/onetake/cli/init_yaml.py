"""Find where an item can be put at the end of a YAML file, by its lines alone, or say that it cannot be seen."""

from __future__ import annotations

import re

_ITEM = re.compile(r"( *)- ")
_STRANGE = re.compile(r"^(?:---|\.\.\.|%)", re.MULTILINE)


def items_indent(text: str, name: str) -> str | None:
    """Return the indent of the items of a top-level list that is the last thing in a file.

    Args:
        text: Of the file.
        name: Of the list.

    Returns:
        The spaces before the dash; an item appended with them is the last of the list. None where that is not certain:
        the list is written in brackets, is empty, is not there once, something stands behind it, or the file has more
        than one document.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    heads = [i for i, line in enumerate(lines) if re.match(rf"['\"]?{name}['\"]?\s*:", line)]
    if len(heads) != 1 or re.fullmatch(rf"{name}:\s*(?:#.*)?", lines[heads[0]]) is None:
        return None
    rest = [line for line in lines[heads[0] + 1 :] if line.strip() and not line.lstrip().startswith("#")]
    if not rest or _STRANGE.search("\n".join(rest)) or _STRANGE.search("\n".join(lines[1 : heads[0]])):
        return None
    first = _ITEM.match(rest[0])
    if first is None or any(_stands_behind(line, first[1]) for line in rest):
        return None
    return first[1]


def _stands_behind(line: str, indent: str) -> bool:
    """Tell whether a line is neither an item of the list nor inside one."""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return True
    own = len(line) - len(line.lstrip(" "))
    return own < len(indent) or (own == len(indent) and not line[own:].startswith("- "))

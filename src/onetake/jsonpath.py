"""The path grammar of settings and messages: `$`, then `.name`, `["name"]`, `[n]` or `[*]`."""

from __future__ import annotations

import json
import re

from onetake.errors import UsageError

Path = tuple[str | int | None, ...]
"""One step each: a name, an index from 0, or None for `[*]` (every item of an array)."""

_STEP = re.compile(r"""\.([A-Za-z_][A-Za-z0-9_-]*) | \[("(?:[^"\\]|\\.)*")\] | \[(\d+)\] | (\[\*\])""", re.VERBOSE)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def parse(text: str) -> Path:
    """Parse a path.

    Args:
        text: `$.messages[*].id`, `$["odd name"][0]`.

    Raises:
        UsageError: It does not start with `$`, or a step is none of the four forms.
    """
    if not text.startswith("$"):
        raise UsageError(f"JSON path {text!r} must start with $, as in $.messages[*].id")
    steps: list[str | int | None] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if not found:
            raise UsageError(f'JSON path {text!r} is wrong at {text[at:]!r}: use .name, ["name"], [n] or [*]')
        name, quoted, index, _ = found.groups()
        steps.append(name if name is not None else json.loads(quoted) if quoted else int(index) if index else None)
        at = found.end()
    return tuple(steps)


def show(path: Path) -> str:
    """Write a path: `$.messages[0].content`; names that are no plain words are quoted."""
    return "$" + "".join(_show_step(step) for step in path)


def _show_step(step: str | int | None) -> str:
    if step is None:
        return "[*]"
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _PLAIN.fullmatch(step) else f"[{json.dumps(step)}]"

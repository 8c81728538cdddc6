"""The vectors of an answer that holds no words: how many there are, and how wide they are."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any

from onetake.jsonpath import Path, show
from onetake.printable import counted
from onetake.probing.findings import Finding, Kind, Severity
from onetake.probing.heard import Heard

_NAME = "embedding"
"""Every API has it in a name that vectors lie under."""
_SHORTEST = 16
"""Characters of base64 that are no word."""
_NUMBERS = {int, float}


def vector_findings(recorded: Heard, live: Heard) -> Iterator[Finding]:
    """Say that vectors are more or fewer, or of another width: one request always brings as many, and as wide ones."""
    was, now = _widths(recorded), _widths(live)
    for path, widths in was.items():
        others = now.get(path, [] if not now else widths)
        if len(widths) != len(others):
            yield _finding(path, counted(len(widths), "vector"), counted(len(others), "vector"))
        elif _units(widths) == _units(others) and set(others) - set(widths):
            yield _finding(path, _joined(widths), _joined(others))


def _widths(heard: Heard) -> dict[Path, list[tuple[int, str]]]:
    """Return (width, unit) of each vector, by its path without the numbers of items."""
    found: dict[Path, list[tuple[int, str]]] = {}
    is_wordless = heard.reading.answer is not None and not heard.choices
    waiting: list[tuple[Path, Any]] = [((), heard.document())] if is_wordless else []
    while waiting:
        path, value = waiting.pop()
        width = _width(value) if any(isinstance(step, str) and _NAME in step.lower() for step in path) else None
        if width:
            found.setdefault(path, []).append(width)
        elif isinstance(value, dict):
            waiting += [((*path, name), item) for name, item in value.items()]
        elif isinstance(value, list):
            waiting += [((*path, None), item) for item in value]
    return found


def _width(value: Any) -> tuple[int, str] | None:
    if isinstance(value, list) and value and set(map(type, value)) <= _NUMBERS:
        return len(value), "number"
    if isinstance(value, str) and len(value) >= _SHORTEST:
        try:
            return len(base64.b64decode(value, validate=True)), "byte"
        except ValueError:
            return None
    return None


def _finding(path: Path, recorded: str, live: str) -> Finding:
    return Finding("", show(path), Severity.ERROR, Kind.TYPE, recorded, live)


def _units(widths: Iterable[tuple[int, str]]) -> set[str]:
    return {unit for _, unit in widths}


def _joined(widths: Iterable[tuple[int, str]]) -> str:
    return " or ".join(counted(*width) for width in sorted(set(widths)))

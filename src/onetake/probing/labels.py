"""Labels: the values of an answer that a project declares to be its meaning; of all others only the shape counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from onetake.compare.likeness import same
from onetake.jsonpath import Path


def at(value: Any, path: Path) -> list[Any]:
    """Return the values at a path, in order; none where it leads nowhere."""
    return list(_at(value, path))


def equal(one: list[Any], other: list[Any]) -> bool:
    """Tell whether two answers are labelled alike.

    As canonical JSON: `1` = `1.0`, the order of names does not count; white space around a text does not either.

    Args:
        one: What `at` found in one of them.
        other: What it found in the other.
    """
    return same(_stripped(one), _stripped(other))


def _at(value: Any, path: Path) -> Iterator[Any]:
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if step is None:
        inner = value if isinstance(value, list) else []
    elif isinstance(step, int):
        inner = value[step : step + 1] if isinstance(value, list) else []
    else:
        inner = [value[step]] if isinstance(value, Mapping) and step in value else []
    for item in inner:
        yield from _at(item, rest)


def _stripped(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [_stripped(item) for item in value]
    return {name: _stripped(item) for name, item in value.items()} if isinstance(value, dict) else value

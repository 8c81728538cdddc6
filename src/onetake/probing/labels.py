"""Labels: the values of an answer that a project declares to be its meaning; of all others only the shape counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onetake.compare.likeness import same
from onetake.jsonpath import Path


def at(value: Any, path: Path) -> list[Any]:
    """Return what is at a path, with its place.

    Returns:
        The only value; nothing where the path leads nowhere. Of `[*]` a list with one such list for each item, up to
        the last item that has a value: `$[*].label` of two items, the second of which alone has one, is `[[], ["a"]]`.
    """
    if not path:
        return [value]
    step, rest = path[0], path[1:]
    if step is None:
        found = [at(item, rest) for item in value] if isinstance(value, list) else []
        while found and not found[-1]:
            found.pop()
        return found
    if isinstance(step, int):
        inner = value[step : step + 1] if isinstance(value, list) else []
    else:
        inner = [value[step]] if isinstance(value, Mapping) and step in value else []
    return at(inner[0], rest) if inner else []


def shown(found: list[Any], path: Path) -> Any:
    """Return what `at` found as people read it: the value, of `[*]` a list of them; null where there is none."""
    if None in path:
        rest = path[path.index(None) + 1 :]
        return [shown(inner, rest) for inner in found] or None
    return found[0] if found else None


def equal(one: list[Any], other: list[Any]) -> bool:
    """Tell whether two answers are labelled alike.

    As canonical JSON: `1` = `1.0`, the order of names does not count; white space around a text does not either.

    Args:
        one: What `at` found in one of them.
        other: What it found in the other.
    """
    return same(_stripped(one), _stripped(other))


def _stripped(value: Any) -> Any:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [_stripped(item) for item in value]
    return {name: _stripped(item) for name, item in value.items()} if isinstance(value, dict) else value

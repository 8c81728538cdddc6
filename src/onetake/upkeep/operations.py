"""The exact difference of two requests: what to do to one to get the other, and to others like it.

A request is looked at as a tree of plain data: `method`, `origin`, `path`, `query` and `headers` by name, and `body` as
`Keyer.parts` gives it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from onetake.compare.likeness import same
from onetake.jsonpath import show
from onetake.printable import one_line
from onetake.upkeep.rewording import NoFitError, pieces, reworded

Path = tuple[str | int | None, ...]
"""Names and places; None stands for every item of an array."""

_DEEP = 64
"""Levels of nesting that are walked; what lies deeper is one value."""
_LONG = 40_000
"""Characters of a text in which single words are looked for; a longer one is changed in one piece."""
_SHOWN = 240
_NOTHING: Any = object()


class Kind(StrEnum):
    """What an operation does."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    TEXT = "text"
    """Replaces a piece of a text."""
    ITEMS = "items"
    """Replaces neighbours in an array by others."""
    ORDER = "order"
    """Puts the items of an array into another order."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One step from a stored request to the one that is asked.

    Args:
        kind: What it does.
        path: Where.
        old: What is there before, as canonical JSON; empty where nothing is.
        new: What is there after it.
        at: For items, where in the array.
    """

    kind: Kind
    path: Path
    old: str = ""
    new: str = ""
    at: int = 0

    @property
    def place(self) -> str:
        """Where it is, as `onetake diff` writes it: `body$.messages[0].content`."""
        match self.path:
            case ("body", "json", *steps):
                return "body" + show(tuple(step if isinstance(step, str | int) else None for step in steps))
            case ("query" | "headers" as part, str(name)):
                return f"{'url.' if part == 'query' else ''}{part}.{name}"
            case (str(name),) if name in ("origin", "path"):
                return f"url.{name}"
        return ".".join(map(str, self.path))

    def __str__(self) -> str:
        """Say it in one printable line; long values are cut."""
        old, new, place = (one_line(text, _SHOWN) for text in (self.old, self.new, self.place))
        match self.kind:
            case Kind.ADDED:
                return f"{place}: added {new}"
            case Kind.REMOVED:
                return f"{place}: removed {old}"
            case Kind.ORDER:
                return f"{place}: only the order differs"
            case Kind.ITEMS:
                what = " and ".join(filter(None, [f"removed {old}" * (old != "[]"), f"added {new}" * (new != "[]")]))
                return f"{place}, from item {self.at}: {what}"
        return f"{place}: {old} is now {new}"


Operations = tuple[Operation, ...]


def tree_of(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tree of a keyed request.

    Args:
        parts: What `Keyer.parts` makes of it.
    """
    named = {part: _by_name(parts.get(part) or ()) for part in ("query", "headers")}
    return {**parts, **named}


def operations(old: Any, new: Any) -> Operations:
    """Return the steps from one tree to another; none where they are equal."""
    return tuple(_steps((), old, new))


def widened(found: Operations) -> Operations:
    """Return operations for every item of an array where they name one; the same ones where they name none."""
    return tuple(dict.fromkeys(replace(one, path=tuple(map(_any_item, one.path))) for one in found))


def applied(found: Operations, tree: Any) -> Any:
    """Return a tree after operations; the given one stays as it is.

    Raises:
        NoFitError: One of them does not fit it.
    """
    for one in found:
        tree, count = _apply(tree, one.path, one)
        if not count:
            raise NoFitError
    return tree


def signature(tree: Any) -> str:
    """Return a text that is equal for equal trees."""
    return _json(tree)


def _any_item(step: str | int | None) -> str | None:
    return None if isinstance(step, int) else step


def _by_name(pairs: Sequence[Sequence[Any]]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for name, *value in pairs:
        found.setdefault(name, []).append(value[0] if value else None)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _steps(path: Path, old: Any, new: Any) -> Iterator[Operation]:
    if same(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict) and len(path) < _DEEP:
        for name in {**old, **new}:
            yield from _member((*path, name), old.get(name, _NOTHING), new.get(name, _NOTHING))
    elif isinstance(old, list) and isinstance(new, list) and len(path) < _DEEP:
        yield from _items(path, old, new)
    elif type(old) is str and type(new) is str:
        yield from _texts(path, old, new)
    else:
        yield Operation(Kind.CHANGED, path, _json(old), _json(new))


def _member(path: Path, old: Any, new: Any) -> Iterator[Operation]:
    if old is _NOTHING:
        yield Operation(Kind.ADDED, path, "", _json(new))
    elif new is _NOTHING:
        yield Operation(Kind.REMOVED, path, _json(old), "")
    else:
        yield from _steps(path, old, new)


def _items(path: Path, old: list[Any], new: list[Any]) -> Iterator[Operation]:
    if sorted(map(_json, old)) == sorted(map(_json, new)):
        yield Operation(Kind.ORDER, path, _json(old), _json(new))
        return
    if len(old) == len(new):
        for at, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _steps((*path, at), before, after)
        return
    start = 0
    while start < min(len(old), len(new)) and same(old[start], new[start]):
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and same(old[-1 - end], new[-1 - end]):
        end += 1
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    yield Operation(Kind.ITEMS, path, _json(gone), _json(come), start)


def _texts(path: Path, old: str, new: str) -> Iterator[Operation]:
    is_prose = max(len(old), len(new)) <= _LONG and bool(re.search(r"\s", old) and re.search(r"\s", new))
    changes = list(pieces(old, new)) if is_prose else []
    found = tuple(Operation(Kind.TEXT, path, _json(before), _json(after)) for before, after in changes)
    try:
        if found and reworded(old, changes) == new:
            yield from found
            return
    except NoFitError:
        pass
    yield Operation(Kind.CHANGED, path, _json(old), _json(new))


def _apply(tree: Any, path: Path, one: Operation) -> tuple[Any, int]:
    """Return a copy of a tree with one operation done, and how often it was."""
    if not path:
        return _changed(tree, one), 1
    step, rest = path[0], path[1:]
    if step is None and isinstance(tree, list):
        return _apply_to_items(tree, rest, one)
    if isinstance(step, int) and isinstance(tree, list) and step < len(tree):
        inner, count = _apply(tree[step], rest, one)
        return [*tree[:step], inner, *tree[step + 1 :]], count
    if not isinstance(step, str) or not isinstance(tree, dict):
        raise NoFitError
    if rest or one.kind not in (Kind.ADDED, Kind.REMOVED):
        if step not in tree:
            raise NoFitError
        inner, count = _apply(tree[step], rest, one)
        return {**tree, step: inner}, count
    if one.kind is Kind.ADDED and step not in tree:
        return {**tree, step: json.loads(one.new)}, 1
    if one.kind is Kind.REMOVED and step in tree and _json(tree[step]) == one.old:
        return {name: value for name, value in tree.items() if name != step}, 1
    raise NoFitError


def _apply_to_items(items: list[Any], rest: Path, one: Operation) -> tuple[Any, int]:
    total, found = 0, []
    for item in items:
        try:
            inner, count = _apply(item, rest, one)
        except NoFitError:
            inner, count = item, 0
        total += count
        found.append(inner)
    return found, total


def _changed(value: Any, one: Operation) -> Any:
    old, new = json.loads(one.old), json.loads(one.new)
    match one.kind:
        case Kind.TEXT if type(value) is str:
            return reworded(value, [(old, new)])
        case Kind.ITEMS if isinstance(value, list) and _json(value[one.at : one.at + len(old)]) == one.old:
            return [*value[: one.at], *new, *value[one.at + len(old) :]]
        case Kind.CHANGED | Kind.ORDER if _json(value) == one.old:
            return new
    raise NoFitError


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

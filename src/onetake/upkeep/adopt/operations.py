"""The exact difference of two requests: what makes one of the other, and what of that can be done to a third.

A request is looked at as a tree of plain data: `method`, `origin`, `path`, `query` and `headers` by name, and `body` as
`Keyer.parts` gives it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from onetake.compare.likeness import same
from onetake.dialects.fields import Field, field
from onetake.jsonpath import show
from onetake.printable import one_line
from onetake.upkeep.adopt.rewording import NoFitError, pieces, reworded

Path = tuple[str | int, ...]
"""Names, and indices of items."""

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
    """Replaces a piece of a text of the prompt."""
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
                return "body" + show(tuple(steps))
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
    """Return the steps from one tree to another; none where they are equal.

    Args:
        old: The one, as `tree_of` makes it, or any part of it.
        new: The other.
    """
    return tuple(_steps((), old, new))


def whole(found: Operations, old: Any, new: Any) -> Operations:
    """Return the steps from one tree to another with each text that is changed in pieces changed as a whole.

    Args:
        found: What `operations` returned for the two.
        old: The one tree.
        new: The other.
    """
    texts = dict.fromkeys(one.path for one in found if one.kind is Kind.TEXT)
    values = ((path, _json(value_at(old, path)), _json(value_at(new, path))) for path in texts)
    changed = (Operation(Kind.CHANGED, path, was, now) for path, was, now in values)
    return (*(one for one in found if one.kind is not Kind.TEXT), *changed)


def value_at(tree: Any, path: Path) -> Any:
    """Return what stands at a place of a tree; None where nothing does.

    Args:
        tree: It.
        path: The place.
    """
    try:
        for step in path:
            tree = tree[step]
    except (LookupError, TypeError):
        return None
    return tree


def applied(found: Operations, tree: Any) -> Any:
    """Return a tree after operations that add a member, change a value or reword a text; the given one stays as it is.

    Args:
        found: The operations.
        tree: What they are done to.

    Raises:
        NoFitError: One of them does not fit it, or does something else.
    """
    for one in found:
        tree = _apply(tree, one.path, one)
    return tree


def signature(tree: Any) -> str:
    """Return a text that is equal for equal trees."""
    return _json(tree)


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
    is_prompt = path[:2] == ("body", "json") and field(path[2:]) is Field.PROMPT
    is_prose = is_prompt and max(len(old), len(new)) <= _LONG and all(re.search(r"\s", text) for text in (old, new))
    changes = list(pieces(old, new)) if is_prose else []
    found = tuple(Operation(Kind.TEXT, path, _json(before), _json(after)) for before, after in changes)
    try:
        if found and reworded(old, changes) == new:
            yield from found
            return
    except NoFitError:
        pass
    yield Operation(Kind.CHANGED, path, _json(old), _json(new))


def _apply(tree: Any, path: Path, one: Operation) -> Any:
    """Return a copy of a tree with one operation done."""
    if not path:
        return _changed(tree, one)
    step, rest = path[0], path[1:]
    if isinstance(step, int) and isinstance(tree, list) and step < len(tree):
        return [*tree[:step], _apply(tree[step], rest, one), *tree[step + 1 :]]
    if not isinstance(step, str) or not isinstance(tree, dict):
        raise NoFitError
    if not rest and one.kind is Kind.ADDED and step not in tree:
        return {**tree, step: json.loads(one.new)}
    if step not in tree or (not rest and one.kind is Kind.ADDED):
        raise NoFitError
    return {**tree, step: _apply(tree[step], rest, one)}


def _changed(value: Any, one: Operation) -> Any:
    if one.kind is Kind.TEXT and type(value) is str:
        return reworded(value, [(json.loads(one.old), json.loads(one.new))])
    if one.kind is Kind.CHANGED and _json(value) == one.old:
        return json.loads(one.new)
    raise NoFitError


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

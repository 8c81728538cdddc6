"""Say how two requests, or two JSON values, differ: by path, with short excerpts, without drowning in what moved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from onetake import strictjson
from onetake.compare.alignment import common_places
from onetake.compare.likeness import apart, same
from onetake.format.forms import LONG_ARRAY
from onetake.jsonpath import show
from onetake.printable import excerpt, one_line

_DEEP = 64
"""Levels of nesting that are walked; what lies deeper is compared as one value."""
_WIDTH = 120
"""Characters of a value that is shown whole."""
_ELSEWHERE = 1e6
"""Another method or path is farther than any other text."""
_MODEL = 64
"""What another model weighs beside its letters: less than a line of prompt."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where what was asked differs from what is stored.

    Args:
        path: `method`, `url.path`, `url.query.api-version`, `headers.anthropic-beta`, `body$.messages[3].content`; a
            `$` further on enters JSON inside a string. Items are counted as asked, removed ones as stored.
        kind: `changed`, `added` (asked only), `removed` (stored only) or `order` (same members).
        asked: Printable excerpt, empty where it is not there.
        stored: Printable excerpt, empty where it is not there.
    """

    path: str
    kind: str
    asked: str
    stored: str


def differences(asked: Mapping[str, Any], stored: Mapping[str, Any], limit: int = 50) -> list[Difference]:
    """List how two requests differ.

    Numbers are equal by value (`1` = `1.0`), `true` is not `1`; names of headers and query are compared as names.

    Args:
        asked: What `Keyer.parts` makes of the request.
        stored: The same of the stored request.
        limit: Longest list, 1 or more.

    Returns:
        Method and URL first, then headers, then the body in its own order; empty if they are equal.
    """
    return list(islice(_request(asked, stored), limit))


def value_differences(a: Any, b: Any, limit: int = 50) -> list[Difference]:
    """List how two JSON values differ: `asked` is of *a*, `stored` of *b*, paths start at `$`."""
    return list(islice(_values("$", a, b, 0), limit))


def distance(asked: Mapping[str, Any], stored: Mapping[str, Any]) -> float:
    """Estimate how far a stored request is from the one asked, to choose the nearest; about 1 ms at most.

    Args:
        asked: What `Keyer.parts` makes of the request.
        stored: The same of the stored request.

    Returns:
        0 if and only if they are equal, else about the number of characters that differ; another method or path is
        farther than any other text, another model a little farther than another word.
    """
    far = sum(_ELSEWHERE for part in ("method", "path") if asked.get(part) != stored.get(part))
    try:
        far += sum(apart(asked.get(part), stored.get(part)) for part in ("origin", "query", "headers", "body"))
    except RecursionError:
        return far + _ELSEWHERE / 2
    far += _MODEL if _model(asked) != _model(stored) else 0
    return far if far or same(asked, stored) else 0.5


def _model(parts: Mapping[str, Any]) -> Any:
    body = (parts.get("body") or {}).get("json")
    return body.get("model") if isinstance(body, dict) else None


def _request(asked: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[Difference]:
    for part, path in (("method", "method"), ("origin", "url.origin"), ("path", "url.path")):
        yield from _values(path, asked.get(part), stored.get(part), 0)
    yield from _named("url.query.", asked.get("query") or [], stored.get("query") or [])
    yield from _named("headers.", asked.get("headers") or [], stored.get("headers") or [])
    yield from _bodies(asked.get("body") or {}, stored.get("body") or {})


def _bodies(asked: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[Difference]:
    if asked.get("kind") != stored.get("kind"):
        yield Difference("body.kind", "changed", _text(asked.get("kind")), _text(stored.get("kind")))
        return
    for part in {**asked, **stored}:
        if part == "pairs":
            yield from _named("body.", asked.get(part) or [], stored.get(part) or [])
        else:
            yield from _values("body$" if part == "json" else f"body.{part}", asked.get(part), stored.get(part), 0)


def _named(path: str, asked: Sequence[Sequence[Any]], stored: Sequence[Sequence[Any]]) -> Iterator[Difference]:
    """Compare pairs of name and value; a name that is repeated holds the list of its values."""
    yield from _objects(path, _by_name(asked), _by_name(stored), 0, lambda name: one_line(name, 80))


def _by_name(pairs: Sequence[Sequence[Any]]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for name, *value in pairs:
        found.setdefault(name, []).append(value[0] if value else None)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _values(path: str, a: Any, b: Any, depth: int) -> Iterator[Difference]:
    if isinstance(a, dict) and isinstance(b, dict) and depth < _DEEP:
        yield from _objects(path, a, b, depth, lambda name: show((name,))[1:])
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and depth < _DEEP:
        yield from _arrays(path, a, b, depth)
    elif type(a) is str and type(b) is str:
        if a != b:
            yield from _strings(path, a, b, depth)
    elif not same(a, b):
        yield Difference(path, "changed", _text(a), _text(b))


def _objects(
    path: str, a: dict[str, Any], b: dict[str, Any], depth: int, step: Callable[[str], str]
) -> Iterator[Difference]:
    for name in {**a, **b}:
        here = path + step(name)
        if name not in b:
            yield Difference(here, "added", _text(a[name]), "")
        elif name not in a:
            yield Difference(here, "removed", "", _text(b[name]))
        else:
            yield from _values(here, a[name], b[name], depth + 1)


def _arrays(path: str, a: Sequence[Any], b: Sequence[Any], depth: int) -> Iterator[Difference]:
    first, second = [_token(item) for item in a], [_token(item) for item in b]
    if first == second:
        return
    if sorted(first) == sorted(second):
        start = next(i for i, (x, y) in enumerate(zip(first, second, strict=True)) if x != y)
        yield Difference(path, "order", _labels(a[start:]), _labels(b[start:]))
        return
    if max(len(a), len(b)) > LONG_ARRAY and all(map(_is_number, (*a, *b))):
        yield from _numbers(path, a, b)
        return
    for i, j in _pairs(a, b, common_places(first, second)):
        if j is None:
            yield Difference(f"{path}[{i}]", "added", _text(a[i]), "")
        elif i is None:
            yield Difference(f"{path}[{j}]", "removed", "", _text(b[j]))
        else:
            yield from _values(f"{path}[{i}]", a[i], b[j], depth + 1)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) or (isinstance(value, str) and type(value) is not str)


def _numbers(path: str, a: Sequence[Any], b: Sequence[Any]) -> Iterator[Difference]:
    """Compare what an entry keeps beside itself (an embedding): one difference, whatever its length."""
    if len(a) != len(b):
        yield Difference(path, "changed", f"{len(a)} numbers", f"{len(b)} numbers")
        return
    places = [i for i, (x, y) in enumerate(zip(a, b, strict=True)) if not same(x, y)]
    if places:
        count = "all" if len(places) == len(a) else str(len(places))
        head = f"{len(a)} numbers, {count} differ{'s' * (count == '1')}: "
        yield Difference(path, "changed", *(head + _labels([side[i] for i in places]) for side in (a, b)))


def _pairs(a: Sequence[Any], b: Sequence[Any], common: list[tuple[int, int]]) -> Iterator[tuple[Any, Any]]:
    """Yield who is compared with whom between the items that two arrays share; None where there is nobody."""
    at, there = 0, 0
    for i, j in [*common, (len(a), len(b))]:
        paired = min(i - at, j - there)
        from_a, from_b = 0, 0
        if i - at != j - there and _ends_fit_better(a[at:i], b[there:j], paired):
            from_a, from_b = i - at - paired, j - there - paired
        yield from ((k, None) for k in range(at, at + from_a))
        yield from ((None, k) for k in range(there, there + from_b))
        yield from ((at + from_a + k, there + from_b + k) for k in range(paired))
        yield from ((k, None) for k in range(at + from_a + paired, i))
        yield from ((None, k) for k in range(there + from_b + paired, j))
        at, there = i + 1, j + 1


def _ends_fit_better(a: Sequence[Any], b: Sequence[Any], paired: int) -> bool:
    if not paired:
        return False
    few = min(paired, 8)
    return apart(a[len(a) - few :], b[len(b) - few :]) < apart(a[:few], b[:few])


def _strings(path: str, a: str, b: str, depth: int) -> Iterator[Difference]:
    inside = _inner(path, a, b, depth)
    first = next(inside, None)
    if first is None:
        first = Difference(path, "changed", *(f'"{text}"' for text in excerpt(a, b)))
    yield first
    yield from inside


def _inner(path: str, a: str, b: str, depth: int) -> Iterator[Difference]:
    """Compare JSON inside strings (a tool call's arguments); nothing where one is no object or array."""
    if a[:1] not in ("{", "[") or b[:1] not in ("{", "["):
        return
    try:
        first, second = strictjson.loads(a), strictjson.loads(b)
    except strictjson.NotStrictError:
        return
    yield from _values(path + "$", first, second, depth + 1)


def _token(value: Any) -> str:
    """Return text that is equal only for equal values; of values that JSON cannot write, for the same object only."""
    try:
        return json.dumps(value, sort_keys=True, default=repr)
    except (ValueError, TypeError, RecursionError):
        return f"#{id(value)}"


def _text(value: Any) -> str:
    if type(value) is str:
        return f'"{one_line(value, _WIDTH)}"'
    try:
        value = strictjson.finite(value)
        if isinstance(value, str):  # a number that is held as its text
            return one_line(value, _WIDTH)
        return one_line(json.dumps(value, ensure_ascii=False, default=str), _WIDTH)
    except (ValueError, TypeError, RecursionError):  # integers over 4,300 digits, nesting over the interpreter's limit
        return f"({type(value).__name__}, too large to show)"


def _labels(items: Sequence[Any]) -> str:
    shown = ", ".join(_label(item) for item in items[:12])
    return one_line(shown + (", …" if len(items) > 12 else ""), _WIDTH)


def _label(item: Any) -> str:
    """Return what a reader calls an item: a tool's name, an id, else the start of the value."""
    if isinstance(item, dict):
        inner = item.get("function")
        for name in (item.get("name"), inner.get("name") if isinstance(inner, dict) else None, item.get("id")):
            if isinstance(name, str):
                return one_line(name, 40)
    return one_line(item, 40) if isinstance(item, str) else one_line(_text(item), 40)

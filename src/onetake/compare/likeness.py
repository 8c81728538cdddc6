"""Tell whether two JSON values are equal, and how far apart they are where they are not, at a bounded cost."""

from __future__ import annotations

from typing import Any

from onetake.printable import shared_prefix, shared_suffix

_SCALAR = 8
"""What a number, a word or a member weighs at least, in characters."""
_VISITS = 200
"""Values that one comparison looks into; beyond, values are only equal or not. About 1 ms."""
_MOVES = 20
"""Items of an array that are looked for elsewhere in the other one."""
_WORDS = (bool, str)
"""True equals 1, and an exact number that is held as its text equals that text, in Python but not in JSON."""


def same(a: Any, b: Any) -> bool:
    """Tell whether two JSON values are equal: `1` = `1.0`, `true` is not `1`. Any depth."""
    pairs = [(a, b)]
    while pairs:
        x, y = pairs.pop()
        if x is y:
            continue
        if isinstance(x, dict) and isinstance(y, dict):
            if x.keys() != y.keys():
                return False
            pairs.extend((value, y[name]) for name, value in x.items())
        elif isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
            if len(x) != len(y):
                return False
            pairs.extend(zip(x, y, strict=True))
        elif x != y or (type(x) is not type(y) and (isinstance(x, _WORDS) or isinstance(y, _WORDS))):
            return False
    return True


def apart(a: Any, b: Any) -> float:
    """Estimate how many characters tell two JSON values apart.

    Returns:
        0 for equal values (here `true` and `1` count as equal); a long text with a short change is near, whatever its
        length, and so is an array with an item put in between.

    Raises:
        RecursionError: The values nest deeper than the interpreter compares.
    """
    return _apart(a, b, [_VISITS])


def _apart(a: Any, b: Any, left: list[int]) -> float:
    left[0] -= 1
    if isinstance(a, str) and isinstance(b, str):
        return 0 if a == b else max(_SCALAR, _apart_in_text(a, b))
    if left[0] > 0 and isinstance(a, dict) and isinstance(b, dict):
        changed = sum(_apart(value, b[name], left) for name, value in a.items() if name in b)
        return changed + sum(_size(value) for x, y in ((a, b), (b, a)) for name, value in x.items() if name not in y)
    if left[0] > 0 and isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return _apart_in_arrays(list(a), list(b), left)
    return 0 if a == b else max(_size(a), _size(b))


def _apart_in_text(a: str, b: str) -> int:
    start = shared_prefix(a, b)
    return max(len(a), len(b)) - start - shared_suffix(a[start:], b[start:])


def _apart_in_arrays(a: list[Any], b: list[Any], left: list[int]) -> float:
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    a, b = a[start:], b[start:]
    while a and b and a[-1] == b[-1]:
        a.pop()
        b.pop()
    moved = 0
    for item in a[:_MOVES]:
        if item in b[:_MOVES]:
            a.remove(item)
            b.remove(item)
            moved += 1
    changed, paired = 0.0, 0
    for x, y in zip(a, b, strict=False):
        if left[0] <= 0:
            break
        changed += _apart(x, y, left)
        paired += 1
    return moved + changed + _size(a[paired:]) + _size(b[paired:])


def _size(value: Any) -> int:
    """Estimate the characters of a value from the first 100 values in it."""
    total, waiting = 0, [value]
    for _ in range(100):
        if not waiting:
            break
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, (list, tuple)):
            waiting.extend(item)
        else:
            total += max(_SCALAR, len(item)) if isinstance(item, str) else _SCALAR
    return total + _SCALAR * len(waiting)

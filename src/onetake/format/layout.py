"""The printer of entry files: JSON for the eyes of a reviewer and for line diffs.

Two-space indent; a container that fits `WIDTH` columns, or holds only numbers, is one line. What the eye cannot see is
written as an escape, all other text as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

from onetake.errors import FormatError
from onetake.strictjson import one_line_writer

WIDTH = 100
"""Columns (code points) that one line may take, its indent and its comma included."""


def print_tree(tree: Mapping[str, Any]) -> str:
    """Return the tree as strict JSON text with a final LF.

    Args:
        tree: Mappings with string keys, lists or tuples, str, int, finite float, bool and None.

    Raises:
        FormatError: A value is none of these, or nested too deep.
    """
    try:
        return _print(tree, "", 0) + "\n"
    except RecursionError:
        raise FormatError("nested too deep for an entry") from None


def quote(text: str) -> str:
    """Return the text as a JSON string in which nothing invisible, and nothing that turns the line, stays raw."""
    return _seen(encode_basestring(text))


def _seen(written: str) -> str:
    """Escape the unseen in JSON text; it stands nowhere but in strings."""
    if written.isascii() and "\x7f" not in written:
        return written
    return _UNSEEN.sub(lambda match: encode_basestring_ascii(match[0])[1:-1], written)


def _print(value: Any, indent: str, used: int) -> str:
    """Print a value; *used* columns of its first line are taken already."""
    if type(value) is str:
        return quote(value)
    if not _is_container(value):
        return _leaf(value)
    # Most containers are far too long for a line, which is told without printing them.
    free = WIDTH - used
    left = _left(value, free)
    if left is None or _only_numbers(value):
        return _one_line(value)
    if left >= 0 and _needs(line := _one_line(value), value) <= free:
        return line
    inner = indent + "  "
    if _is_mapping(value):
        heads = [_name(key) + ": " for key in value]
        members = [
            inner + head + (quote(member) if type(member) is str else _print(member, inner, len(inner) + len(head) + 1))
            for head, member in zip(heads, value.values(), strict=True)
        ]
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    return "[\n" + ",\n".join([inner + _print(member, inner, len(inner) + 1) for member in value]) + f"\n{indent}]"


def _left(value: Any, free: int) -> int | None:
    """Return how many columns are left behind the last leaf at most; None where there is no leaf.

    Args:
        value: A container.
        free: The columns where it begins.
    """
    left, is_mapping = None, _is_mapping(value)
    for member in value:
        if is_mapping:
            free -= len(_name(member)) + 2
            member = value[member]
        free -= 2  # a comma with its blank, or both brackets
        if type(member) is str:
            free = left = free - len(member) - 2
        elif not _is_container(member):
            free = left = free - 1
        elif (after := _left(member, free)) is not None:
            free = left = after
        if left is not None and left < 0:
            break
    return left


def _one_line(value: Any) -> str:
    try:
        return _seen(_write(value))
    except ValueError as error:
        raise FormatError(f"no JSON value: {error}") from None


def _needs(line: str, value: Any) -> int:
    """Return the columns up to the end of the last leaf, with all brackets that close after it.

    Args:
        line: The value on one line.
        value: A container with a leaf in it.
    """
    return len(_one_line(_cut(value))) if _EMPTY_AT_END.search(line) else len(line)


def _cut(value: Any) -> Any:
    """Return a container without what stands behind its last leaf."""
    items = list(value.items()) if _is_mapping(value) else list(enumerate(value))
    while items:
        name, last = items[-1]
        last = _cut(last) if _is_container(last) else last
        if last not in ([], {}):
            items[-1] = name, last
            break
        items.pop()
    return dict(items) if _is_mapping(value) else [item for _, item in items]


def _leaf(value: Any) -> str:
    if isinstance(value, str):
        return quote(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float) and math.isfinite(value):
        return float.__repr__(value)
    raise FormatError(f"{value!r} is no JSON value")


@lru_cache(maxsize=1024)  # the same names in every entry
def _name(key: Any) -> str:
    if not isinstance(key, str):
        raise FormatError(f"the key {key!r} of an object is no string")
    return quote(key)


def _is_mapping(value: Any) -> bool:
    return type(value) is dict or (type(value) is not list and isinstance(value, Mapping))


def _is_container(value: Any) -> bool:
    kind = type(value)
    return kind is dict or kind is list or (kind not in _LEAVES and isinstance(value, _CONTAINERS))


def _only_numbers(value: Any) -> bool:
    if not value or not isinstance(value, list | tuple) or type(value[0]) not in _NUMBERS:
        return False
    return _NUMBERS.issuperset(map(type, value))


def _as_dict(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise FormatError(f"{value!r} is no JSON value")


_CONTAINERS = (dict, list, tuple, Mapping)
_NUMBERS = frozenset((int, float))
_LEAVES = frozenset((str, int, float, bool, type(None)))
"""Asked before `isinstance`, which takes long to tell that a value is no `Mapping`."""
_EMPTY_AT_END = re.compile(r"(?:\[\]|\{\})[\]}]*$")
_write = one_line_writer(_as_dict, ascii_only=False, item=", ", colon=": ")
_UNSEEN = re.compile(
    # Controls, line and paragraph separators, lone surrogates, noncharacters.
    "[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff"
    # Source: Unicode 15, Default_Ignorable_Code_Point: soft hyphen, joiners, bidi controls, fillers, variation
    # selectors, byte order mark, tags.
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

"""The printer of entry files: JSON for the eyes of a reviewer and for line diffs.

Two-space indent; a container that fits `WIDTH` columns, or holds only numbers, is one line. What the eye cannot see is
written as an escape, all other text as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

from onetake.errors import FormatError

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
        return _print(_measure(tree), "", 0) + "\n"
    except RecursionError:
        raise FormatError("nested too deep for an entry") from None


def quote(text: str) -> str:
    """Return the text as a JSON string in which nothing invisible, and nothing that turns the line, stays raw."""
    quoted = encode_basestring(text)
    if quoted.isascii() and "\x7f" not in quoted:
        return quoted
    return _UNSEEN.sub(lambda match: encode_basestring_ascii(match[0])[1:-1], quoted)


@dataclass(slots=True)  # not frozen, which takes three times as long to make
class _Measured:
    """A container, its leaves printed, and how long it would be on one line."""

    opening: str
    closing: str
    heads: list[str]
    """What stands before each member: its name, in an object."""
    members: list[str | _Measured]
    length: int
    needs: int
    """Columns up to the end of its last leaf, with all brackets that close after it; 0 where it holds no leaf."""
    only_numbers: bool


def _measure(value: Any) -> str | _Measured:
    """Print the leaves, once each, and measure what they stand in, from the inside out."""
    if type(value) is str:
        return quote(value)
    if type(value) is not dict and type(value) is not list and not isinstance(value, _CONTAINERS):
        return _leaf(value)
    if isinstance(value, Mapping):
        opening, closing, heads = "{", "}", [_name(key) + ": " for key in value]
        members = [_measure(member) for member in value.values()]
    else:
        opening, closing, heads = "[", "]", [""] * len(value)
        members = [_measure(member) for member in value]
    length = needs = 0
    for head, member in zip(heads, members, strict=True):
        length += len(head) + 2  # and a comma with its blank, or both brackets
        if isinstance(member, str):
            needs = length = length + len(member)
        else:
            needs = length + member.needs if member.needs else needs
            length += member.length
    return _Measured(opening, closing, heads, members, length or 2, needs, _only_numbers(value))


def _print(value: str | _Measured, indent: str, used: int) -> str:
    """Print what was measured; *used* columns of its first line are taken already."""
    if isinstance(value, str):
        return value
    if value.only_numbers or not value.needs or value.needs <= WIDTH - used:
        return _flat(value)
    inner = indent + "  "
    lines = [
        inner + head + _print(member, inner, len(inner) + len(head) + 1)
        for head, member in zip(value.heads, value.members, strict=True)
    ]
    return f"{value.opening}\n" + ",\n".join(lines) + f"\n{indent}{value.closing}"


def _flat(value: str | _Measured) -> str:
    if isinstance(value, str):
        return value
    parts = [head + _flat(member) for head, member in zip(value.heads, value.members, strict=True)]
    return value.opening + ", ".join(parts) + value.closing


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


def _only_numbers(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(type(item) in (int, float) for item in value)


_CONTAINERS = (dict, list, tuple, Mapping)
_UNSEEN = re.compile(
    # Controls, line and paragraph separators, lone surrogates, noncharacters.
    "[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff"
    # Source: Unicode 15, Default_Ignorable_Code_Point: soft hyphen, joiners, bidi controls, fillers, variation
    # selectors, byte order mark, tags.
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

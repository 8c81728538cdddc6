"""The printer of entry files: JSON for the eyes of a reviewer and for line diffs.

Two-space indent; a container that fits `WIDTH` columns, or holds only numbers, is one line. What the eye cannot see is
written as an escape, all other text as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
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
        return _print(tree, "", 0) + "\n"
    except RecursionError:
        raise FormatError("nested too deep for an entry") from None


def quote(text: str) -> str:
    """Return the text as a JSON string in which nothing invisible, and nothing that turns the line, stays raw."""
    quoted = encode_basestring(text)
    if quoted.isascii() and "\x7f" not in quoted:
        return quoted
    return _UNSEEN.sub(lambda match: encode_basestring_ascii(match[0])[1:-1], quoted)


def _print(value: Any, indent: str, used: int) -> str:
    """Print *value*; *used* columns of its first line are taken already."""
    if isinstance(value, str) or not isinstance(value, _CONTAINERS):
        return _leaf(value)
    if _only_numbers(value):
        return "[" + ", ".join(map(_leaf, value)) + "]"
    flat = _flat(value, WIDTH - used)
    if flat is not None:
        return flat
    inner = indent + "  "
    if isinstance(value, Mapping):
        heads = [inner + _name(key) + ": " for key in value]
        lines = [
            head + _print(member, inner, len(head) + 1) for head, member in zip(heads, value.values(), strict=True)
        ]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + _print(member, inner, len(inner) + 1) for member in value) + f"\n{indent}]"


def _flat(value: Any, room: int) -> str | None:
    """Return *value* on one line, None where that takes more than *room* columns."""
    if isinstance(value, str) or not isinstance(value, _CONTAINERS):
        text = "" if isinstance(value, str) and len(value) >= room else _leaf(value)
        return text if text and len(text) <= room else None
    if isinstance(value, Mapping):
        opening, closing, heads = "{", "}", [_name(key) + ": " for key in value]
        members = list(value.values())
    else:
        opening, closing, heads, members = "[", "]", [""] * len(value), list(value)
    parts: list[str] = []
    for head, member in zip(heads, members, strict=True):
        room -= len(head) + 2
        part = _flat(member, room)
        if part is None:
            return None
        room -= len(part)
        parts.append(head + part)
    return opening + ", ".join(parts) + closing


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

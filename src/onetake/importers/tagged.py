"""What a file says in words of Python's, as plain data: no object is ever built of it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onetake.errors import FormatError

_TAG = "tag:yaml.org,2002:"
_PYTHON = f"{_TAG}python/"
_OBJECTS = ("object", "name", "module")
"""What PyYAML would import something for."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """A Python object that a file names: what it says of it."""

    value: Any


def of_tag(tag: str, value: Any) -> Any:
    """Return the value of a node that has an explicit tag.

    Args:
        tag: Whole: `tag:yaml.org,2002:binary`.
        value: What stands behind it: text, a list or a mapping.

    Returns:
        Bytes for what is binary, a `Tagged` for a Python object, else the value as it stands there.

    Raises:
        FormatError: It is said to be base64 and is none.
    """
    if tag in (f"{_TAG}binary", f"{_PYTHON}bytes") and isinstance(value, str):
        return _bytes(value)
    if tag.startswith(_PYTHON) and tag[len(_PYTHON) :].partition(":")[0].partition("/")[0] in _OBJECTS:
        return Tagged(value)
    return value


def plain(value: Any) -> Any:
    """Return a value in which every Python object is what it says: its arguments, its state or its fields.

    Args:
        value: Of a file: nested at most as deep as its reader lets pass.

    Returns:
        Text for a string's subclass, the list for a set, the content for a `BytesIO`, the mapping for anything else.
    """
    if isinstance(value, Tagged):
        return plain(_said(value.value))
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return value


def names_objects(value: Any) -> bool:
    """Tell whether a value names a Python object anywhere, in the name of a mapping's member too."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, Tagged | TaggedName):
            return True
        todo += one if isinstance(one, list) else [*one, *one.values()] if isinstance(one, dict) else ()
    return False


class TaggedName(str):
    """The name of a mapping's member that the file says is a Python object."""

    __slots__ = ()


def name_of(value: Any) -> str:
    """Return what names a member of a mapping, as text."""
    said = plain(value)
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said if isinstance(said, str) else str(said)
    return TaggedName(text) if isinstance(value, Tagged) else text


def _said(value: Any) -> Any:
    """Return what a Python object is made of."""
    if isinstance(value, Mapping):
        known = next((value[name] for name in ("args", "state", "listitems") if name in value), None)
        return value if known is None else _said(known)
    if isinstance(value, list) and value and (len(value) == 1 or isinstance(value[0], str | bytes)):
        return value[0]  # the argument; of a BytesIO, its content before its position
    return value


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text)  # as PyYAML reads it: what is no base64 does not count
    except (binascii.Error, ValueError) as error:
        raise FormatError(f"what is said to be binary is no base64: {error}") from None

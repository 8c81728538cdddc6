"""The bytes of an entry file to plain JSON data; what is damaged is named, with its remedy."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from onetake.errors import FormatError
from onetake.format.sidecar import LFS_POINTER, REMEDY
from onetake.printable import one_line
from onetake.strictjson import one_value_reader

LARGEST = 64 * 1024 * 1024
"""Bytes that the file of an entry may take."""


def parse_entry(data: bytes) -> dict[str, Any]:
    """Parse the file of an entry.

    Raises:
        FormatError: Too large, torn, not UTF-8, not strict JSON, no object, merge conflict markers, a Git-LFS pointer,
            a repeated key, nested too deep; says what mends it.
    """
    if len(data) > LARGEST:
        raise FormatError(f"{len(data)} bytes are more than an entry may take ({LARGEST}): {REMEDY}")
    try:
        tree = _read(data.removeprefix(b"\xef\xbb\xbf").decode())
    except RecursionError:
        raise FormatError(f"nested too deep: {REMEDY}") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start}: save it as UTF-8, or {REMEDY}") from None
    except ValueError as error:
        raise FormatError(_explain(data, error)) from None
    if type(tree) is not dict:
        raise FormatError(f"is no entry: it must be one JSON object; {REMEDY}")
    return tree


def _explain(data: bytes, error: ValueError) -> str:
    marker = _CONFLICT.search(data)
    if marker is not None:
        line = data.count(b"\n", 0, marker.start()) + 1
        return f"merge conflict markers (line {line}): keep one side whole, or record the entry again"
    if data.startswith(LFS_POINTER):
        return "a Git-LFS pointer, not the entry itself: `git lfs pull` fetches it"
    if isinstance(error, json.JSONDecodeError) and not data[error.pos :].strip():
        return f"torn: the file ends in the middle (line {error.lineno}); {REMEDY}"
    if not data.rstrip().endswith(b"}"):
        return f"torn: the file does not end as an entry does; {REMEDY}"
    return f"not strict JSON: {error}; {REMEDY}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # A merge that keeps both sides leaves valid JSON with a key twice; all readers would drop one in silence.
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        name = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {one_line(name, 40)!r} stands twice in one object, as after a bad merge")
    return found


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):  # a body has it as its text, and no other writer knows how to spell it
        raise ValueError(f"{text[:40]} is more than a number here can be")
    return value


_read = one_value_reader(json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant))
_CONFLICT = re.compile(rb"^(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)

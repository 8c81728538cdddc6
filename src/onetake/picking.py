"""Take values of one type out of JSON whose shape nobody promises; what is something else counts as absent."""

from __future__ import annotations

import json
from typing import Any

from onetake import strictjson

_LONGEST_KEPT = 1 << 20
_MOST = 1 << 53
_last: tuple[tuple[bytes, dict[str, Any]], ...] = ()
"""The two bodies that were parsed last, a request's and its response's, and what is in them: of one body the model, the
tools and the answer are asked for."""


def document(data: bytes | str) -> dict[str, Any]:
    """Parse a JSON object; empty where *data* is no strict JSON or no object. The caller only reads it."""
    for body, found in _last:
        if data is body:
            return found
    try:
        found = mapping(strictjson.loads(data))
    except strictjson.NotStrictError:
        found = {}
    if isinstance(data, bytes):
        remember(data, found)
    return found


def remember(data: bytes, found: dict[str, Any]) -> None:
    """Let `document` give what a body holds without parsing it.

    Args:
        data: The body.
        found: What strict JSON reads in it; nobody changes it any more.
    """
    global _last  # set whole, so that every thread finds pairs that belong together
    if len(data) <= _LONGEST_KEPT:
        _last = (data, found), *_last[:1]


def value_or_text(text: str) -> Any:
    """Parse a JSON value; the text as it came where it is no strict JSON."""
    try:
        return strictjson.loads(text)
    except strictjson.NotStrictError:
        return text


def mapping(value: Any) -> dict[str, Any]:
    """Return an object, empty for anything else."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    """Return the objects of an array, none for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return a string, empty for anything else."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """Return an integer, None for anything else: true is none, and no number of tokens is beyond 2 to the 53rd."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MOST else None


def error_text(error: Any) -> str | None:
    """Return what an error value says: its `message`, else the value itself as text; None where there is none."""
    if not error:
        return None
    said = error if isinstance(error, str) else text(mapping(error).get("message"))
    return said or json.dumps(error)

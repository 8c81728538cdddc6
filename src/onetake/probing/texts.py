"""The JSON that a model wrote as text, plain or as the one block of code of its answer."""

from __future__ import annotations

import re
from typing import Any

from onetake import strictjson
from onetake.probing.heard import NOTHING

_OPENED = re.compile(r"(`{3,}|~{3,})[^`\n]*\n")


def said_json(text: str | None, *, is_held: bool) -> Any:
    """Return the JSON value that a text is, `NOTHING` for one that is prose.

    Args:
        text: What a choice says. A Markdown fence around the whole of it does not count.
        is_held: Whether something judges it as JSON; else only objects and arrays count, as `42` may be prose.
    """
    if text is None:
        return NOTHING
    inside = _unfenced(text)
    text = text if inside is None else inside
    if not (is_held or text.lstrip()[:1] in ("{", "[")):
        return NOTHING
    try:
        return strictjson.loads(text)
    except strictjson.NotStrictError:
        return NOTHING


def is_fenced(text: str | None) -> bool:
    """Tell whether a text is one Markdown fence, and nothing beside it."""
    return text is not None and _unfenced(text) is not None


def _unfenced(text: str) -> str | None:
    """Return what stands between the two lines of a fence; None for a text that is no fence.

    Source: CommonMark 0.31, section 4.5.
    """
    body = text.strip()
    opened = _OPENED.match(body)
    if opened is None:
        return None
    inside, _, last = body[opened.end() :].rpartition("\n")
    mark = opened[1]
    return inside if last.strip().startswith(mark) and not last.strip().strip(mark[0]) else None

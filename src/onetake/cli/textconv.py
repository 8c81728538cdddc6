"""An entry as git compares it: of what lies beside it only the name counts, as git hands over one file alone."""

from __future__ import annotations

import json
from typing import Any

from onetake.errors import FormatError
from onetake.format import load_entry
from onetake.format.sidecar import REMEDY
from onetake.model import Entry


def entry_alone(data: bytes) -> Entry:
    """Read an entry without its sidecars: where one would stand, there is its name and its size.

    Args:
        data: The file. One side of a diff is a copy that has nothing beside it, so neither side is read with more.

    Raises:
        FormatError: It is no entry, or damaged.
    """
    try:
        tree = json.loads(data)
        parts = [tree[name] for name in ("answer", "request", "response") if name in tree]
    except (ValueError, TypeError, RecursionError):
        raise FormatError(f"is no JSON: {REMEDY}") from None
    for part in parts:
        body = part.get("body") if isinstance(part, dict) else None
        if isinstance(body, dict) and (named := _named(body)):
            part["body"] = {"$text": named}
        _name(part)
    return load_entry(json.dumps(tree).encode(), lambda name: None)


def _name(part: Any) -> None:
    """Put the names of sidecars where they are referred to, in place."""
    members = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for place, member in list(members):
        if place == "$literal" and isinstance(member, dict):  # what looks like a form in there is none
            for each in member.values():
                _name([each] if not isinstance(each, (dict, list)) else each)
        elif isinstance(member, dict) and (named := _named(member)):
            part[place] = named
        else:
            _name(member)


def _named(form: dict[str, Any]) -> str:
    """Return the name and the size of the sidecar that a form refers to; empty where it is no such form."""
    raw = form.get("$raw")
    if not isinstance(raw, dict) or not {"sha256", "ext", "bytes"} <= raw.keys():
        return ""
    return f"_raw/{raw['sha256']}.{raw['ext']}, {raw['bytes']} bytes"

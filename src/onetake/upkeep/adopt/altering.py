"""Do to a request, as it is stored, what operations do to its tree: to its JSON body, in the body's own style."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from onetake.model import Headers, Request
from onetake.upkeep.adopt.operations import Operations, applied
from onetake.upkeep.adopt.rewording import NoFitError


def altered(request: Request, found: Operations) -> Request:
    """Return a request after operations on it.

    Args:
        request: As it is stored.
        found: What to do to its JSON body; nothing else can be done.

    Returns:
        The request; whether it has the tree that the operations make is the caller's to verify: numbers may be spelled
        otherwise.

    Raises:
        NoFitError: It cannot be done.
    """
    if any(one.path[:2] != ("body", "json") for one in found):
        raise NoFitError
    body = _with_body(request.body, tuple(replace(one, path=one.path[2:]) for one in found))
    return replace(request, headers=_restated(request.headers, len(body)), body=body)


def _with_body(body: bytes, found: Operations) -> bytes:
    try:
        after = applied(found, json.loads(body))
        spaced = re.search(rb'"\s*:(\s?)', body)
        separators = (", ", ": ") if spaced and spaced[1] else (",", ":")
        text = json.dumps(after, separators=separators, ensure_ascii=b"\\u" in body, allow_nan=False)
        return text.encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        raise NoFitError from None


def _restated(headers: Headers, length: int) -> Headers:
    return tuple((name, str(length) if name.lower() == "content-length" else value) for name, value in headers)

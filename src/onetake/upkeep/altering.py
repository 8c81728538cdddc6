"""Do to a request, as it is stored, what operations do to its tree: a body, headers and a query, byte for byte."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote_plus

from onetake.model import Headers, Request
from onetake.upkeep.operations import Operation, Operations, applied
from onetake.upkeep.rewording import NoFitError


def altered(request: Request, found: Operations, tree: dict[str, Any]) -> Request:
    """Return a request after operations on it.

    Args:
        request: As it is stored.
        found: What to do to its JSON body, its headers and its query; nothing else can be done.
        tree: What the request's tree is to be afterwards.

    Returns:
        The request; whether it has that tree is the caller's to verify: numbers may be spelled otherwise.

    Raises:
        NoFitError: It cannot be done.
    """
    in_body = tuple(replace(one, path=one.path[2:]) for one in found if one.path[:2] == ("body", "json"))
    headers, url = request.headers, request.url
    for one in found:
        match one.path:
            case ("body", "json", *_):
                pass
            case ("headers", str(name)):
                headers = _with_header(headers, name, _values(tree, one))
            case ("query", str(name)):
                url = _with_query(url, name, _values(tree, one))
            case _:
                raise NoFitError
    body = _with_body(request.body, in_body) if in_body else request.body
    return replace(request, url=url, headers=_restated(headers, len(body)), body=body)


def _with_body(body: bytes, found: Operations) -> bytes:
    try:
        value = json.loads(body)
        after = applied(found, value)
        spaced = re.search(rb'"\s*:(\s?)', body)
        separators = (", ", ": ") if spaced and spaced[1] else (",", ":")
        text = json.dumps(after, separators=separators, ensure_ascii=b"\\u" in body, allow_nan=False)
        return text.encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        raise NoFitError from None


def _values(tree: dict[str, Any], one: Operation) -> list[Any]:
    """Return all values that a name has afterwards."""
    part, name = one.path
    value = tree[part].get(name, [])  # type: ignore[index]
    return value if isinstance(value, list) else [value]


def _with_header(headers: Headers, name: str, values: list[Any]) -> Headers:
    kept = tuple(pair for pair in headers if pair[0].lower() != name.lower())
    return (*kept, *((name, str(value)) for value in values))


def _with_query(url: str, name: str, values: list[Any]) -> str:
    front, _, query = url.partition("?")
    kept = [pair for pair in query.split("&") if pair and unquote_plus(pair.partition("=")[0]) != name]
    kept += [quote(name) if value is None else f"{quote(name)}={quote(str(value))}" for value in values]
    return front + ("?" + "&".join(kept) if kept else "")


def _restated(headers: Headers, length: int) -> Headers:
    return tuple((name, str(length) if name.lower() == "content-length" else value) for name, value in headers)

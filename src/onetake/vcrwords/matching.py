"""vcrpy's matchers: what `match_on` compares of two requests, the built-in ones and a project's own.

Source: vcrpy 9.4, `vcr.matchers`, by what it does. A matcher says no by a false value or by an `AssertionError`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from onetake.by_url import DEFAULT as DEFAULT
from onetake.by_url import compared
from onetake.vcrwords.requests import VcrRequest

Matcher = Callable[[Any, Any], Any]
Compare = Callable[[VcrRequest, VcrRequest], bool]

BODIES = frozenset({"body", "raw_body"})
"""The built-in matchers that compare what is asked."""


def _body(request: VcrRequest) -> Any:
    """Return a body as it is compared: JSON and forms by what they say."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = bytes(request.body or b"")
    try:
        if kind.endswith("json"):
            return json.loads(body) if body else None
        if kind == "application/x-www-form-urlencoded":
            return sorted(parse_qsl(body.decode()))
    except ValueError:
        return body
    return body


def _of_url(name: str) -> Callable[[VcrRequest], Any]:
    return lambda request: compared(request.uri)[name]


_PARTS: Mapping[str, Callable[[VcrRequest], Any]] = {
    "method": lambda request: request.method,
    **{name: _of_url(name) for name in ("uri", "url", "scheme", "host", "port", "path", "query")},
    "headers": lambda request: {name.lower(): value for name, value in request.headers.items()},
    "raw_body": lambda request: bytes(request.body or b""),
    "body": _body,
}


def compare_all(names: Iterable[str], own: Mapping[str, Matcher]) -> Compare:
    """Return what tells whether two requests match by all of some matchers.

    Args:
        names: As in `match_on`.
        own: The project's; they go before built-in ones of the same name.

    Raises:
        KeyError: A name is no matcher's.
    """
    return compare_with([own[name] if name in own else built_in(name) for name in names])


def compare_with(matchers: Sequence[Matcher]) -> Compare:
    """Return what tells whether two requests, the asked and the stored one, match by all of some matchers."""

    def matches(asked: VcrRequest, stored: VcrRequest) -> bool:
        return all(_says_yes(matcher, asked, stored) for matcher in matchers)

    return matches


def built_in(name: str) -> Matcher:
    """Return the matcher of vcrpy's that has a name.

    Raises:
        KeyError: None has it.
    """
    part = _PARTS[name]
    return lambda one, other: part(one) == part(other)


def is_known(name: str, own: Mapping[str, Matcher]) -> bool:
    """Tell whether a name is a matcher's."""
    return name in own or name in _PARTS


def _says_yes(matcher: Matcher, asked: VcrRequest, stored: VcrRequest) -> bool:
    try:
        said = matcher(asked, stored)
    except AssertionError:
        return False
    return said is None or bool(said)

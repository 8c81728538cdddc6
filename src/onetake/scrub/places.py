"""Where the strings of a JSON text are, and in which of them names make a secret. Nothing is dumped again.

The tree is walked in the order of the text, so the n-th string or number of the walk is the n-th in the text: an edit
finds its place there, and all the rest keeps its spelling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

from onetake.jsonpath import Path, show
from onetake.scrub.finder import json_view
from onetake.scrub.shapes import (
    CONTENT_NAMES,
    CREDENTIAL_HEADERS,
    HEADER_FIELDS,
    OPAQUE_NAMES,
    TOOL_ENVELOPE,
    is_credential_header,
    is_secret_name,
    plain,
)

TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*', re.DOTALL)
_FIELD = re.compile(r'"([\w-]{3,40})"\s*:\s*')
_COLON = re.compile(r"\s*:\s*")
MARKS = frozenset(("index", "output_index", "content_index", "summary_index", "item_id", "type"))
"""Fields that tell apart the parts of an answer whose deltas take turns in one stream."""
_LONGEST_NAME = 100
"""Characters of a word that is kept in mind; a longer one is no field whose name makes a secret."""
_SHORTEST_FIELD = 8
"""Characters; a shorter name of a field cannot be a secret."""


class Zone(IntEnum):
    """What a place in a body is for; decides which names count there. Integers hash without a call into Python."""

    ENVELOPE = 0
    CONTENT = 1
    """Prompts, schemas, tool arguments, answers: no name counts."""
    TOOLS = 2
    """A tool's own fields: `authorization` counts, what describes its parameters is content."""
    HEADERS = 3
    """Headers to be sent on: names of credential headers count."""


class Role(Enum):
    """What is done with a string."""

    SEARCHED = "searched"
    FIELD = "field"
    """The name of a field: searched, but never goes on in the next event."""
    SECRET = "secret"
    """Secret by its name; what lies in an object under it is not."""
    DECLARED = "declared"
    """Secret by a declared path, with all that lies under it."""
    OPAQUE = "opaque"
    """Must be echoed unchanged."""


Lane = tuple[str | int | tuple[str, str] | None, ...]
"""The path of a place, the root's `[n]` as None, with a (field, value) mark after each object that has one of `MARKS`:
what a string has in common with its continuation in the next event of a stream."""


class Place(NamedTuple):
    """One string (field names are strings too) or one secret number."""

    token: int
    """Which string or number of the text it is, from 0."""
    lane: Lane
    text: str
    role: Role

    @property
    def where(self) -> str:
        """The JSON path, `[*]` for an item of a root array."""
        return show(tuple(step for step in self.lane if not isinstance(step, tuple)))


class Number(str):
    """The spelling of a JSON number."""

    __slots__ = ()


class _Members(list[tuple[str, Any]]):
    __slots__ = ()


_PLAIN = json.JSONDecoder(object_pairs_hook=list, strict=False)
"""Reads objects as their pairs: a name that is repeated hides nothing."""
_DECODER = json.JSONDecoder(object_pairs_hook=_Members, parse_int=Number, parse_float=Number, strict=False)


def names_a_secret(text: str) -> bool:
    """Tell quickly whether a JSON text has a field that may make its value a secret; False is certain."""
    return any(_says_secret(name) or _says_headers(name) for name in set(_FIELD.findall(text)))


def holds_a_named_secret(text: str) -> bool:
    """Tell quickly whether a JSON text may hold a secret that its field's name makes one; False is certain.

    Unlike `names_a_secret` it also looks at what headers are called, as every entry has some: that may be a value.
    """
    names = _read_names(frozenset(_FIELD.findall(text)))
    if names is None:
        return True
    try:
        return any(map(_says_credential, _values_of(text, names))) if names else False
    except (ValueError, RecursionError):
        return True


@lru_cache(1024)  # the bodies of one API have few sets of fields
def _read_names(names: frozenset[str]) -> tuple[str, ...] | None:
    """Return which fields hold headers; None where one of the names makes its value a secret."""
    return None if any(map(_says_secret, names)) else tuple(filter(_says_headers, names))


@lru_cache(4096)
def _says_secret(name: str) -> bool:
    return is_secret_name(name)


@lru_cache(4096)
def _says_headers(name: str) -> bool:
    return plain(name) in HEADER_FIELDS


def _values_of(text: str, names: Iterable[str]) -> Iterator[Any]:
    """Yield what the fields of these names hold; of those that lie within each other the outermost."""
    for name in names:
        field = f'"{name}"'
        at = text.find(field)
        while at >= 0:
            end = at + len(field)
            if colon := _COLON.match(text, end):
                value, end = _PLAIN.raw_decode(text, colon.end())
                yield value
            at = text.find(field, end)


def _says_credential(value: Any) -> bool:
    """Tell whether a field's name or a string in JSON data is what a credential may be called.

    Args:
        value: As `_PLAIN` reads it.
    """
    if isinstance(value, str):
        return _is_called_so(value) if len(value) <= _LONGEST_NAME else is_credential_header(value)
    return isinstance(value, list | tuple) and any(map(_says_credential, value))


@lru_cache(4096)
def _is_called_so(word: str) -> bool:
    return is_credential_header(word) or is_secret_name(word)


def places(
    text: str, declared: Sequence[Path] = (), *, arguments_are_envelope: bool = False, fields: bool = True
) -> list[Place]:
    """List the strings of a JSON text, in its order.

    Args:
        text: JSON; NaN, duplicate names and raw control characters are let through.
        declared: Paths whose values are secret.
        arguments_are_envelope: True for a decorated function's request, whose arguments are the program's own.
        fields: Whether the names of fields are listed too.

    Raises:
        ValueError: The text is not JSON, or nested too deep.
    """
    walk = _Walk(declared, arguments_are_envelope, fields)
    try:
        root = _DECODER.decode(text)
        if isinstance(root, list) and not isinstance(root, _Members):
            for index, item in enumerate(root):
                walk.root_index = index
                walk.value(item, (None,), Zone.ENVELOPE, Role.SEARCHED)
        else:
            walk.value(root, (), Zone.ENVELOPE, Role.SEARCHED)
    except RecursionError:
        raise ValueError("nested too deep") from None
    return walk.found


def token_spans(text: str) -> list[tuple[int, int]]:
    """Return where the strings (without their quotes) and numbers of a JSON text are."""
    found = (match.span() for match in TOKEN.finditer(text))
    return [(start + 1, end - 1) if text[start] == '"' else (start, end) for start, end in found]


def offsets(text: str, start: int, end: int) -> Sequence[int]:
    """Map the characters of the string that `text[start:end]` spells to places in *text*, with one more for the end."""
    return [start + origin for origin in json_view(text[start:end]).origin]


class _Walk:
    def __init__(self, declared: Sequence[Path], arguments_are_envelope: bool, fields: bool) -> None:
        self.found: list[Place] = []
        self.root_index = 0
        self._declared = declared
        self._arguments_are_envelope = arguments_are_envelope
        self._fields = fields
        self._token = 0

    def value(self, node: Any, lane: Lane, zone: Zone, role: Role) -> None:
        if self._declared and self._is_declared(lane):
            role = Role.DECLARED
        if isinstance(node, str):
            if role is not Role.SEARCHED or not isinstance(node, Number):
                self.found.append(Place(self._token, lane, node, role))
            self._token += 1
        elif isinstance(node, _Members):
            self._members(node, lane, zone, Role.SEARCHED if role is Role.SECRET else role)
        elif isinstance(node, list):
            pair = zone is Zone.HEADERS and len(node) == 2 and isinstance(node[0], str) and _is_credential(node[0])
            for index, item in enumerate(node):
                inner = Role.SECRET if pair and index == 1 and isinstance(item, str) else role
                self.value(item, (*lane, index), zone, inner)

    def _members(self, node: _Members, lane: Lane, zone: Zone, role: Role) -> None:
        lane += tuple([member for member in node if member[0] in MARKS and isinstance(member[1], str)])
        titled = zone is Zone.HEADERS and any(
            plain(name) in ("name", "key") and isinstance(value, str) and is_credential_header(value)
            for name, value in node
        )
        for name, value in node:
            here = (*lane, name)
            if self._fields and len(name) >= _SHORTEST_FIELD:
                self.found.append(Place(self._token, (*here, ("", str(self._token))), name, Role.FIELD))
            self._token += 1
            inner, named = _step(zone, name, titled)
            if self._arguments_are_envelope and here == ("arguments",):
                inner = Zone.ENVELOPE
            self.value(value, here, inner, named if role is Role.SEARCHED else role)

    def _is_declared(self, lane: Lane) -> bool:
        path = [self.root_index if step is None else step for step in lane if not isinstance(step, tuple)]
        return any(
            len(path) == len(rule) and all(_fits(step, at) for step, at in zip(rule, path, strict=True))
            for rule in self._declared
        )


def _fits(step: str | int | None, at: str | int) -> bool:
    return isinstance(at, int) if step is None else step == at


def _is_credential(header: str) -> bool:
    return header.lower() in CREDENTIAL_HEADERS


@lru_cache(4096)
def _step(zone: Zone, name: str, titled: bool) -> tuple[Zone, Role]:
    """Tell what a field's value is, and what its name says of it."""
    word = plain(name)
    if word in OPAQUE_NAMES:
        return zone, Role.OPAQUE
    if zone is Zone.CONTENT:
        return zone, Role.SEARCHED
    named = is_secret_name(name) or (zone is Zone.HEADERS and is_credential_header(name))
    role = Role.SECRET if named or (titled and word == "value") else Role.SEARCHED
    if zone is Zone.ENVELOPE and word in CONTENT_NAMES:
        return Zone.CONTENT, role
    if word in HEADER_FIELDS:
        return Zone.HEADERS, role
    if zone is Zone.TOOLS:
        return Zone.ENVELOPE if word in TOOL_ENVELOPE else Zone.CONTENT, role
    return Zone.TOOLS if word == "tools" else zone, role

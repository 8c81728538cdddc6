"""The `$`-forms inside JSON trees: how an entry shows a payload so that a person can read it and no byte is lost.

{"$lines": ["a", "b"]}                         a string that holds LF
{"style": "compact", "$json": {…}}             a string that is a JSON object or array
{"$raw": {…}, "prefix": "data:…;base64,"}      a long base64 string; its decoded bytes are a sidecar
{"$raw": {…}}                                  a long array of numbers; its exact JSON text is a sidecar
{"$number": "1.10"}                            a number that Python would spell otherwise
{"$literal": {…}}                              an object of the payload with a key that looks like one of these
"""

from __future__ import annotations

import binascii
import json
import math
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onetake.errors import FormatError
from onetake.format.jsonstyle import Spelled, Style, find_style, parse_number, style
from onetake.format.sidecar import Side, ext_of, put_aside, take_back
from onetake.printable import one_line

LONG_STRING = 2048
"""Characters up to which base64 stays in the entry."""
LONG_ARRAY = 64
"""Numbers up to which an array stays in the entry."""
DEEPEST = 100
"""Containers within each other, up to which JSON is shown as a tree; deeper, it is text. Far under every limit of
Python's, so that what was written in one program can be read in another."""


class TooDeepError(ValueError):
    """A tree is nested deeper than `DEEPEST`."""


def fold(tree: Any, spelling: Style, sides: dict[str, bytes], room: int = DEEPEST) -> Any:
    """Return the tree with forms in place of what they show better.

    Args:
        tree: Parsed JSON; its numbers may be `Spelled`.
        spelling: The style that the tree is spelled in.
        sides: Takes the sidecars, by name.
        room: Containers that may lie within each other.

    Raises:
        TooDeepError: *room* is not enough.
    """
    return _Folding(spelling, sides, room).value(tree, 0)


def fold_json(data: bytes, sides: dict[str, bytes], room: int = DEEPEST) -> dict[str, Any] | None:
    """Return the `$json` form of a JSON object or array, None where no style gives back exactly these bytes."""
    found = fold_json_told(data, sides, room)
    return found[0] if found else None


def fold_json_told(data: bytes, sides: dict[str, bytes], room: int = DEEPEST) -> tuple[dict[str, Any], bool] | None:
    """Return what `fold_json` does, and whether its tree is the parsed JSON itself.

    Then the style, which was tried on that tree, has proved already that the form gives back the bytes.
    """
    found = find_style(data)
    if found is None:
        return None
    own: dict[str, bytes] = {}
    try:
        tree = fold(found[1], found[0], own, room)
    except TooDeepError:
        return None
    sides.update(own)
    return {"style": found[0].name, "$json": tree}, tree == found[1]


def fold_text(text: str, sides: dict[str, bytes]) -> Any:
    """Return the form of a string that is not to be shown as JSON; the string itself where it needs none."""
    if len(text) > LONG_STRING and (aside := _fold_base64(text, sides)):
        return aside
    return {"$lines": text.split("\n")} if "\n" in text else text


def unfold(value: Any, side: Side, *, values: bool = False) -> Any:
    """Return what `fold` was given. Containers are changed in place: the tree must be the caller's own.

    Args:
        value: A tree of a file, parsed: untrusted.
        side: Where sidecars are.
        values: Numbers and arrays as Python values; else, ready to be spelled again, some are `Spelled`.

    Raises:
        FormatError: A form is malformed, or a sidecar missing or damaged.
    """
    if type(value) is dict:
        return _read_form(value, side, values) if not _OURS.isdisjoint(value) else _members(value, side, values)
    if type(value) is list:
        return _items(value, side, values)
    return value


def read_json(form: dict[str, Any], side: Side) -> bytes:
    """Return the bytes that a `$json` form stands for."""
    return read_json_told(form, side)[0]


def read_json_told(form: dict[str, Any], side: Side) -> tuple[bytes, Any]:
    """Return the bytes that a `$json` form stands for, and what JSON's reader reads in them, None where unknown."""
    if type(form["style"]) is not str:
        raise FormatError("the style of $json must be a string")
    tree = unfold(form["$json"], side)
    data, is_plain = style(form["style"]).spell_told(tree)
    return data, tree if is_plain else None


def read_lines(form: dict[str, Any]) -> str:
    """Return the text that a `$lines` form stands for."""
    lines = form["$lines"]
    if type(lines) is not list or not _STRINGS.issuperset(map(type, lines)):
        raise FormatError("$lines must be a list of strings")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Folding:
    """One JSON text being folded: levels count from its root, as its spelling depends on them."""

    spelling: Style
    sides: dict[str, bytes]
    room: int

    def value(self, value: Any, level: int) -> Any:
        kind = type(value)
        if kind is str:
            return self._string(value, level)
        if kind is Spelled:
            return {"$number": value.text}
        if kind is float and not math.isfinite(value):
            return {"$number": "1e999" if value > 0 else "-1e999"}
        if kind is not dict and kind is not list:
            return value
        if level >= self.room:
            raise TooDeepError
        return self._object(value, level) if kind is dict else self._array(value, level)

    def _object(self, value: dict[str, Any], level: int) -> dict[str, Any]:
        members = {key: self.value(member, level + 1) for key, member in value.items()}
        return members if _OURS.isdisjoint(value) else {"$literal": members}

    def _array(self, value: list[Any], level: int) -> Any:
        if len(value) > LONG_ARRAY and all(map(_is_number, value)):
            text = self.spelling.spell_part(value, level)
            return {"$raw": put_aside(text.encode(), "json", self.sides)}
        return [self.value(member, level + 1) for member in value]

    def _string(self, text: str, level: int) -> Any:
        if text[:1] in _OPENING and text not in ("{}", "[]"):
            form = fold_json(text.encode("utf-8", "surrogatepass"), self.sides, self.room - level - 1)
            if form is not None:
                return form
        return fold_text(text, self.sides)


def _is_number(value: Any) -> bool:
    kind = type(value)
    return kind is int or kind is Spelled or (kind is float and math.isfinite(value))


def _fold_base64(text: str, sides: dict[str, bytes]) -> dict[str, Any] | None:
    match = _BASE64.fullmatch(text)
    if match is None:
        return None
    prefix, plain, url = match.groups()
    try:
        data = _from_base64(plain or url, url is not None)
    except ValueError:
        return None
    if _to_base64(data, url is not None) != (plain or url):
        return None
    raw = put_aside(data, ext_of(data, (prefix or "").removeprefix("data:")), sides)
    return {"$raw": raw, "prefix": prefix or ""} | ({"alphabet": "url"} if url else {})


def _from_base64(text: str, url: bool) -> bytes:
    return binascii.a2b_base64(text.translate(_FROM_URL) if url else text, strict_mode=True)


def _to_base64(data: bytes, url: bool) -> str:
    return (urlsafe_b64encode(data) if url else binascii.b2a_base64(data, newline=False)).decode()


def _members(value: dict[str, Any], side: Side, values: bool) -> dict[str, Any]:
    # Replay walks every stored tree through these two: they look at leaves without a call.
    for key, member in value.items():
        if type(member) is dict:
            if not _OURS.isdisjoint(member):
                value[key] = _read_form(member, side, values)
            else:
                _members(member, side, values)
        elif type(member) is list:
            _items(member, side, values)
    return value


def _items(value: list[Any], side: Side, values: bool) -> list[Any]:
    for index, member in enumerate(value):
        if type(member) is dict:
            if not _OURS.isdisjoint(member):
                value[index] = _read_form(member, side, values)
            else:
                _members(member, side, values)
        elif type(member) is list:
            _items(member, side, values)
    return value


def _read_form(form: dict[str, Any], side: Side, values: bool) -> Any:
    reader = _READERS.get(frozenset(form))
    if reader is None:
        raise FormatError(f"no form has exactly the keys {one_line(', '.join(sorted(form)), 100)}")
    return reader(form, side, values)


def _read_literal(form: dict[str, Any], side: Side, values: bool) -> Any:
    members = form["$literal"]
    if type(members) is not dict:
        raise FormatError("$literal must be an object")
    return _members(members, side, values)


def _read_number(form: dict[str, Any], side: Side, values: bool) -> Any:
    text = form["$number"]
    if type(text) is not str or not _NUMBER.fullmatch(text):
        raise FormatError("$number must be the text of a JSON number")
    return parse_number(text) if values else Spelled(text)


def _read_array(form: dict[str, Any], side: Side, values: bool) -> Any:
    data = take_back(form["$raw"], side)
    try:
        return json.loads(data) if values else Spelled(data.decode("ascii"))
    except ValueError:
        raise FormatError("a $raw without prefix must hold an array of numbers") from None


def _read_base64(form: dict[str, Any], side: Side, values: bool) -> Any:
    prefix, alphabet = form["prefix"], form.get("alphabet", "")
    if type(prefix) is not str or alphabet not in ("", "url"):
        raise FormatError("beside $raw, prefix must be a string, and alphabet can only be url")
    return prefix + _to_base64(take_back(form["$raw"], side), alphabet == "url")


_READERS: dict[frozenset[str], Callable[[dict[str, Any], Side, bool], Any]] = {
    frozenset({"$lines"}): lambda form, side, values: read_lines(form),
    frozenset({"style", "$json"}): lambda form, side, values: read_json(form, side).decode(),
    frozenset({"$raw", "prefix"}): _read_base64,
    frozenset({"$raw", "prefix", "alphabet"}): _read_base64,
    frozenset({"$raw"}): _read_array,
    frozenset({"$number"}): _read_number,
    frozenset({"$literal"}): _read_literal,
}
_OURS = frozenset({"$lines", "$json", "$number", "$text", "$base64", "$raw", "$literal"})
_STRINGS = frozenset({str})
_OPENING = ("{", "[")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_BASE64 = re.compile(r"(data:[^,\n]{0,200};base64,)?(?:([A-Za-z0-9+/]+={0,2})|([A-Za-z0-9_-]+={0,2}))")
_FROM_URL = str.maketrans("-_", "+/")

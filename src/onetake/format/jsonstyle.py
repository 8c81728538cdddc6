"""The exact spelling of JSON text: find the style that a text is written in, and spell a tree in a style.

A style is a name of a small closed set: a layout, then flags in this order, one space between.

    compact | spaced | tab | indent-1 … indent-8     separators and line breaks
    ascii                                            everything beyond ASCII as \\uXXXX
    html | angle                                     < > & U+2028 U+2029, or only < >, as \\uXXXX
    slash                                            / as \\/
    newline                                          one LF at the end
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

from onetake.errors import FormatError
from onetake.printable import one_line
from onetake.strictjson import Number, one_line_writer


@dataclass(frozen=True, slots=True)
class Spelled:
    """JSON text that stands in a tree as it is: a number that Python would spell otherwise, or an array of numbers."""

    text: str


def spelled(tree: Any) -> Any:
    """Return a tree in which numbers stand as they were written, and those beyond every float as JSON has them."""
    if isinstance(tree, Mapping):
        return {name: spelled(member) for name, member in tree.items()}
    if isinstance(tree, list):
        return [spelled(member) for member in tree]
    if isinstance(tree, Number):
        return Spelled(tree.text)
    if isinstance(tree, float) and math.isinf(tree):
        return Spelled("1e999" if tree > 0 else "-1e999")
    return tree


class _HoldsSpelled(Exception):
    """Tells that the C encoder met a `Spelled`."""


@dataclass(frozen=True, slots=True)
class Style:
    """One way to write JSON; made by `style`."""

    name: str
    unit: str
    """What one level is indented by; empty where all is one line."""
    write: Callable[[Any, str], str]
    fast: Callable[[Any], str] | None
    """The C encoder, for one-line layouts; raises `_HoldsSpelled`."""
    swaps: tuple[tuple[str, str], ...]
    end: str

    def spell(self, tree: Any) -> bytes:
        """Return the tree as UTF-8 JSON; lone surrogates become escapes.

        Args:
            tree: dict, list, str, int, finite float, bool, None and `Spelled`, of exactly these types.
        """
        return self.spell_told(tree)[0]

    def spell_told(self, tree: Any) -> tuple[bytes, bool]:
        """Return what `spell` does, and whether a reader makes the same tree of it: False where that is not known."""
        is_plain = self.fast is not None
        try:
            text = self.fast(tree) if self.fast else self.spell_part(tree, 0)
        except _HoldsSpelled:
            text, is_plain = self.spell_part(tree, 0), False
        # These characters occur only inside strings, so the whole text may be searched.
        for char, escape in self.swaps:
            text = text.replace(char, escape)
        return (text + self.end).encode("utf-8", "backslashreplace"), is_plain

    def spell_part(self, value: Any, level: int) -> str:
        """Return a value as it stands *level* containers deep, without the flags that concern strings."""
        return self.write(value, "\n" + self.unit * level if self.unit else "")


@cache
def style(name: str) -> Style:
    """Return the style of that name.

    Raises:
        FormatError: The name is none of the closed set.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        said = f"unknown style {one_line(name, 40)!r}"
        raise FormatError(f"{said}: a newer onetake may know it, or the entry was edited by hand")
    layout, ascii_only, markup, slash, newline = match.groups()
    string = encode_basestring_ascii if ascii_only else encode_basestring
    item, colon = (",", ":") if layout == "compact" else (", ", ": ")
    unit = "\t" if layout == "tab" else " " * int(layout[7:]) if layout.startswith("indent-") else ""
    fast = None if unit else one_line_writer(_meet_spelled, ascii_only=ascii_only is not None, item=item, colon=colon)
    write = _writer(string, unit, "," if unit else item, colon)
    swaps = _MARKUP[markup] + ((("/", "\\/"),) if slash else ())
    return Style(name, unit, write, fast, swaps, "\n" if newline else "")


def find_style(data: bytes) -> tuple[Style, Any] | None:
    """Return the style and the tree that give back exactly these bytes.

    Args:
        data: Bytes that may be a JSON object or array.

    Returns:
        The first style that reproduces the bytes, and the tree to spell in it (numbers that Python would change are
        `Spelled`); None where there is no such style: no strict JSON, a scalar, mixed spacing, nested too deep.
    """
    try:
        text = data.decode()
        tree = _DECODER.decode(text)
        if type(tree) is dict or type(tree) is list:
            for name in _likely(text):
                found = style(name)
                if found.spell(tree) == data:
                    return found, tree
    except (ValueError, RecursionError):
        pass
    return None


def parse_number(text: str) -> int | float:
    """Return the value of a JSON number."""
    return float(text) if any(char in text for char in ".eE") else int(text)


def _likely(text: str) -> Iterator[str]:
    """Name the styles that the text may be in, judged by what occurs in it; the first that fits is kept."""
    indented = _INDENTED.match(text)
    if indented is None:
        layouts = ["compact", "spaced"]
    else:
        layouts = ["tab" if indented[1] == "\t" else f"indent-{len(indented[1])}"]
    escapes = "\\u" in text
    ascii_only = ["", " ascii"] if escapes and text.isascii() else [""]
    markup = ["", " html", " angle"] if escapes and _MARKUP_ESCAPE.search(text) else [""]
    slash = ["", " slash"] if "\\/" in text else [""]
    end = [" newline" if text.endswith("\n") else ""]
    return map("".join, itertools.product(layouts, ascii_only, markup, slash, end))


def _writer(string: Callable[[str], str], unit: str, item: str, colon: str) -> Callable[[Any, str], str]:
    def write(value: Any, pad: str) -> str:
        kind = type(value)
        if kind is str:
            return string(value)
        if kind is dict and value:
            inner = pad + unit
            members = [
                string(key) + colon + (string(member) if type(member) is str else write(member, inner))
                for key, member in value.items()
            ]
            return "{" + inner + (item + inner).join(members) + pad + "}"
        if kind is list and value:
            inner = pad + unit
            return "[" + inner + (item + inner).join([write(member, inner) for member in value]) + pad + "]"
        return _leaf(value)

    return write


def _leaf(value: Any) -> str:
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    return value.text if type(value) is Spelled else repr(value)


def _meet_spelled(value: Any) -> Any:
    raise _HoldsSpelled


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is repeated: a tree would lose one of the two")
    return found


def _int(text: str) -> int | Spelled:
    return Spelled(text) if len(text) > _MOST_DIGITS or text == "-0" else int(text)


def _float(text: str) -> float | Spelled:
    value = float(text)
    return value if repr(value) == text else Spelled(text)


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


_MOST_DIGITS = 640
"""Source: sys.int_info.str_digits_check_threshold, the lowest limit that a Python may be given for int(text)."""
_NAME = re.compile(r"(compact|spaced|tab|indent-[1-8])( ascii)?( html| angle)?( slash)?( newline)?")
_INDENTED = re.compile(r"[{\[]\n(\t| {1,8})")
_MARKUP_ESCAPE = re.compile(r"\\u(003[ce]|0026|202[89])")
_ANGLE = (("<", "\\u003c"), (">", "\\u003e"))
_MARKUP: dict[str | None, tuple[tuple[str, str], ...]] = {
    None: (),
    # Source: Go's encoding/json and protobuf's JSON writer, as met in answers of Cohere and Google.
    " html": (*_ANGLE, ("&", "\\u0026"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029")),
    " angle": _ANGLE,
}
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_int, parse_float=_float, parse_constant=_constant)

"""The canonical JSON of the request key: one text for each value, however it was spelled.

Keys are sorted by code point, there is no white space, text is UTF-8 as it came (no Unicode normalisation), numbers are
written by their exact decimal value. This is our own recipe, not RFC 8785, which rounds numbers to doubles and sorts by
UTF-16 unit. The standard library does the work: its spelling of strings and of short numbers has not moved in any
Python 3, and golden vectors pin it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from onetake.strictjson import NotStrictError, one_line_writer, one_value_reader

MAX_DEPTH = 200
"""Arrays and objects inside each other; a deeper text is no JSON to us. It does not depend on Python's own stack."""

MAX_INTEGER_DIGITS = 40
"""An integral value of at most this many digits is written out."""

MAX_DECIMAL_DIGITS = 15
"""A non-integral value of at most this many significant digits may be written with a decimal point.

Source: IEEE 754: 15 decimal digits always survive a double, so Python's shortest spelling of it is the one we mean.
"""

_MAX_EXPONENT_DIGITS = 18
_SHORT_TEXT = 16 * 1024
_SPARSE = 200
"""Bytes for each object, from which looking at every object is cheaper than counting the quotes of the whole text."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is written `<coefficient>e<exponent>`: no Python number holds it exactly and cheaply.

    It is no `str`, so that no rule for strings touches it and the C encoder asks `default` about it.
    """

    text: str


class ExactNumber(str):
    """A number read back from canonical JSON as its text, because a float would round it."""


class _NumberFoundError(Exception):
    """A `Number` is in the value: the C encoder cannot write it."""


def loads(data: bytes) -> Any:
    """Parse strict JSON with exact numbers.

    Args:
        data: UTF-8 without a byte order mark.

    Returns:
        dict, list, str, bool, None; int up to 40 digits, float up to 15 significant digits, `Number` for all others.

    Raises:
        NotStrictError: Not UTF-8, not JSON, several documents, NaN or Infinity, a key twice in one object, over 200
            levels deep, or an exponent of over 18 digits.
    """
    return _parsed(data, _EXACT if _has_long_run(data) else _SHORT)


def rewrite(data: bytes) -> str:
    """Write the canonical JSON of a JSON text: `dumps(loads(data))`, in less time where it has many small objects.

    Args:
        data: As for `loads`.

    Raises:
        NotStrictError: As `loads` does.
    """
    plain, exact = is_plain(data), _has_long_run(data)
    begin = data[:_SHORT_TEXT]
    if begin.count(b"{") * _SPARSE > len(begin) and b'\\"' not in data:
        # To call Python for every object, to see no key repeated, takes as long as parsing it. Without such calls a
        # parser drops a repeated key in silence, but then its two quotes are missing in what is written; and all
        # quotes can be counted at once where none of them is an escaped one (`\u0022` becomes one, but is not plain).
        written = dumps(_parsed(data, _LAX_EXACT if exact else _LAX), plain)
        if written.count('"') == data.count(b'"') and (plain or '\\"' not in written):
            return written
    return dumps(_parsed(data, _EXACT if exact else _SHORT), plain)


def _parsed(data: bytes, read: Callable[[str], Any]) -> Any:
    try:
        value = read(data.decode())
        too_deep = _may_lie_deep(data) and _lies_too_deep(value)
    except ValueError as error:
        raise NotStrictError(str(error)) from None
    except RecursionError:  # it may be the caller's stack that is deep
        too_deep = is_text_too_deep(data)
        if not too_deep:
            raise
    if too_deep:
        raise NotStrictError(f"nested deeper than {MAX_DEPTH} levels")
    return value


def is_plain(data: bytes) -> bool:
    """Tell whether a JSON text is long, and all its strings are ASCII without rare control characters.

    A short one is not looked at: `dumps` would gain nothing.
    """
    return len(data) > _SHORT_TEXT and data.isascii() and b"\x7f" not in data and b"\\u" not in data


def dumps(value: Any, plain: bool = False) -> str:
    """Write the canonical JSON of a value that `loads` gave. Lone surrogates stay in the text: see `encode`.

    Args:
        value: What `loads` gave, also after the rules of a key spec.
        plain: True where `is_plain` held for its text and no rule has changed a string. What is written is the same,
            in half the time.
    """
    try:
        return (_write_plain if plain else _write)(value)
    except _NumberFoundError:
        return dumps_slowly(value)


def dumps_slowly(value: Any) -> str:
    """Write what `dumps` writes, in plain Python, which can write a `Number` too."""
    if isinstance(value, Number):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join([f"{dumps(key)}:{dumps_slowly(value[key])}" for key in sorted(value)]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([dumps_slowly(item) for item in value]) + "]"
    return _write(value)


def encode(text: str) -> bytes:
    r"""Turn canonical JSON into bytes: UTF-8, a lone surrogate as its escape in lower case (`\ud83d`).

    No other text gives that escape, because a backslash of a string is written twice.
    """
    return text.encode("utf-8", "backslashreplace")


def read_back(text: str) -> Any:
    """Parse canonical JSON as plain data; numbers in the `e` form come as `ExactNumber`."""
    return _READ_BACK.decode(text)


def number(text: str) -> int | float | Number:
    """Give the number that a JSON number means, by its exact decimal value, without expanding its exponent.

    Args:
        text: A number of the JSON grammar, of any length; the cost is linear in it.

    Returns:
        int where it is integral and has at most 40 digits; float where Python writes that float in positional notation
        and with these same digits (at most 15); else `Number`.

    Raises:
        NotStrictError: The exponent has over 18 digits.
    """
    mantissa, _, power = text.lower().partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    coefficient = digits.rstrip("0")
    if not coefficient:
        return 0
    if len(power.lstrip("+-0")) > _MAX_EXPONENT_DIGITS:
        raise NotStrictError(f"an exponent of over {_MAX_EXPONENT_DIGITS} digits")
    exponent = int(power or "0") - len(fraction) + len(digits) - len(coefficient)
    below = exponent + len(coefficient)  # the value lies under ten to this power
    if exponent >= 0 and below <= MAX_INTEGER_DIGITS:
        return int(sign + coefficient + "0" * exponent)
    short = f"{sign}{coefficient}e{exponent}"
    if exponent < 0 and len(coefficient) <= MAX_DECIMAL_DIGITS and below >= -3:
        return float(short)
    return Number(short)


def is_text_too_deep(data: bytes) -> bool:
    """Tell, without parsing, whether arrays and objects lie more than `MAX_DEPTH` levels inside each other."""
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    brackets = b"".join(unescaped.split(b'"')[::2]).translate(_BRACKETS, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):  # each round takes away the innermost pairs
        brackets = brackets.replace(b"[]", b"")
    return b"[" in brackets


def _may_lie_deep(data: bytes) -> bool:
    """Tell whether it is worth looking; counting is cheaper than looking for a short text, dearer for a long one."""
    return len(data) > _SHORT_TEXT or data.count(b"{") + data.count(b"[") > MAX_DEPTH


def _lies_too_deep(value: Any) -> bool:
    level: list[Any] = [[value]]
    depth = 0
    while level and depth <= MAX_DEPTH:
        depth += 1
        inner = [node.values() if type(node) is dict else node for node in level]
        level = [item for items in inner for item in items if type(item) in _CONTAINERS]
    return bool(level)


def _has_long_run(data: bytes) -> bool:
    """Tell whether over 40 digits stand together; such a run shows as six in a row in every sixth byte."""
    return b"000000" in data[::6].translate(_DIGITS) and _LONG_RUN in data.translate(_DIGITS)


def _float(text: str) -> int | float | Number:
    # What passes here has at most 15 digits, is not integral and not under 0.0001: Python writes its float just so.
    if len(text) <= 16 and text[-1] != "0" and "e" not in text and "E" not in text and "0.0000" not in text:
        return float(text)
    return number(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotStrictError("duplicate key")
    return found


def _constant(name: str) -> Any:
    raise NotStrictError(f"{name} is no JSON number")


def _found(value: Any) -> Any:
    raise _NumberFoundError


def _reader(**hooks: Any) -> Callable[[str], Any]:
    return one_value_reader(json.JSONDecoder(parse_float=_float, parse_constant=_constant, **hooks))


_SHORT, _LAX = _reader(object_pairs_hook=_object), _reader()
"""For a text without a long run of digits: all its plain integers have at most 40. The lax one drops repeated keys."""
_EXACT, _LAX_EXACT = _reader(object_pairs_hook=_object, parse_int=number), _reader(parse_int=number)
_READ_BACK = json.JSONDecoder(parse_float=lambda text: ExactNumber(text) if "e" in text else float(text))
_write, _write_plain = (one_line_writer(_found, ascii_only=plain, sort_keys=True) for plain in (False, True))
_CONTAINERS = frozenset((dict, list))
_DIGITS = bytes(ord("0") if byte in b"0123456789" else ord(".") for byte in range(256))
_LONG_RUN = b"0" * (MAX_INTEGER_DIGITS + 1)
_BRACKETS = bytes(ord("[") if byte in b"[{" else ord("]") if byte in b"]}" else byte for byte in range(256))
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[{]}")

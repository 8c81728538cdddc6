"""JSON as RFC 8259 means it: no NaN, no Infinity, no duplicate keys; the first fault is an error with a reason."""

from __future__ import annotations

import json
import json.encoder
import math
from collections.abc import Callable
from typing import Any


class NotStrictError(ValueError):
    """The text is no strict JSON; `args[0]` says why in one line."""


class Number(float):
    """A number with its own text, which Python would write otherwise: `1.50`, `1e999`, one of many digits."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def loads(data: bytes | str) -> Any:
    """Parse strict JSON.

    Args:
        data: UTF-8 bytes, with or without a byte order mark, or text.

    Returns:
        dict, list, str, int, float, bool or None. Lone surrogates written as escapes stay lone surrogates.

    Raises:
        NotStrictError: The text is not JSON, names a constant that JSON does not have, repeats a key in one object,
            holds an integer that Python refuses (over 4,300 digits), or nests too deep.

    Source: RFC 8259 leaves duplicate keys undefined; most readers keep the last one in silence.
    """
    return _loaded(data, _read)


def loads_exact(data: bytes | str) -> Any:
    """Parse strict JSON as `loads` does; what Python would write otherwise than it stands there is a `Number`."""
    return _loaded(data, _read_exact)


def has_number(value: Any) -> bool:
    """Tell whether a `Number` is in a value; False where it is nested so deep that nobody can walk through it."""
    level, found = [value], False
    for _ in range(_DEEPEST):
        found = found or any(isinstance(one, Number) for one in level)
        inner = (
            one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list | tuple)
        )
        level = [one for some in inner for one in some]
        if not level:
            return found
    return False


def finite(value: Any) -> Any:
    """Return a JSON value with a text in the place of each number that no float holds: `"1e999"`.

    Args:
        value: As `loads` or `loads_exact` returns it, or with tuples for lists. How a number was written is lost where
            `loads` read it: it becomes `"1e999"` or `"-1e999"`.
    """
    if isinstance(value, dict):
        return {name: finite(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [finite(member) for member in value]
    if isinstance(value, float) and math.isinf(value):
        return value.text if isinstance(value, Number) else "1e999" if value > 0 else "-1e999"
    return value


def _loaded(data: bytes | str, read: Callable[[str], Any]) -> Any:
    try:
        return read(data.removeprefix(b"\xef\xbb\xbf").decode() if isinstance(data, bytes) else data)
    except NotStrictError:
        raise
    except RecursionError:
        raise NotStrictError("nested too deep") from None
    except ValueError as error:
        raise NotStrictError(str(error)) from None


def one_value_reader(decoder: json.JSONDecoder) -> Callable[[str], Any]:
    """Return a function that does what `decoder.decode` does, in less time for a text without white space around.

    `decode` runs a regular expression before and after the value, which costs as much as parsing a short one.

    Args:
        decoder: How to parse.
    """
    scan: Callable[[str, int], tuple[Any, int]] = decoder.scan_once  # type: ignore[attr-defined]

    def read(text: str) -> Any:
        try:
            value, end = scan(text, 0)
        except StopIteration:  # white space, or nothing that a value begins with: `decode` says which
            return decoder.decode(text)
        return value if text[end:] in _ENDS else decoder.decode(text)

    return read


def one_line_writer(
    default: Callable[[Any], Any], *, ascii_only: bool, item: str = ",", colon: str = ":", sort_keys: bool = False
) -> Callable[[Any], str]:
    """Return a function that writes a value as JSON in one line, by the C encoder where Python has it.

    `json.JSONEncoder.encode` makes a new C encoder for every call, which costs more than a short text.

    Args:
        default: Called with a value that JSON does not know; may raise.
        ascii_only: Whether all else is escaped.
        item: Stands between items.
        colon: Stands between a name and its value.
        sort_keys: Whether names are sorted, by code point.
    """
    encoder = json.JSONEncoder(
        ensure_ascii=ascii_only,
        check_circular=False,
        allow_nan=False,
        sort_keys=sort_keys,
        separators=(item, colon),
        default=default,
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    string = json.encoder.encode_basestring_ascii if ascii_only else json.encoder.encode_basestring
    written = make(None, default, string, None, colon, item, sort_keys, False, False)
    return lambda value: "".join(written(value, 0))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise NotStrictError(f"duplicate key {next(name for name in names if names.count(name) > 1)!r}")
    return found


def _constant(name: str) -> Any:
    raise NotStrictError(f"{name} is no JSON number")


def _float(text: str) -> float:
    value = float(text)
    return value if repr(value) == text else Number(text)


def _int(text: str) -> int | float:
    return Number(text) if text == "-0" else int(text)


_DEEPEST = 100
_ENDS = frozenset(("", "\n", "\r\n"))
_read = one_value_reader(json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant))
_read_exact = one_value_reader(
    json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int)
)

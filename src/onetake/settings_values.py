"""Readers of single values: each takes a value and where it stands, and returns it checked, or says what is right."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from onetake.errors import UsageError

Reader = Callable[[object, str], Any]
"""Takes a value and the words for where it stands; raises `UsageError`."""

_T = TypeVar("_T")

BAD = ("violation", "length", "refusal", "cut")
"""The kinds of bad answers that `keep` takes, but for statuses."""

KEPT = (*BAD, "status:429", "status:4xx")
"""All of them, with examples of statuses; any status, or hundred of them, may follow `status:`."""

EVERY_KIND = (*BAD, "status:3xx", "status:4xx", "status:5xx")
"""What keeps every bad answer."""

TYPE = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)")
"""A contract's schema that is a type and no file: `module:Type`."""

_STATUS = re.compile(r"status:[1-5](?:\d\d|xx)")
_ORIGIN = re.compile(r"https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_VARIABLE = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*)?")
_SELECTOR = re.compile(r"text|(?:tool|schema):.+", re.DOTALL)


def within(where: str, name: str) -> str:
    """Return the words for a value inside a table."""
    return f"{where} {name}" if where.endswith(":") else f"{where}.{name}"


def nearest(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return the end of a message about a wrong word.

    Args:
        word: The wrong one.
        known: The right ones.
        otherwise: What to say where none is like it; without it, all of them.

    Returns:
        `; did you mean 'required'?`, or `; it may be 'a' or 'b'`. Case, `-` and `_` do not count.
    """
    from difflib import get_close_matches

    plain = {_letters(name): name for name in sorted(known)}
    found = get_close_matches(_letters(word), plain, n=1, cutoff=0.5)
    if found:
        return f"; did you mean {plain[found[0]]!r}?"
    return f" ({otherwise})" if otherwise else f"; it may be {_either(map(repr, known))}"


def _letters(word: str) -> str:
    return re.sub("[-_]", "", word).lower()


def is_selector(word: str) -> bool:
    """Tell whether a word says which answers a contract judges: `text`, `tool:NAME` or `schema:NAME`."""
    return _SELECTOR.fullmatch(word) is not None


def text(value: object, where: str) -> str:
    """Read a text that is not empty."""
    if isinstance(value, str) and value:
        return value
    raise _wrong(value, where, 'a text, as in "…"')


def any_text(value: object, where: str) -> str:
    """Read a text, which may be empty."""
    return "" if value == "" else text(value, where)


def each(value: object, where: str, read: Callable[[object, str], _T]) -> tuple[_T, ...]:
    """Read a list, each item by *read*."""
    if not isinstance(value, list | tuple):
        raise _wrong(value, where, f"a list, as in [{value!r}]" if isinstance(value, str) else "a list")
    return tuple(read(item, f"{where}[{index}]") for index, item in enumerate(value))


def texts(value: object, where: str) -> tuple[str, ...]:
    """Read a list of texts."""
    return each(value, where, text)


def json_paths(value: object, where: str) -> tuple[str, ...]:
    """Read a list of JSON paths."""
    from onetake import jsonpath  # a suite without such a setting loads no reader of paths

    def read(item: object, place: str) -> str:
        path = text(item, place)
        try:
            jsonpath.parse(path)
        except UsageError as error:
            raise UsageError(f"{place}: {error}") from error
        except ValueError as error:  # an escape that JSON does not know, a number without an end
            raise _wrong(item, place, 'a JSON path, as in "$.items[*].label"') from error
        return path

    return each(value, where, read)


def lower_texts(value: object, where: str) -> tuple[str, ...]:
    """Read a list of texts in which case does not count."""
    return tuple(item.lower() for item in texts(value, where))


def days(value: object, where: str) -> float:
    """Read a number of days, more than 0."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return value
    raise _wrong(value, where, "a number of days, more than 0")


def whole(least: int) -> Reader:
    """Make a reader of whole numbers from *least* on."""

    def read(value: object, where: str) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        raise _wrong(value, where, f"a whole number, {least} or more")

    return read


def one_of(words: Mapping[str, _T]) -> Callable[[object, str], _T]:
    """Make a reader of words, which returns what each stands for."""

    def read(value: object, where: str) -> _T:
        if isinstance(value, str):
            if value in words:
                return words[value]
            raise UsageError(f"{where}: unknown word {value!r}{nearest(value, words)}")
        raise _wrong(value, where, _either(map(repr, words)))

    return read


def kept(value: object, where: str) -> tuple[str, ...]:
    """Read the kinds of bad answers to keep."""
    kinds = texts(value, where)
    for kind in kinds:
        if kind not in KEPT and not _STATUS.fullmatch(kind):
            raise UsageError(f"{where}: unknown kind {kind!r}{nearest(kind, KEPT)}")
    return kinds


def selector(value: object, where: str) -> str:
    """Read which answers a contract judges."""
    word = text(value, where)
    if not is_selector(word):
        raise UsageError(f"{where}: unknown selector {word!r}{nearest(word, ['text', 'tool:NAME', 'schema:NAME'])}")
    return word


def table(value: object, where: str, readers: Mapping[str, Reader], required: Iterable[str] = ()) -> dict[str, Any]:
    """Read a table whose names are fixed; a name that is not there is left out.

    Raises:
        UsageError: No table, a name that is not known, a required one that is missing, or a wrong value.
    """
    given = mapping(value, where, _example(readers))
    for name in given:
        if name not in readers:
            raise UsageError(f"{where} knows no {name!r}{nearest(name, readers)}")
    for name in required:
        if name not in given:
            raise UsageError(f"{where} lacks {name!r}: {_example(readers)}")
    return {name: readers[name](item, within(where, name)) for name, item in given.items()}


def named(value: object, where: str, read: Reader) -> dict[str, Any]:
    """Read a table whose names are the user's own."""
    return {name: read(item, within(where, name)) for name, item in mapping(value, where, '{ "…" = … }').items()}


def variables(value: object, where: str) -> dict[str, str]:
    """Read a table of environment variables and their values."""
    found = named(value, where, text)
    for name, said in found.items():
        if not name or "=" in name or "\0" in name + said:
            raise UsageError(f"{within(where, name)}: no environment can hold {name!r} with this value")
    return found


def origins(value: object, where: str) -> dict[str, str]:
    """Read a table of origins and the environment variables that hold their credentials."""
    found = named(value, where, any_text)
    for origin, variable in found.items():
        if not _ORIGIN.fullmatch(origin):
            raise UsageError(f"{where}: {origin!r} is no origin; write scheme://host or scheme://host:port")
        if not _VARIABLE.fullmatch(variable):
            raise UsageError(f"{within(where, origin)}: must be the name of a variable: no credential stands here")
    return found


def mapping(value: object, where: str, example: str) -> dict[str, Any]:
    """Read a table, whatever is in it."""
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return dict(value)
    raise _wrong(value, where, f"a table: {example}")


def _example(readers: Iterable[str]) -> str:
    return "{ " + ", ".join(f"{name} = …" for name in readers) + " }"


def _either(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _wrong(value: object, where: str, right: str) -> UsageError:
    shown = repr(value)
    return UsageError(f"{where}: must be {right}, not {shown if len(shown) <= 60 else shown[:59] + '…'}")

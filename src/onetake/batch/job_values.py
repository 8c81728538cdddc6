"""Readers of what a job file says, besides those of all settings."""

from __future__ import annotations

import math
import re
from typing import Any
from urllib.parse import urlsplit

from onetake import settings_values as values
from onetake.errors import UsageError

_MOST = 1_000_000_000
"""Of any number under `[run]`: what is beyond it is a slip, and no clock or counter holds it."""
_RANGE = re.compile(r"([1-9]\d{0,4})(?:\s*-\s*([1-9]\d{0,4}))?")
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d+)?)%")


def url(value: object, where: str) -> str:
    """Read an endpoint's address."""
    said = values.text(value, where)
    try:
        parts = urlsplit(said)
        is_whole = bool(parts.hostname and parts.hostname.encode("idna")) and parts.port != 0
    except ValueError:  # no address in the brackets, no such port, a host that no name server takes
        parts, is_whole = urlsplit(""), False
    is_odd = " " in said or not said.isprintable() or bool(parts.query or parts.fragment)
    if parts.scheme not in ("http", "https") or not is_whole or is_odd:
        raise UsageError(f"{where}: must be the endpoint's address, as in 'http://127.0.0.1:8000/v1', not {said!r}")
    if parts.username or parts.password:
        raise UsageError(f"{where}: holds a credential; name its variable in `api_key_env` instead")
    return said.rstrip("/")


def params(value: object, where: str) -> dict[str, Any]:
    """Read further members of a body."""
    found = values.mapping(value, where, "{ temperature = 0 }")
    for name, item in found.items():
        _check_json(item, values.within(where, name))
    return found


def _check_json(value: object, where: str) -> None:
    """See that a value can stand in a body: JSON knows no dates, and no number that is none."""
    if isinstance(value, dict):
        for name, item in value.items():
            _check_json(item, values.within(where, str(name)))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check_json(item, f"{where}[{index}]")
    elif not isinstance(value, str | int | float | None) or (isinstance(value, float) and not math.isfinite(value)):
        raise UsageError(f"{where}: must be a value that JSON knows, not {value!s}")


def path(value: object, where: str) -> str:
    """Read the path of a file."""
    said = values.text(value, where)
    if "\0" in said:
        raise UsageError(f"{where}: no file can be called {said!r}")
    return said


def whole(least: int) -> values.Reader:
    """Make a reader of whole numbers from *least* on."""

    def read(value: object, where: str) -> int:
        found: int = values.whole(least)(value, where)
        if found > _MOST:
            raise UsageError(f"{where}: must be {_MOST:,} at most")
        return found

    return read


def concurrency(value: object, where: str) -> tuple[int, int]:
    """Read how many calls may be in flight: `8` or `1-32`."""
    match = _RANGE.fullmatch(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else None
    least, most = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if least > most:
        raise UsageError(f"{where}: must be a number of calls or a range, as in 8 or '1-32', not {value!r}")
    return least, most


def max_failures(value: object, where: str) -> int | float:
    """Read how many rows may fail: `5`, `"5"` or `"2%"`; a share is from 0 to 1."""
    said = str(value)
    if isinstance(value, int | str) and not isinstance(value, bool):
        if said.isdecimal() and len(said) < 10:
            return int(said)
        if (match := _PERCENT.fullmatch(said)) and float(match[1]) <= 100:
            return float(match[1]) / 100
    raise UsageError(f"{where}: must be a number of rows or a share, as in 5 or '2%', not {value!r}")


def positive(value: object, where: str) -> float:
    """Read a number above 0."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _MOST:
        return float(value)
    raise UsageError(f"{where}: must be a number above 0, {_MOST:,} at most, not {value!r}")


def prices(value: object, where: str) -> dict[str, float]:
    """Read US dollars a million tokens, `input` and `output`."""

    def price(item: object, place: str) -> float:
        return 0.0 if item == 0 and not isinstance(item, bool) else positive(item, place)

    return values.table(value, where, {"input": price, "output": price}, required=["input", "output"])


def flag(value: object, where: str) -> bool:
    """Read true or false."""
    if isinstance(value, bool):
        return value
    raise UsageError(f"{where}: must be true or false, not {value!r}")

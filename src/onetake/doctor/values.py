"""Values that stand in a text, also where only a part of one can be told."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from onetake.doctor.modules import Module


class _Untold:
    """What cannot be told."""

    def __repr__(self) -> str:
        return "UNTOLD"


UNTOLD: Final = _Untold()
_MOST = 16
"""Values that are told apart."""
GAP = "\0"
"""Stands in a text or a path for a part that cannot be told."""
REST: Final = object()
"""A key of a mapping that may hold more than is told."""


@dataclass(frozen=True, slots=True)
class Either:
    """One of several values."""

    values: tuple[Any, ...]


class Unset(str):
    """A text that holds where a variable of the environment is not set; where it is, another one does."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class Recorder:
    """A recorder of vcrpy.

    Args:
        module: The file that makes it.
        node: The call that does.
        says: What is said to it, a mapping or `Either` of several.
    """

    module: Module
    node: ast.Call
    says: Any


def options(value: Any) -> tuple[Any, ...]:
    """Return what a value may be, one by one."""
    return tuple(each for one in value.values for each in options(one)) if isinstance(value, Either) else (value,)


def either(*values: Any) -> Any:
    """Return one of several values, as one where they are the same; `UNTOLD` for too many."""
    flat = [each for value in values for each in options(value)]
    distinct = [one for at, one in enumerate(flat) if not any(_same(one, other) for other in flat[:at])]
    if len(distinct) > _MOST:
        return UNTOLD
    return distinct[0] if len(distinct) == 1 else Either(tuple(distinct))


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and not isinstance(a, _Untold) and bool(a == b))


def merged(a: Any, b: Any) -> Any:
    """Return two mappings as one, for each that they may be."""
    found = []
    for one in options(a):
        for other in options(b):
            first = one if isinstance(one, dict) else {REST: UNTOLD}
            found.append({**first, **other} if isinstance(other, dict) else {**first, REST: UNTOLD})
    return either(*found)


def joined(op: ast.operator, a: Any, b: Any) -> Any:
    """Return what an operator makes of two values: lists, texts and paths with gaps, mappings; else `UNTOLD`."""
    if isinstance(op, ast.BitOr):
        return merged(a, b)
    if isinstance(op, ast.Div) and isinstance(b, str | PurePath | _Untold):
        return PurePath(text_of(a)) / text_of(b)
    if isinstance(op, ast.Add):
        if isinstance(a, list | tuple) or isinstance(b, list | tuple):
            return [*items(a), *items(b)]
        if isinstance(a, str) or isinstance(b, str):
            return text_of(a) + text_of(b)
    return UNTOLD


def items(value: Any) -> tuple[Any, ...]:
    """Return what is in a list; of what is none, one that cannot be told."""
    return tuple(value) if isinstance(value, list | tuple | set) else (UNTOLD,)


def text_of(value: Any) -> str:
    """Return a text, number or path as text, `GAP` for what cannot be told."""
    return str(value) if isinstance(value, str | int | PurePath) else GAP


def _first(values: list[Any]) -> Any:
    return values[0] if values else UNTOLD


def _path(values: list[Any]) -> Any:
    return PurePath(*map(text_of, values))


def _join(values: list[Any]) -> Any:
    return os.path.join(*map(text_of, values))  # noqa: PTH118 (no path of this machine)


FUNCTIONS: Mapping[str, Callable[[list[Any]], Any]] = {
    **dict.fromkeys(
        ("list", "tuple", "set", "sorted", "frozenset"), lambda values: list(items(values[0])) if values else []
    ),
    **dict.fromkeys(("os.fspath", "copy.copy", "copy.deepcopy", "vcr.VCR.ensure_suffix"), _first),
    **dict.fromkeys(
        ("os.path.abspath", "os.path.realpath", "os.path.normpath"), lambda v: str(PurePath(text_of(v[0])))
    ),
    **dict.fromkeys(("pathlib.Path", "pathlib.PurePath", "Path"), _path),
    "super._get_vcr_kwargs": lambda _: {},  # what the class before it says is a layer of its own
    "str": lambda values: text_of(values[0]) if values else "",
    "os.path.join": _join,
    "os.path.dirname": lambda values: str(PurePath(text_of(values[0])).parent),
    "os.path.basename": lambda values: PurePath(text_of(values[0])).name,
}
METHODS: Mapping[str, Callable[[Any, list[Any]], Any]] = {
    **dict.fromkeys(("resolve", "absolute", "expanduser", "copy", "as_posix"), lambda base, _: base),
    "joinpath": lambda base, values: PurePath(text_of(base), *map(text_of, values)),
    "with_suffix": lambda base, values: base.with_suffix(values[0]) if isinstance(base, PurePath) else UNTOLD,
    "get": lambda base, values: (
        base.get(values[0], values[1] if len(values) > 1 else None)
        if isinstance(base, dict) and REST not in base
        else UNTOLD
    ),
    "lower": lambda base, _: base.lower() if isinstance(base, str) else UNTOLD,
}

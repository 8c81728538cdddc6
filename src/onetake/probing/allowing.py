"""What the project itself allows in an answer: its contract, or the schema that the request carried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from onetake.contract import Contract, violations_as_written
from onetake.jsonpath import Path
from onetake.model import Violation
from onetake.probing.findings import Kind, Severity
from onetake.probing.heard import Heard
from onetake.probing.shape_changes import Change
from onetake.probing.shapes import type_of

Fits = Callable[[Any], bool]
"""Tells whether a JSON value is what the project expects."""

Place = tuple[int | str, ...]

_OR = " or "
_ONE_OF_EACH: tuple[Any, ...] = (None, True, 1, "", [], {})


class Expected:
    """What answers to one request are held to.

    Args:
        heard: An answer to it.
        contracts: Today's contracts.
    """

    def __init__(self, heard: Heard, contracts: Sequence[Contract]) -> None:
        self._request = heard.request
        self._contracts = contracts
        self._promises = heard.dialect.promises(heard.request) if heard.dialect else ()

    def of_text(self) -> Fits | None:
        """Return what judges the text of a choice; None where nothing does, and it may be any text."""
        names = [f"schema:{promise.name}" for promise in self._promises if promise.on == "text"]
        return self._of(("text", *names))

    def of_tool(self, name: str) -> Fits | None:
        """Return what judges the arguments of a tool; None where nothing does."""
        return self._of((f"tool:{name}",))

    def unpromised(self, on: str, value: Any) -> tuple[Violation, ...]:
        """Return what is wrong with a value by schemas of the request that the provider does not promise to keep.

        Those that it promises the gate judges by.

        Args:
            on: `text` or `tool:NAME`.
            value: A JSON value.
        """
        schemas = (one.schema for one in self._promises if one.on == on and not one.enforced)
        return tuple(found for schema in schemas for found in violations_as_written(schema, value, is_text=False))

    def selects(self, on: str) -> bool:
        """Tell whether a contract judges a part: `text` or `tool:NAME`."""
        return any(contract.selects(self._request, on) for contract in self._contracts)

    def _of(self, parts: tuple[str, ...]) -> Fits | None:
        for contract in self._contracts:
            if any(contract.selects(self._request, on) for on in parts):
                return partial(_satisfies, contract)
        schema = next((promise.schema for promise in self._promises if promise.on in parts), None)
        return None if schema is None else lambda value: not violations_as_written(schema, value, is_text=False)


def weighed(found: Sequence[Change], fits: Fits | None, recorded: list[Any], live: list[Any]) -> Iterator[Change]:
    """Yield changes with the grade that they have where something judges the values: what it allows is `info`.

    What it leaves out or lets in besides is so allowed. Another type is where it names the types that may stand there:
    a schema that lets everything pass says nothing. A value that does not fit is excused by nothing.

    Args:
        found: How the shapes of the values differ.
        fits: What judges a value; None for nothing, which allows nothing.
        recorded: The stored values.
        live: The fresh ones.
    """
    all_fit = bool(found) and fits is not None and all(fits(value) for value in (*recorded, *live))
    for change in found:
        is_allowed = fits is not None and all_fit and (change.kind is not Kind.TYPE or _names_types(fits, change, live))
        yield replace(change, severity=Severity.INFO) if is_allowed else change


def _names_types(fits: Fits, change: Change, live: list[Any]) -> bool:
    """Tell whether a type that stands where there was another one is there by name, and not as any would be."""
    was, now = (set((types or "").split(_OR)) for types in (change.recorded, change.live))
    others = [other for other in _ONE_OF_EACH if type_of(other) not in was | now]
    for value in live:
        if (place := _place(value, change.path, now - was)) is not None:
            return any(not fits(_with(value, place, other)) for other in others)
    return False


def _satisfies(contract: Contract, value: Any) -> bool:
    try:
        return not contract.judge_value(value)
    except Exception:  # noqa: BLE001 - of a contract's own code, which takes what it breaks on for no answer
        return False


def _place(value: Any, path: Path, types: set[str]) -> Place | None:
    """Return the first place that a path leads to at which a value of one of these types stands."""
    if not path:
        return () if type_of(value) in types else None
    step, rest = path[0], path[1:]
    inner: Iterable[tuple[int | str, Any]] = ()
    if step is None:
        inner = enumerate(value) if isinstance(value, list) else ()
    elif isinstance(value, dict) and step in value:
        inner = ((step, value[step]),)
    found = ((at, _place(item, rest, types)) for at, item in inner)
    return next(((at, *place) for at, place in found if place is not None), None)


def _with(value: Any, place: Place, other: Any) -> Any:
    """Return a value with another one at a place."""
    if not place:
        return other
    changed = value.copy()
    changed[place[0]] = _with(value[place[0]], place[1:], other)
    return changed

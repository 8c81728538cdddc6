"""What the project itself allows in an answer: its contract, or the schema that the request carried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from onetake.contract import Contract, violations_as_written
from onetake.jsonpath import Path
from onetake.model import Violation
from onetake.probing.findings import Kind
from onetake.probing.heard import Heard
from onetake.probing.shape_changes import Change
from onetake.probing.shapes import type_of

Fits = Callable[[Any], bool]
"""Tells whether a JSON value is what the project expects."""

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


def allows(fits: Fits | None, change: Change, recorded: Any, live: Any) -> bool:
    """Tell whether what judges two values says that one may be as the other is.

    What it leaves out or lets in besides is so allowed. Another type is where it names the types that may stand there:
    a schema that lets everything pass says nothing.

    Args:
        fits: What judges them; None for nothing, which allows nothing.
        change: How their shapes differ.
        recorded: The one.
        live: The other.
    """
    if fits is None or not fits(recorded) or not fits(live):
        return False
    if change.kind is not Kind.TYPE:
        return True
    named = f"{change.recorded} or {change.live}".split(" or ")
    others = (other for other in _ONE_OF_EACH if type_of(other) not in named)
    return any(not fits(_with(live, change.path, other)) for other in others)


def _satisfies(contract: Contract, value: Any) -> bool:
    try:
        return not contract.judge_value(value)
    except Exception:  # noqa: BLE001 - of a contract's own code, which takes what it breaks on for no answer
        return False


def _with(value: Any, path: Path, other: Any) -> Any:
    """Return a value with another one at every place that a path leads to."""
    if not path:
        return other
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        return [_with(item, rest, other) for item in value] if step is None else value
    if isinstance(value, dict) and step in value:
        return {**value, step: _with(value[step], rest, other)}
    return value

"""The tool calls of Gemini's parts, whole or with arguments that come in pieces."""

from __future__ import annotations

from typing import Any

from onetake import jsonpath
from onetake.errors import UsageError
from onetake.model import ToolCall
from onetake.picking import mappings, text

_LONGEST_ARRAY = 10_000


class Calls:
    """Takes in the `functionCall` of one part after the other.

    Where Vertex streams arguments, a first part names the function, the next ones hold `partialArgs`, and each but the
    last says `willContinue`.
    """

    def __init__(self) -> None:
        self._calls: list[ToolCall] = []
        self._open = False

    def add(self, part: dict[str, Any]) -> None:
        """Take in a `functionCall`: a new call, or more of the last one."""
        if not self._open:
            given = part.get("args")
            self._calls.append(ToolCall(text(part.get("name")), {} if given is None else given))
        for piece in mappings(part.get("partialArgs")):
            call = self._calls[-1]
            self._calls[-1] = ToolCall(call.name, _with(call.arguments, _steps(piece), _value(piece)))
        self._open = part.get("willContinue") is True

    def done(self) -> tuple[ToolCall, ...]:
        """Return the calls."""
        return tuple(self._calls)


def _steps(piece: dict[str, Any]) -> jsonpath.Path:
    try:
        return jsonpath.parse(text(piece.get("jsonPath")))
    except UsageError:
        return ()


def _value(piece: dict[str, Any]) -> Any:
    told = (piece[name] for name in ("stringValue", "numberValue", "boolValue") if name in piece)
    return next(told, None)


def _with(value: Any, steps: jsonpath.Path, piece: Any) -> Any:
    """Return the arguments with one piece at its place; text goes on from the text that is there."""
    if not steps:
        return value + piece if isinstance(value, str) and isinstance(piece, str) else piece
    step, *rest = steps
    if isinstance(step, str):
        held = value if isinstance(value, dict) else {}
        return {**held, step: _with(held.get(step), tuple(rest), piece)}
    items = list(value) if isinstance(value, list) else []
    if step is None or step >= _LONGEST_ARRAY:
        return items
    items += [None] * (step + 1 - len(items))
    items[step] = _with(items[step], tuple(rest), piece)
    return items

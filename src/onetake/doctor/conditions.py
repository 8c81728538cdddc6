"""Conditions about CI: a branch that holds for a person alone endangers no run that nobody watches."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, Protocol

from onetake.doctor.modules import Module, dotted
from onetake.doctor.sources import Sources


class Place(Protocol):
    """Where an expression stands."""

    sources: Sources
    module: Module
    local: dict[str, Any]

    def value(self, node: ast.AST | None) -> Any:
        """Return the value of an expression."""

    def inner(self, module: Module, local: dict[str, Any] | None = None) -> Place:
        """Return another place, from which fewer names are followed."""


@dataclass(frozen=True, slots=True)
class Ci:
    """The value of a name that tells whether this is a CI run.

    Args:
        holds: What it is there.
    """

    holds: bool


def branch_in_ci(place: Place, test: ast.expr, depth: int = 4) -> bool | None:
    """Tell which way a condition about CI goes there, None for one about something else.

    Args:
        place: Where it stands.
        test: The condition: about the environment, a name for that, or a function of the project that returns it.
        depth: How many names are followed.
    """
    if _is_about_ci(test):
        return _holds_in_ci(test)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        turned = branch_in_ci(place, test.operand, depth)
        return None if turned is None else not turned
    name = dotted(test) if isinstance(test, ast.Name | ast.Attribute | ast.Call) else ""
    if name in place.local:
        held = place.local[name]
        return held.holds if isinstance(held, Ci) else None
    found = place.sources.lookup(place.module, name) if name and depth else None
    node = _said_by(found[1]) if found else None
    return branch_in_ci(place.inner(found[0]), node, depth - 1) if found and node is not None else None


def _said_by(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.FunctionDef):
        return next((one.value for one in ast.walk(node) if isinstance(one, ast.Return)), None)
    return node if isinstance(node, ast.expr) else None


def _is_about_ci(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Constant) and one.value in ("CI", "GITHUB_ACTIONS") for one in ast.walk(node))


def _holds_in_ci(node: ast.expr) -> bool:
    """Tell which way a condition goes: `not`, `not in` and a comparison with nothing turn it."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _holds_in_ci(operand)
        case ast.Compare(ops=[ast.NotIn()]):
            return False
        case ast.Compare(ops=[op], comparators=[ast.Constant(value=value)]):
            return isinstance(op, ast.Eq | ast.Is) == (value not in (None, "", "0", "false", "False", False))
    return True

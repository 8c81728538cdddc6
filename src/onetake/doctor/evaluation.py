"""The value of an expression, as far as it stands in the text: nothing is run, and what cannot be told is said so."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from onetake.doctor.conditions import branch_in_ci
from onetake.doctor.following import arguments, assign, keywords, returned
from onetake.doctor.modules import Module, dotted, statements
from onetake.doctor.sources import Sources
from onetake.doctor.values import (
    FUNCTIONS,
    METHODS,
    REST,
    UNTOLD,
    Recorder,
    Unset,
    either,
    items,
    joined,
    merged,
    text_of,
)

_DEEPEST = 24
_MOST = 20_000


@dataclass
class Scope:
    """Where an expression stands.

    Args:
        sources: The project.
        module: The file.
        local: The names of the function it stands in.
        left: How many more calls and names are followed, one inside the other.
        spent: How many were, for the expression that is looked at.
    """

    sources: Sources
    module: Module
    local: dict[str, Any] = field(default_factory=dict)
    left: int = _DEEPEST
    spent: list[int] = field(default_factory=lambda: [0])

    def value(self, node: ast.AST | None) -> Any:
        """Return the value of an expression: a constant, list, mapping or path, `Either` of several, or `UNTOLD`."""
        if self.left == _DEEPEST:
            self.spent[0] = 0
        if node is None or self.left <= 0 or self.spent[0] >= _MOST:
            return UNTOLD
        self.left -= 1
        self.spent[0] += 1
        try:
            reader = _READERS.get(type(node))
            return reader(self, node) if reader else UNTOLD
        except (RecursionError, ValueError, TypeError, IndexError, KeyError, OverflowError):
            return UNTOLD
        finally:
            self.left += 1

    def inner(self, module: Module, local: dict[str, Any] | None = None) -> Scope:
        """Return the scope of another place, from which fewer names are followed."""
        return Scope(self.sources, module, local or {}, self.left - 1, self.spent)


def _constant(scope: Scope, node: ast.Constant) -> Any:
    return node.value


def _several(scope: Scope, node: ast.List | ast.Tuple | ast.Set) -> Any:
    found: list[Any] = []
    for one in node.elts:
        found += items(scope.value(one.value)) if isinstance(one, ast.Starred) else [scope.value(one)]
    return found


def _dict(scope: Scope, node: ast.Dict) -> Any:
    found: Any = {}
    for key, value in zip(node.keys, node.values, strict=True):
        name = scope.value(key) if key is not None else None
        if key is None:
            found = merged(found, scope.value(value))
        else:
            found = merged(found, {(name if isinstance(name, str | int) else REST): scope.value(value)})
    return found


def _name(scope: Scope, node: ast.Name) -> Any:
    if node.id in scope.local:
        return scope.local[node.id]
    if node.id == "__file__":
        return str(scope.module.path)
    return _global(scope, node.id)


def _global(scope: Scope, name: str) -> Any:
    found = scope.sources.lookup(scope.module, name)
    if found is None:
        return UNTOLD
    module, node = found
    value = scope.inner(module).value(node)
    return _changed_later(scope, module, name, value) if isinstance(value, dict | list) else value


def _changed_later(scope: Scope, module: Module, name: str, value: Any) -> Any:
    """Follow what the top of a file does to a mapping or a list after it was made."""
    inner = scope.inner(module, {name: value})
    for node in statements(module.tree.body):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or isinstance(
            getattr(node, "targets", [None])[0], ast.Subscript
        ):
            assign(inner, node)
    return inner.local[name]


def _attribute(scope: Scope, node: ast.Attribute) -> Any:
    name = dotted(node)
    if name and node.attr.isupper():
        owner = scope.sources.imported_as(scope.module, name).rpartition(".")[0]
        if owner.rpartition(".")[2] in ("RecordMode", "mode"):
            return node.attr.lower()
    base = scope.value(node.value)
    if isinstance(base, PurePath) and node.attr in ("parent", "stem", "name", "parents"):
        return list(base.parents) if node.attr == "parents" else getattr(base, node.attr)
    if isinstance(base, str) and node.attr == "value":
        return base
    return _global(scope, name) if name else UNTOLD


def _subscript(scope: Scope, node: ast.Subscript) -> Any:
    if dotted(node.value).endswith("environ"):
        return UNTOLD
    base, key = scope.value(node.value), scope.value(node.slice)
    if isinstance(base, dict):
        return base.get(key, UNTOLD) if isinstance(key, str | int) else UNTOLD
    return base[key] if isinstance(base, list | tuple) and isinstance(key, int) else UNTOLD


def _choice(scope: Scope, node: ast.IfExp) -> Any:
    if (is_taken := branch_in_ci(scope, node.test)) is not None:
        return scope.value(node.body if is_taken else node.orelse)
    return either(scope.value(node.body), scope.value(node.orelse))


def _boolean(scope: Scope, node: ast.BoolOp) -> Any:
    """Return what `a or b` gives: the last one where those before it come from an environment that says nothing."""
    values = [scope.value(one) for one in node.values]
    known = [value for value in values if value is not UNTOLD]
    if not isinstance(node.op, ast.Or) or not known:
        return UNTOLD
    return _unset(known[0]) if values[0] is UNTOLD else known[0]


def _unset(value: Any) -> Any:
    return Unset(value) if isinstance(value, str) else value


def _formatted(scope: Scope, node: ast.JoinedStr) -> Any:
    return "".join(
        text_of(scope.value(one.value if isinstance(one, ast.FormattedValue) else one)) for one in node.values
    )


def _operation(scope: Scope, node: ast.BinOp) -> Any:
    return joined(node.op, scope.value(node.left), scope.value(node.right))


def _called(scope: Scope, node: ast.Call) -> Any:
    name = scope.sources.imported_as(scope.module, dotted(node.func))
    if name in ("os.getenv", "os.environ.get"):
        return _unset(scope.value(node.args[1])) if len(node.args) > 1 else UNTOLD
    if (known := FUNCTIONS.get(name) or FUNCTIONS.get(name.removeprefix("builtins."))) is not None:
        return known([scope.value(one) for one in node.args])
    if name.rpartition(".")[2] == "VCR":
        return Recorder(scope.module, node, keywords(scope, node))
    if name == "dict":
        first = scope.value(node.args[0]) if node.args else {}
        return merged(first, keywords(scope, node))
    if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        base = scope.value(node.func.value)
        if base is not UNTOLD:
            return METHODS[node.func.attr](base, [scope.value(one) for one in node.args])
    found = scope.sources.lookup(scope.module, dotted(node.func))
    module, function = found or (scope.module, None)
    if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return returned(scope.inner(module, arguments(scope, function, node)), function)
    return UNTOLD


_READERS: Mapping[type[ast.AST], Callable[[Scope, Any], Any]] = {
    ast.Constant: _constant,
    ast.List: _several,
    ast.Tuple: _several,
    ast.Set: _several,
    ast.Dict: _dict,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.IfExp: _choice,
    ast.BoolOp: _boolean,
    ast.JoinedStr: _formatted,
    ast.BinOp: _operation,
    ast.Call: _called,
}

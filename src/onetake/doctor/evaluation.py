"""The value of an expression, as far as it stands in the text: nothing is run, and what cannot be told is said so."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from onetake.doctor.sources import Function, Module, Sources, dotted, statements
from onetake.doctor.values import FUNCTIONS, METHODS, REST, UNKNOWN, either, items, joined, merged, text_of

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
        """Return the value of an expression: a constant, list, mapping or path, `Either` of several, or `UNKNOWN`."""
        if self.left == _DEEPEST:
            self.spent[0] = 0
        if node is None or self.left <= 0 or self.spent[0] >= _MOST:
            return UNKNOWN
        self.left -= 1
        self.spent[0] += 1
        try:
            reader = _READERS.get(type(node))
            return reader(self, node) if reader else UNKNOWN
        except (RecursionError, ValueError, TypeError, IndexError, KeyError, OverflowError):
            return UNKNOWN
        finally:
            self.left += 1

    def inner(self, module: Module, local: dict[str, Any] | None = None) -> Scope:
        """Return the scope of another place, from which fewer names are followed."""
        return Scope(self.sources, module, local or {}, self.left - 1, self.spent)


def returned(scope: Scope, function: Function) -> Any:
    """Return what a function returns or yields, as far as its text tells; its statements are followed in order.

    Args:
        scope: Its own: the names of its arguments, as far as they are known, are local there.
        function: The function.
    """
    found: list[Any] = []
    _follow(scope, function.body, found)
    return either(*found) if found else None


def arguments(scope: Scope, function: Function, call: ast.Call) -> dict[str, Any]:
    """Return the names of a function's arguments with what a call gives them, or their defaults."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    given = dict(zip(reversed(names), map(scope.value, reversed(function.args.defaults)), strict=False))
    for one, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        given[one.arg] = scope.value(default)
    given |= dict(zip(names, map(scope.value, call.args), strict=False))
    given |= {one.arg: scope.value(one.value) for one in call.keywords if one.arg}
    if function.args.kwarg:
        known = {*names, *(one.arg for one in function.args.kwonlyargs)}
        given[function.args.kwarg.arg] = {name: value for name, value in given.items() if name not in known}
    return given


def keywords(scope: Scope, call: ast.Call) -> Any:
    """Return the keyword arguments of a call as a mapping, `**` included; `Either` of several where that may be."""
    found: Any = {}
    for one in call.keywords:
        added = {one.arg: scope.value(one.value)} if one.arg else scope.value(one.value)
        found = merged(found, added)
    return found


def is_about_ci(node: ast.AST) -> bool:
    """Tell whether a condition asks whether this is a CI run."""
    return any(isinstance(one, ast.Constant) and one.value in ("CI", "GITHUB_ACTIONS") for one in ast.walk(node))


def _in_ci(node: ast.expr) -> bool:
    """Tell which way a condition about CI goes there: `not`, `not in` and a comparison with nothing turn it."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _in_ci(operand)
        case ast.Compare(ops=[ast.NotIn()]):
            return False
        case ast.Compare(ops=[op], comparators=[ast.Constant(value=value)]):
            return isinstance(op, ast.Eq | ast.Is) == (value not in (None, "", "0", "false", "False", False))
    return True


def _follow(scope: Scope, body: list[ast.stmt], found: list[Any]) -> bool:
    """Follow statements; True where they end with a return."""
    for node in body:
        match node:
            case ast.Return():
                found.append(scope.value(node.value))
                return True
            case ast.Expr(value=ast.Yield(value=value)):
                found.append(scope.value(value))
            case ast.If() if is_about_ci(node.test):
                if _follow(scope, node.body if _in_ci(node.test) else node.orelse, found):
                    return True
            case ast.If():
                if _branch(scope, node, found):
                    return True
            case ast.With() | ast.AsyncWith() | ast.Try() | ast.For():
                if _follow(scope, node.body, found):
                    return True
            case _:
                _assign(scope, node)
    return False


def _branch(scope: Scope, node: ast.If, found: list[Any]) -> bool:
    before = dict(scope.local)
    scope.local = _copied(before)
    first = _follow(scope, node.body, found)
    then = scope.local
    scope.local = _copied(before)
    second = _follow(scope, node.orelse, found)
    if first:
        return second
    if second:
        scope.local = then
        return False
    scope.local = {
        name: either(then.get(name, UNKNOWN), scope.local.get(name, UNKNOWN)) for name in {**then, **scope.local}
    }
    return False


def _copied(local: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, dict | list) else value for name, value in local.items()}


def _assign(scope: Scope, node: ast.stmt) -> None:
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value)
        ):
            bound = scope.value(value)
            scope.local[name] = bound.copy() if isinstance(bound, dict | list) else bound
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)], value=value):
            _put(scope, name, scope.value(key), scope.value(value))
        case ast.AugAssign(target=ast.Name(id=name), value=value, op=op):
            scope.local[name] = joined(op, scope.local.get(name, UNKNOWN), scope.value(value))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update")) as call):
            for given in (*map(scope.value, call.args), keywords(scope, call)):
                scope.local[name] = merged(scope.local.get(name, UNKNOWN), given)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item])):
            held = scope.local.get(name)
            scope.local[name] = [*held, scope.value(item)] if isinstance(held, list) else UNKNOWN
        case _:
            pass


def _put(scope: Scope, name: str, key: Any, value: Any) -> None:
    if name in scope.local:
        scope.local[name] = merged(scope.local[name], {(key if isinstance(key, str) else REST): value})


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
        return UNKNOWN
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
            _assign(inner, node)
    return inner.local[name]


def _attribute(scope: Scope, node: ast.Attribute) -> Any:
    name = dotted(node)
    if name and node.attr.isupper():
        owner = scope.sources.origin(scope.module, name).rpartition(".")[0]
        if owner.rpartition(".")[2] in ("RecordMode", "mode"):
            return node.attr.lower()
    base = scope.value(node.value)
    if isinstance(base, PurePath) and node.attr in ("parent", "stem", "name", "parents"):
        return list(base.parents) if node.attr == "parents" else getattr(base, node.attr)
    if isinstance(base, str) and node.attr == "value":
        return base
    return _global(scope, name) if name else UNKNOWN


def _subscript(scope: Scope, node: ast.Subscript) -> Any:
    if dotted(node.value).endswith("environ"):
        return UNKNOWN
    base, key = scope.value(node.value), scope.value(node.slice)
    if isinstance(base, dict):
        return base.get(key, UNKNOWN) if isinstance(key, str | int) else UNKNOWN
    return base[key] if isinstance(base, list | tuple) and isinstance(key, int) else UNKNOWN


def _choice(scope: Scope, node: ast.IfExp) -> Any:
    if is_about_ci(node.test):
        return scope.value(node.body if _in_ci(node.test) else node.orelse)
    return either(scope.value(node.body), scope.value(node.orelse))


def _boolean(scope: Scope, node: ast.BoolOp) -> Any:
    """Return what `a or b` gives: the last one where those before it come from an environment that says nothing."""
    values = [value for one in node.values if (value := scope.value(one)) is not UNKNOWN]
    return values[0] if isinstance(node.op, ast.Or) and values else UNKNOWN


def _formatted(scope: Scope, node: ast.JoinedStr) -> Any:
    return "".join(
        text_of(scope.value(one.value if isinstance(one, ast.FormattedValue) else one)) for one in node.values
    )


def _operation(scope: Scope, node: ast.BinOp) -> Any:
    return joined(node.op, scope.value(node.left), scope.value(node.right))


def _called(scope: Scope, node: ast.Call) -> Any:
    name = scope.sources.origin(scope.module, dotted(node.func))
    if name in ("os.getenv", "os.environ.get"):
        return scope.value(node.args[1]) if len(node.args) > 1 else UNKNOWN
    if (known := FUNCTIONS.get(name) or FUNCTIONS.get(name.removeprefix("builtins."))) is not None:
        return known([scope.value(one) for one in node.args])
    if name == "dict":
        first = scope.value(node.args[0]) if node.args else {}
        return merged(first, keywords(scope, node))
    if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        base = scope.value(node.func.value)
        if base is not UNKNOWN:
            return METHODS[node.func.attr](base, [scope.value(one) for one in node.args])
    found = scope.sources.lookup(scope.module, dotted(node.func))
    module, function = found or (scope.module, None)
    if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return returned(scope.inner(module, arguments(scope, function, node)), function)
    return UNKNOWN


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

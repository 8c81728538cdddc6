"""What statements do, followed in their order: what a function returns, what a call gives it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from onetake.doctor.conditions import Ci, Place, branch_in_ci
from onetake.doctor.modules import Function
from onetake.doctor.values import REST, UNTOLD, Recorder, either, joined, merged


def returned(scope: Place, function: Function) -> Any:
    """Return what a function returns or yields, as far as its text tells; its statements are followed in order.

    Args:
        scope: Its own: the names of its arguments, as far as they are known, are local there.
        function: The function.
    """
    found: list[Any] = []
    _follow(scope, function.body, found)
    return either(*found) if found else None


def arguments(scope: Place, function: Function, call: ast.Call) -> dict[str, Any]:
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


def keywords(scope: Place, call: ast.Call) -> Any:
    """Return the keyword arguments of a call as a mapping, `**` included; `Either` of several where that may be."""
    found: Any = {}
    for one in call.keywords:
        added = {one.arg: scope.value(one.value)} if one.arg else scope.value(one.value)
        found = merged(found, added)
    return found


def _follow(scope: Place, body: list[ast.stmt], found: list[Any]) -> bool:
    """Follow statements; True where they end with a return."""
    for node in body:
        match node:
            case ast.Return():
                found.append(scope.value(node.value))
                return True
            case ast.Expr(value=ast.Yield(value=value)):
                found.append(scope.value(value))
            case ast.If():
                is_taken = branch_in_ci(scope, node.test)
                taken = node.body if is_taken else node.orelse
                if _branch(scope, node, found) if is_taken is None else _follow(scope, taken, found):
                    return True
            case ast.With() | ast.AsyncWith() | ast.Try() | ast.For():
                if _follow(scope, node.body, found):
                    return True
            case _:
                assign(scope, node)
    return False


def _branch(scope: Place, node: ast.If, found: list[Any]) -> bool:
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
        name: either(then.get(name, UNTOLD), scope.local.get(name, UNTOLD)) for name in {**then, **scope.local}
    }
    return False


def _copied(local: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, dict | list) else value for name, value in local.items()}


def assign(scope: Place, node: ast.stmt) -> None:
    """Follow what a statement binds, or changes of what is bound."""
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value)
        ):
            about_ci = branch_in_ci(scope, value) if value is not None else None
            bound = scope.value(value) if about_ci is None else Ci(about_ci)
            scope.local[name] = bound.copy() if isinstance(bound, dict | list) else bound
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)], value=value):
            _put(scope, name, scope.value(key), scope.value(value))
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name), attr=attr)], value=value):
            if isinstance(made := scope.local.get(name), Recorder):
                scope.local[name] = replace(made, says=merged(made.says, {attr: scope.value(value)}))
        case ast.AugAssign(target=ast.Name(id=name), value=value, op=op):
            scope.local[name] = joined(op, scope.local.get(name, UNTOLD), scope.value(value))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update")) as call):
            for given in (*map(scope.value, call.args), keywords(scope, call)):
                scope.local[name] = merged(scope.local.get(name, UNTOLD), given)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item])):
            held = scope.local.get(name)
            scope.local[name] = [*held, scope.value(item)] if isinstance(held, list) else UNTOLD
        case _:
            pass


def _put(scope: Place, name: str, key: Any, value: Any) -> None:
    if name in scope.local:
        scope.local[name] = merged(scope.local[name], {(key if isinstance(key, str) else REST): value})

"""What the matchers of a project compare: the text of a function tells whether that is the whole body."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator

from onetake.doctor.modules import dotted
from onetake.vcrwords.matching import BODIES

_LOSSLESS = frozenset({"bytes", "str", "dict", "repr", "loads", "dumps", "decode", "encode", "bool"})
"""Functions and methods that leave all of a body in what they return, by their last names."""
_ASKING = (ast.Compare, ast.UnaryOp, ast.BoolOp, ast.If, ast.IfExp, ast.Tuple)
"""Where a name may stand without being changed."""


def compares_body(function: ast.AST, full: Callable[[str], str]) -> bool | None:
    """Tell whether a matcher compares bodies: whole ones; None where it looks at them, or may, in another way.

    Args:
        function: A function or a lambda of two requests.
        full: Gives the dotted name that a name in its file was imported as.
    """
    text = _Text(function, full)
    if not text.may_see_bodies():
        return False
    decisions = list(text.decisions())
    return True if decisions and all(map(text.is_whole, decisions)) else None


def _is_body(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in BODIES


class _Text:
    """One function: its names, and how they come from bodies."""

    def __init__(self, function: ast.AST, full: Callable[[str], str]) -> None:
        self._function = function
        self._full = full
        self._requests = {one.arg for one in ast.walk(function) if isinstance(one, ast.arg)}
        self._parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
        self._whole: set[str] = set()
        """Names that stand for a whole body."""
        self._derived: set[str] = set()
        """Names that stand for anything of a body."""
        bound = list(self._bound())
        times = Counter(name for name, _ in bound)
        for name, value in bound:
            if self._is_of_body(value):
                self._derived.add(name)
            if times[name] == 1 and self._has_whole(value) and self._is_kept(name):
                self._whole.add(name)

    def may_see_bodies(self) -> bool:
        """Tell whether it looks at a body, or gives a request to a function that may."""
        nodes = list(ast.walk(self._function))
        calls = (one for one in nodes if isinstance(one, ast.Call) and self._gets_request(one))
        return any(map(_is_body, nodes)) or any(self._matcher(one) in (*BODIES, "") for one in calls)

    def _gets_request(self, call: ast.Call) -> bool:
        return any(isinstance(one, ast.Name) and one.id in self._requests for one in call.args)

    def _matcher(self, call: ast.AST) -> str:
        """Return the name of vcrpy's matcher that is called, empty where it is another function."""
        name = self._full(dotted(call)) if isinstance(call, ast.Call) else ""
        return name.rpartition(".")[2] if name.startswith("vcr.matchers.") else ""

    def decisions(self) -> Iterator[ast.expr]:
        """Yield the conditions about bodies on which it hangs whether two requests match."""
        for node in ast.walk(self._function):
            match node:
                case ast.Lambda(body=said) | ast.Return(value=ast.expr() as said) | ast.Assert(test=said):
                    if self._is_of_body(said):
                        yield said
                case ast.Expr(value=said) if self._matcher(said) in BODIES:
                    yield said
                case ast.If(test=said) if self._is_of_body(said) and any(map(_is_equation, ast.walk(said))):
                    yield said

    def is_whole(self, said: ast.expr) -> bool:
        """Tell whether a condition is false where whole bodies differ."""
        match said:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
                return self._has_whole(left) and self._has_whole(right)
            case ast.BoolOp(op=ast.And(), values=values):
                return any(map(self.is_whole, values))
            case ast.BoolOp(values=values):
                return all(map(self.is_whole, values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.is_whole(operand)
            case ast.Call():
                return self._matcher(said) in BODIES
        return False

    def _has_whole(self, value: ast.expr) -> bool:
        match value:
            case ast.Attribute():
                return _is_body(value)
            case ast.Name(id=name):
                return name in self._whole
            case ast.Call(func=ast.Attribute(value=base, attr="decode" | "encode")):
                return self._has_whole(base)
            case ast.Call(args=[first, *_]) if dotted(value).rpartition(".")[2] in _LOSSLESS:
                return self._has_whole(first)
            case ast.BoolOp(op=ast.Or(), values=[first, ast.Constant()]):
                return self._has_whole(first)
            case ast.IfExp(body=first):
                return self._has_whole(first)
            case ast.Tuple(elts=parts):
                return any(map(self._has_whole, parts))
        return False

    def _is_of_body(self, value: ast.AST) -> bool:
        return any(
            _is_body(one) or self._matcher(one) in BODIES or (isinstance(one, ast.Name) and one.id in self._derived)
            for one in ast.walk(value)
        )

    def _is_kept(self, name: str) -> bool:
        """Tell whether nothing can change what a name stands for, or take a part of it."""
        uses = (one for one in ast.walk(self._function) if isinstance(one, ast.Name) and one.id == name)
        return all(self._changes_nothing(self._parents[one]) for one in uses if isinstance(one.ctx, ast.Load))

    def _changes_nothing(self, around: ast.AST) -> bool:
        is_call = isinstance(around, ast.Call | ast.Attribute)
        return isinstance(around, _ASKING) or (is_call and _last(around) in {*_LOSSLESS, "isinstance"})

    def _bound(self) -> Iterator[tuple[str, ast.expr]]:
        for node in ast.walk(self._function):
            match node:
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                    yield from ((dotted(name), value) for name, value in zip(names, values, strict=False))
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    yield name, value


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else dotted(node).rpartition(".")[2]


def _is_equation(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq)

"""Tell whether an error that was raised has been caught by its name.

A program that catches a `ContractError` and repairs or counts it has handled it. A framework that catches everything
has swallowed it. Nothing in Python tells the two apart when it happens, but afterwards the traceback begins in the
frame that caught, and the source of that frame says which of its handlers that was.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from onetake.errors import OnetakeError

if TYPE_CHECKING:
    import ast


def was_handled(error: OnetakeError) -> bool:
    """Tell whether the handler that caught an error names it, or an onetake class above it.

    Args:
        error: An error that was raised.

    Returns:
        True for `except ContractError:`, `except onetake.Refusal:`, `with pytest.raises(ContractError):` and alike,
        where the source cannot be read, and where the traceback was taken off, as `assertRaises` does; False for
        `except Exception:`, `except BaseException:`, a bare `except:` or an error that is still on its way. Of several
        handlers around the place the innermost that takes the error and does not raise it again counts.
    """
    trace = error.__traceback__
    if trace is None:
        return True
    frame, line = trace.tb_frame, trace.tb_lineno
    tree = _source(frame)
    if tree is None:
        return True
    for node in _around(tree, line):
        kinds = _taken_by(node, frame, error)
        if kinds:
            return any(issubclass(kind, OnetakeError) for kind in kinds)
    return False


_SHARED_NAMES = frozenset(("<string>", "<stdin>"))
"""What every text that is executed is called; from Python 3.13 on the lines under such a name may be another one's."""


def _source(frame: FrameType) -> ast.Module | None:
    import ast
    import linecache

    if frame.f_code.co_filename in _SHARED_NAMES:
        return None
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    try:
        return ast.parse("".join(lines)) if lines else None
    except (SyntaxError, ValueError, RecursionError, SystemError):
        return None  # the last of these is Python 3.11's, of a parser that is asked deep in the stack


def _around(tree: ast.AST, line: int) -> list[ast.AST]:
    """Return the statements that hold a line in their guarded body, the innermost first."""
    import ast

    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Try | ast.TryStar | ast.With | ast.AsyncWith):
            first, last = node.body[0].lineno, node.body[-1].end_lineno or line
            if first <= line <= last:
                found.append((first, -last, node))
    return [node for *_, node in sorted(found, key=lambda place: place[:2], reverse=True)]


def _taken_by(node: ast.AST, frame: FrameType, error: OnetakeError) -> list[type]:
    """Return the classes by which a statement takes an error for good; none where it lets it through."""
    import ast

    if isinstance(node, ast.Try | ast.TryStar):
        for handler in node.handlers:
            kinds = list(_classes(handler.type, frame)) if handler.type else [BaseException]
            if taking := [kind for kind in kinds if isinstance(error, kind)]:
                return [] if _raises_again(handler) else taking
    elif isinstance(node, ast.With | ast.AsyncWith):
        kinds = [kind for item in node.items for kind in _expected(item.context_expr, frame)]
        return [kind for kind in kinds if isinstance(error, kind)]
    return []


def _raises_again(handler: ast.ExceptHandler) -> bool:
    """Tell whether a handler ends in raising what it caught."""
    import ast

    last = handler.body[-1]
    if not isinstance(last, ast.Raise):
        return False
    return last.exc is None or (isinstance(last.exc, ast.Name) and last.exc.id == handler.name)


def _expected(item: ast.expr, frame: FrameType) -> Iterator[type]:
    """Yield the classes that a `with` item names in its call, or holds where it was made before."""
    import ast

    if isinstance(item, ast.Call):
        for given in (*item.args, *(keyword.value for keyword in item.keywords)):
            yield from _classes(given, frame)
        return
    manager = _value(item, frame)
    for held in getattr(manager, "__dict__", {}).values():
        yield from _classes_in(held)


def _classes(name: ast.expr, frame: FrameType) -> Iterator[type]:
    import ast

    for part in name.elts if isinstance(name, ast.Tuple) else [name]:
        yield from _classes_in(_value(part, frame))


def _classes_in(value: Any) -> Iterator[type]:
    for one in value if isinstance(value, tuple) else [value]:
        if isinstance(one, type) and issubclass(one, BaseException):
            yield one


def _value(name: ast.expr, frame: FrameType) -> Any:
    """Look a plain or dotted name up as the frame saw it; nothing of the program is called."""
    import ast

    if isinstance(name, ast.Attribute):
        owner = _value(name.value, frame)
        return getattr(owner, name.attr, None) if isinstance(owner, ModuleType | type) else None
    if isinstance(name, ast.Name):
        for scope in (frame.f_locals, frame.f_globals, vars(builtins)):
            if name.id in scope:
                return scope[name.id]
    return None

"""Tell whether an error that was raised has been caught by its name.

A program that catches a `ContractError` and repairs or counts it has handled it. A framework that catches everything
has swallowed it. Nothing in Python tells the two apart when it happens, but afterwards the traceback ends in the frame
that caught, and the source of that frame says what its handler names.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from onetake.errors import OnetakeError

if TYPE_CHECKING:
    import ast


def was_handled(error: OnetakeError) -> bool:
    """Tell whether the frame that caught an error names it, or an onetake class above it.

    Args:
        error: An error that was raised at some time.

    Returns:
        True for `except ContractError:`, `except onetake.Refusal:`, `with pytest.raises(ContractError):` and alike,
        and where the source cannot be read; False for `except Exception:`, `except BaseException:`, a bare `except:`
        or an error that is still on its way.
    """
    trace = error.__traceback__
    if trace is None:
        return False
    frame, line = trace.tb_frame, trace.tb_lineno
    tree = _source(frame)
    if tree is None:
        return True
    names = [name for node in _around(tree, line) for name in _caught_by(node)]
    return any(_is_ours(name, frame, error) for name in names)


def _source(frame: FrameType) -> ast.Module | None:
    import ast
    import linecache

    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    try:
        return ast.parse("".join(lines)) if lines else None
    except (SyntaxError, ValueError):
        return None


def _around(tree: ast.AST, line: int) -> Iterator[ast.AST]:
    """Yield the statements that hold a line in their guarded body."""
    import ast

    for node in ast.walk(tree):
        if isinstance(node, ast.Try | ast.TryStar | ast.With | ast.AsyncWith):
            first, last = node.body[0].lineno, node.body[-1].end_lineno or line
            if first <= line <= last:
                yield node


def _caught_by(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that a handler, or the call of a `with` item, names."""
    import ast

    if isinstance(node, ast.Try | ast.TryStar):
        for handler in node.handlers:
            kind = handler.type
            yield from kind.elts if isinstance(kind, ast.Tuple) else [kind] if kind else []
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            if isinstance(item.context_expr, ast.Call):
                for given in item.context_expr.args:
                    yield from given.elts if isinstance(given, ast.Tuple) else [given]


def _is_ours(name: ast.expr, frame: FrameType, error: OnetakeError) -> bool:
    found = _value(name, frame)
    return isinstance(found, type) and issubclass(found, OnetakeError) and isinstance(error, found)


def _value(name: ast.expr, frame: FrameType) -> Any:
    """Look a plain or dotted name up as the frame saw it; nothing is called."""
    import ast

    if isinstance(name, ast.Attribute):
        return getattr(_value(name.value, frame), name.attr, None)
    if isinstance(name, ast.Name):
        return frame.f_locals.get(name.id, frame.f_globals.get(name.id))
    return None

"""One Python file, parsed: what its names mean, its functions, its comments."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class ImportedName:
    """What a name was imported as: a module, or a name in one."""

    module: str
    """Dotted; with the dots before it where it is relative."""
    name: str | None
    """None where the module itself is meant."""


@dataclass(frozen=True)
class Module:
    """A Python file, as it is seen from its top or from inside a function.

    Args:
        path: Where it is.
        text: Its text.
        tree: Its text, parsed.
        inside: The function whose imports count as well.
        top: The file as it is seen from its top, None where this is that.
    """

    path: Path
    text: str = field(repr=False)
    tree: ast.Module = field(repr=False)
    inside: Function | None = field(default=None, repr=False)
    top: Module | None = field(default=None, repr=False)

    def at(self, function: Function | None) -> Module:
        """Return the file as it is seen from inside a function, or from its top."""
        top = self.top or self
        return top if function is None else Module(self.path, self.text, self.tree, function, top)

    @cached_property
    def names(self) -> dict[str, ast.AST | ImportedName]:
        """What the names at the top of the file mean, the last binding of each; also those bound in `if` and `try`."""
        found: dict[str, ast.AST | ImportedName] = dict(self.top.names) if self.top else {}
        for node in statements(self.tree.body) if self.inside is None else ast.walk(self.inside):
            if isinstance(node, ast.stmt) and (self.inside is None or isinstance(node, ast.Import | ast.ImportFrom)):
                found.update(_bound(node))
        return found

    @cached_property
    def stars(self) -> tuple[str, ...]:
        """The modules of which all names are imported."""
        imports = (node for node in statements(self.tree.body) if isinstance(node, ast.ImportFrom))
        return tuple(_source(one) for one in imports if any(alias.name == "*" for alias in one.names))

    @cached_property
    def comments(self) -> tuple[tuple[int, str], ...]:
        """Its comments, each with its line."""
        found: list[tuple[int, str]] = []
        try:
            for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
                if token.type == tokenize.COMMENT:
                    found.append((token.start[0], token.string.lstrip("#").strip()))
        except (tokenize.TokenError, SyntaxError, RecursionError):
            pass  # what was read up to there counts
        return tuple(found)

    @cached_property
    def functions(self) -> tuple[tuple[str, Function, ast.ClassDef | None], ...]:
        """Its functions and methods by their qualified names, with the class they lie in; those inside others not."""
        return tuple(_functions(self.tree.body, "", None))

    @cached_property
    def enclosing(self) -> dict[ast.ClassDef, tuple[ast.ClassDef, ...]]:
        """Its classes, each with those that it lies in, the outermost first, and itself."""
        return {chain[-1]: chain for chain in _classes(self.tree.body, ())}


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements that run where they stand, also those in `if`, `try` and `with`; none of a function or class."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.AsyncWith | ast.Try | ast.TryStar):
            for name in ("body", "orelse", "finalbody"):
                yield from statements(getattr(node, name, []))
            for handler in getattr(node, "handlers", []):
                yield from statements(handler.body)


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for such an expression, also for what is called by it; empty for any other."""
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return node.id if isinstance(node, ast.Name) else ""


def fixture_name(node: ast.AST) -> str:
    """Return what a function is called as a fixture: its own name, where its decorator gives no other."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    for one in node.decorator_list:
        for given in one.keywords if isinstance(one, ast.Call) and dotted(one).endswith("fixture") else ():
            if given.arg == "name" and isinstance(given.value, ast.Constant):
                return str(given.value.value)
    return node.name


def _functions(
    body: list[ast.stmt], prefix: str, owner: ast.ClassDef | None
) -> Iterator[tuple[str, Function, ast.ClassDef | None]]:
    for node in statements(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node, owner
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.", node)


def _classes(body: list[ast.stmt], around: tuple[ast.ClassDef, ...]) -> Iterator[tuple[ast.ClassDef, ...]]:
    for node in statements(body):
        if isinstance(node, ast.ClassDef):
            yield (*around, node)
            yield from _classes(node.body, (*around, node))


def _bound(node: ast.stmt) -> Iterator[tuple[str, ast.AST | ImportedName]]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name, node
        case ast.Assign():
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.Import():
            for alias in node.names:
                top = alias.name.partition(".")[0]
                yield (alias.asname, ImportedName(alias.name, None)) if alias.asname else (top, ImportedName(top, None))
        case ast.ImportFrom():
            for alias in node.names:
                yield alias.asname or alias.name, ImportedName(_source(node), alias.name)


def _source(node: ast.ImportFrom) -> str:
    return "." * node.level + (node.module or "")

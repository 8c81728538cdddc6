"""The matchers that a project registers with vcrpy, by their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property, partial

from onetake.doctor.matching import compares_body
from onetake.doctor.modules import Module, dotted
from onetake.doctor.sources import Sources
from onetake.vcrwords.matching import BODIES, is_known


class Matchers:
    """The matchers of a project.

    Args:
        sources: The project.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def compares_body(self, compared: tuple[str, ...] | None) -> bool | None:
        """Tell whether one of vcrpy's words, or of a project's own, compares bodies; None where that cannot be told."""
        if compared is None:
            return None
        found = [self._own.get(word, word in BODIES if is_known(word, {}) else None) for word in compared]
        return True if True in found else None if None in found else False

    @cached_property
    def _own(self) -> dict[str, bool | None]:
        found: dict[str, bool | None] = {}
        for module, name, function in self._registered():
            said = self._looks_at_body(module, function)
            found[name] = said if found.get(name, said) == said else None
        return found

    def _registered(self) -> Iterator[tuple[Module, str, ast.expr]]:
        for module in self._sources.mentioning(b"register_matcher"):
            for node in ast.walk(module.tree):
                match node:
                    case ast.Call(
                        func=ast.Attribute(attr="register_matcher"), args=[ast.Constant(value=str(name)), function]
                    ):
                        yield module, name, function

    def _looks_at_body(self, module: Module, function: ast.expr) -> bool | None:
        full = partial(self._sources.imported_as, module)
        if isinstance(function, ast.Lambda):
            return compares_body(function, full)
        name = dotted(function)
        seen = self._sources.lookup(module, name) if name else None
        if seen is not None:
            return compares_body(seen[1], partial(self._sources.imported_as, seen[0]))
        if full(name).startswith("vcr."):
            return name.rpartition(".")[2] in BODIES
        node = _inside(module, name)
        return None if node is None else compares_body(node, full)


def _inside(module: Module, name: str) -> ast.AST | None:
    """Find a function that is made inside another one."""
    for node in ast.walk(module.tree):
        match node:
            case ast.FunctionDef() if node.name == name:
                return node
            case ast.Assign(targets=[ast.Name(id=bound)], value=ast.Lambda() as made) if bound == name:
                return made
    return None

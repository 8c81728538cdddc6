"""The fixtures that count for a test: of its class, of a class that this is made from, its file, or around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onetake.doctor.evaluation import Scope
from onetake.doctor.following import returned
from onetake.doctor.modules import Function, Module, fixture_name
from onetake.doctor.sources import Sources
from onetake.doctor.values import UNTOLD, items

_DEEPEST = 6
"""Fixtures that are followed, one asking for the other."""


class Fixtures:
    """The fixtures of a project, found when they are asked for.

    Args:
        sources: The project.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._around: dict[Path, tuple[Module, ...]] = {}

    def find(
        self, module: Module, owner: ast.ClassDef | None, name: str, beneath: ast.AST | None = None
    ) -> tuple[Module, ast.AST] | None:
        """Find what a fixture of that name is to a test: a function, or what else has its name.

        Args:
            module: The file with the test.
            owner: Its class.
            name: The fixture's.
            beneath: The fixture of the same name that asks for it; None for the one that the test gets.
        """
        is_beneath = beneath is None
        for place, node in self._candidates(module, owner, name):
            if is_beneath:
                return place, node
            is_beneath = node is beneath
        return None

    def function(self, module: Module, owner: ast.ClassDef | None, name: str) -> tuple[Module, Function] | None:
        """Find the function that a fixture of that name is to a test."""
        found = self.find(module, owner, name)
        is_one = found is not None and isinstance(found[1], ast.FunctionDef | ast.AsyncFunctionDef)
        return found if is_one else None  # type: ignore[return-value]  # the pair is narrowed by its second part

    def value(
        self, module: Module, owner: ast.ClassDef | None, place: Module, node: ast.AST, depth: int = _DEEPEST
    ) -> Any:
        """Return what a fixture gives to a test; what it asks for are the fixtures that count for the test.

        Args:
            module: The file with the test.
            owner: Its class.
            place: The file with the fixture.
            node: The fixture.
            depth: How many more fixtures are followed.
        """
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return UNTOLD
        given: dict[str, Any] = {}
        for argument in (*node.args.args, *node.args.kwonlyargs):
            asked = argument.arg
            found = self.find(module, owner, asked, node if asked == fixture_name(node) else None) if depth else None
            given[asked] = self.value(module, owner, *found, depth - 1) if found else _OF_PLUGINS.get(asked, UNTOLD)
        return returned(Scope(self._sources, place, given), node)

    def around(self, folder: Path) -> tuple[Module, ...]:
        """Return the files besides its own whose fixtures count for a file in a folder, the nearest first.

        These are the `conftest.py` files in the folder and above, and what `pytest_plugins` names.
        """
        if folder not in self._around:
            paths = (each / "conftest.py" for each in self._sources.folders_above(folder / "conftest.py"))
            found = [one for path in paths if path.is_file() and (one := self._sources.module(path))]
            for place in found:  # grows: a plugin may name others
                found += [one for one in self._plugins(place) if one not in found]
            self._around[folder] = tuple(found)
        return self._around[folder]

    def _plugins(self, module: Module) -> list[Module]:
        node = module.names.get("pytest_plugins")
        value = Scope(self._sources, module).value(node) if isinstance(node, ast.AST) else ()
        names = (value,) if isinstance(value, str) else items(value)
        found = (self._sources.imported(module, name) for name in names if isinstance(name, str))
        return [one for one in found if one is not None]

    def _candidates(self, module: Module, owner: ast.ClassDef | None, name: str) -> Iterator[tuple[Module, ast.AST]]:
        if owner is not None:
            for place, one in self._sources.lineage(module, owner):
                for node in one.body:
                    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and fixture_name(node) == name:
                        yield place, node
        for place in (module, *self.around(module.path.parent)):
            named = next((node for node in place.tree.body if fixture_name(node) == name != _name(node)), None)
            if named is not None:
                yield place, named
            elif (found := self._sources.lookup(place, name)) is not None and _may_be_fixture(found[1]):
                yield found


_OF_PLUGINS: dict[str, Any] = {"vcr_config": {}}
"""What fixtures give that a plugin has, where a project has none."""


def _may_be_fixture(node: ast.AST) -> bool:
    """Tell whether a name's meaning may be a fixture: a function that something decorates, or what a call made."""
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return bool(node.decorator_list) if is_function else isinstance(node, ast.Call)  # type: ignore[attr-defined]


def _name(node: ast.AST) -> str:
    return getattr(node, "name", "")

"""The marks of tests: on themselves, their classes, their files, or added by a hook."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from onetake.doctor.configurations import Said, said
from onetake.doctor.evaluation import Scope
from onetake.doctor.fixtures import Fixtures
from onetake.doctor.following import keywords
from onetake.doctor.modules import Function, Module, dotted
from onetake.doctor.sources import Sources
from onetake.doctor.values import either


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark.

    Args:
        place: The file it stands in.
        node: `pytest.mark.vcr`, or a call of it.
        is_sure: False for one that a hook adds on a condition.
    """

    place: Module
    node: ast.expr
    is_sure: bool = True


class Marks:
    """The marks of the tests of one file.

    Args:
        sources: The project.
        fixtures: Its fixtures, and the files that they stand in.
        module: The file.
    """

    def __init__(self, sources: Sources, fixtures: Fixtures, module: Module) -> None:
        self._sources = sources
        self._fixtures = fixtures
        self._module = module

    def around(self, owner: ast.ClassDef | None, mark: str = "vcr") -> list[Mark]:
        """Return the marks of all tests of a class, the weakest first: of the file, of its classes.

        Args:
            owner: The class.
            mark: Which marks.
        """
        found = list(self._assigned(self._module, self._module.tree.body, mark))
        for outer in self._module.enclosing.get(owner, (owner,)) if owner else ():
            for place, one in reversed(self._sources.lineage(self._module, outer)):
                found += [*self._assigned(place, one.body, mark), *self.decorating(place, one, mark)]
        return found

    @cached_property
    def added(self) -> tuple[Mark, ...]:
        """The `vcr` marks that hooks may add to tests of the file."""
        places = (self._module, *self._fixtures.around(self._module.path.parent))
        asked = (place for place in places if "add_marker" in place.text and "vcr" in place.text)
        return tuple(mark for place in asked for mark in self._added_in(place))

    def said(self, mark: Mark) -> Said:
        """Return what a mark says to vcrpy."""
        says = keywords(Scope(self._sources, mark.place), mark.node) if isinstance(mark.node, ast.Call) else {}
        return said(mark.place, mark.node, "vcr marker", says if mark.is_sure else either(says, {}))

    def arguments(self, mark: Mark) -> list[Any]:
        """Return what stands in a mark without a keyword."""
        scope = Scope(self._sources, mark.place)
        return [scope.value(one) for one in mark.node.args] if isinstance(mark.node, ast.Call) else []

    def _assigned(self, place: Module, body: list[ast.stmt], mark: str) -> Iterator[Mark]:
        for node in body:
            match node:
                case (
                    ast.Assign(targets=[ast.Name("pytestmark")], value=value)
                    | ast.AnnAssign(target=ast.Name("pytestmark"), value=ast.expr() as value)
                    | ast.AugAssign(target=ast.Name("pytestmark"), value=value)
                ):
                    yield from self._marks_in(place, value, mark)

    def _marks_in(self, place: Module, value: ast.AST, mark: str, depth: int = 4) -> Iterator[Mark]:
        """Yield the marks of an expression: one, a list of several, a name for either, a function that gives one."""
        if isinstance(value, ast.expr) and dotted(value).endswith(f"mark.{mark}"):
            yield Mark(place, value)
            return
        match value:
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                pass
            case ast.Starred(value=inner):
                parts = [inner]
            case ast.FunctionDef():
                # `mark.vcr(…)(function)` is no mark itself: the call in it is
                nodes = [one for one in ast.walk(value) if isinstance(one, ast.Call | ast.Attribute)]
                parts = [one for one in nodes if isinstance(getattr(one, "func", one), ast.Attribute)]
                parts = [one for one in parts if dotted(one).endswith(f"mark.{mark}")][:1]
            case _:
                name = dotted(value)
                found = self._sources.lookup(place, name) if name and depth else None
                yield from self._marks_in(*found, mark, depth - 1) if found else ()
                return
        for one in parts:
            yield from self._marks_in(place, one, mark, depth)

    def decorating(self, place: Module, node: Function | ast.ClassDef, mark: str = "vcr") -> Iterator[Mark]:
        """Yield the marks that decorate a function or a class, the weakest first, also those of its parameters."""
        for one in reversed(node.decorator_list):
            yield from self._marks_in(place, one, mark)
            if dotted(one).endswith("mark.parametrize"):
                given = (each for each in ast.walk(one) if isinstance(each, ast.keyword) and each.arg == "marks")
                for each in given:
                    yield from self._marks_in(place, each.value, mark)

    def _added_in(self, place: Module) -> Iterator[Mark]:
        for _, function, _ in place.functions:
            bound = {dotted(one.targets[0]): one.value for one in ast.walk(function) if isinstance(one, ast.Assign)}
            asked = [one for one in ast.walk(function) if isinstance(one, ast.If)]
            for node in ast.walk(function):
                match node:
                    case ast.Call(func=ast.Attribute(attr="add_marker"), args=[given, *_]):
                        given = bound.get(dotted(given), given) if isinstance(given, ast.Name) else given
                        is_word = isinstance(given, ast.Constant) and given.value == "vcr"
                        is_sure = not any(node in ast.walk(one) for one in asked)
                        marks = [Mark(place, given)] if is_word else self._marks_in(place, given, "vcr")
                        yield from (replace(one, is_sure=is_sure) for one in marks)

"""What a project says to vcrpy: the `vcr_config` fixture, `VCR(...)`, `use_cassette(...)`, markers, hooks, matchers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onetake.doctor.evaluation import Scope
from onetake.doctor.fixtures import Fixtures
from onetake.doctor.following import keywords
from onetake.doctor.modules import Function, Module, dotted
from onetake.doctor.sources import Sources
from onetake.doctor.values import REST, UNTOLD, Recorder, either, options
from onetake.vcrwords.matching import DEFAULT

_TOLD = (
    *("match_on", "additional_matchers", "record_mode"),
    *("ignore_hosts", "ignore_localhost", "cassette_library_dir"),
)
"""Keywords that are looked for in the text."""


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """What one place says to vcrpy.

    Args:
        path: The file.
        line: From 1.
        kind: `vcr_config`, `VCR`, `use_cassette`, `vcr marker` or `hook`.
        says: Its keywords, a mapping, or what `Either` of several may be said; `REST` is a key where more may be.
        lines: The line of each keyword that stands in the text there.
        end: The last line of it.
    """

    path: Path
    line: int
    kind: str
    says: Any = field(repr=False)
    lines: Mapping[str, int] = field(default_factory=dict, repr=False)
    end: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """What holds for one keyword.

    Args:
        values: What it may be; empty where nobody says it.
        by: The strongest place that says it, None where nobody does.
    """

    values: tuple[Any, ...]
    by: Said | None


def told(layers: Iterable[Said], name: str) -> Told:
    """Tell what holds for a keyword.

    Args:
        layers: The places that speak, the weakest first.
        name: The keyword.
    """
    found: list[Any] = []
    by: Said | None = None
    for layer in reversed(tuple(layers)):
        silent = False
        for said in options(layer.says):
            if isinstance(said, dict) and name in said:
                found += options(said[name])
                by = by or layer
            elif not isinstance(said, dict) or REST in said:
                found.append(UNTOLD)
                by = by or layer
            else:
                silent = True
        if not silent:
            break
    else:
        if found and by is not None:
            found.append(None)  # where one way to configure it says nothing, vcrpy's own default holds
    return Told(tuple(found), by)


def words(layers: tuple[Said, ...]) -> tuple[tuple[str, ...] | None, ...]:
    """Return what may be compared, each a set of vcrpy's words; None for one that cannot be told."""
    more = [one for value in told(layers, "additional_matchers").values for one in _words(value) or ()]
    found = []
    for value in told(layers, "match_on").values or (None,):
        one = DEFAULT if value is None else _words(value)
        found.append(None if one is None else (*one, *more))
    return tuple(found)


def _words(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple | set) and all(isinstance(one, str) for one in value):
        return tuple(value)
    return None


class Configurations:
    """The places of a project that speak to vcrpy, found when they are asked for.

    Args:
        sources: The project.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.fixtures = Fixtures(sources)
        self._said: dict[tuple[Path, ast.ClassDef | None, str], Said | None] = {}
        self._hooks: dict[Path, list[Said]] = {}

    def fixture(self, module: Module, owner: ast.ClassDef | None, name: str = "vcr_config") -> Said | None:
        """Return what the fixture of that name says to the tests of a class or a file; None where there is none.

        Args:
            module: The file with the tests.
            owner: Their class.
            name: The fixture's.
        """
        key = module.path, owner, name
        if key not in self._said:
            found = self.fixtures.find(module, owner, name)
            value = self.fixtures.value(module, owner, *found) if found else None
            self._said[key] = said(*found, name, value) if found else None
        return self._said[key]

    def around(self, folder: Path) -> tuple[Said, ...]:
        """Return what the `conftest.py` files of a folder and above say to every test there."""
        near = self.fixtures.around(folder)
        config = self.fixture(near[0], None) if near else None
        return (*(self.hooks(near[0]) if near else ()), *([config] if config else []))

    def hooks(self, module: Module) -> tuple[Said, ...]:
        """Return what the `pytest_recording_configure` hooks around a file set on the recorder."""
        return tuple(one for place in reversed(self.fixtures.around(module.path.parent)) for one in self._hook(place))

    def _hook(self, place: Module) -> list[Said]:
        if place.path not in self._hooks:
            node = place.names.get("pytest_recording_configure")
            scope = Scope(self._sources, place)
            found = _set_on(scope, node, "hook", place.path) if isinstance(node, ast.FunctionDef) else []
            self._hooks[place.path] = found
        return self._hooks[place.path]

    def instance(
        self, module: Module, base: ast.expr, around: tuple[Function, ...], owner: ast.ClassDef | None
    ) -> tuple[Said, ...]:
        """Return what is said where a recorder was made.

        Args:
            module: The file that uses it.
            base: The expression that stands for it, as `vcr` in `vcr.use_cassette`.
            around: The functions that the use stands in, the innermost first.
            owner: Their class.
        """
        name = dotted(base)
        is_module = self._sources.imported_as(module, name) == "vcr" and not isinstance(base, ast.Call)
        if not name or (is_module and not _is_bound_in(owner, name)):
            return ()
        place, node = self._made(module, base, name, around, owner)
        made = self._recorders(module, owner, place, node)
        if made is None:
            return (Said(module.path, base.lineno, "VCR", {REST: UNTOLD}),)
        scope = Scope(self._sources, place)
        return made, *_set_on(scope, place.tree, "VCR", place.path, name.rpartition(".")[2])

    def _recorders(
        self, module: Module, owner: ast.ClassDef | None, place: Module, node: ast.AST | None
    ) -> Said | None:
        """Return what is said to the recorders that an expression, or a function that returns them, may give."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            value = self.fixtures.value(module, owner, place, node)
        else:
            value = Scope(self._sources, place).value(node)
        made = options(value)
        if all(isinstance(one, Recorder) for one in made):
            return said(made[0].module, made[0].node, "VCR", either(*(one.says for one in made)))
        call = _recorder_in(self._sources, place, node) if node is not None else None
        return said(place, call, "VCR", keywords(Scope(self._sources, place), call)) if call else None

    def _made(
        self, module: Module, base: ast.expr, name: str, around: tuple[Function, ...], owner: ast.ClassDef | None
    ) -> tuple[Module, ast.AST | None]:
        """Find what makes a recorder: an expression, or a function that returns it."""
        head, _, last = name.partition(".")
        lineage = self._sources.lineage(module, owner) if owner else []
        if isinstance(base, ast.Call):
            methods = (one for _, each in lineage for one in each.body if getattr(one, "name", None) == last)
            method = next(methods, None) if head in ("self", "cls") else None
            return module, method or base
        here = [*((module, one) for one in around), *(lineage if head in ("self", "cls") or not last else [])]
        for place, node in here:
            for one in ast.walk(node) if isinstance(node, Function) or last else node.body:
                if isinstance(one, ast.Assign) and any(dotted(target) in (name, last) for target in one.targets):
                    return place, one.value
        if (found := self._sources.lookup(module, name)) is not None:
            return found
        fixture = self.fixtures.function(module, owner, head)
        return fixture or (module, None)


def said(module: Module, node: ast.AST, kind: str, value: Any) -> Said:
    """Make what a place says, with the lines of its keywords."""
    lines: dict[str, int] = {}
    for one in ast.walk(node):
        match one:
            case ast.keyword(arg=str(name)) if name in _TOLD:
                lines.setdefault(name, one.lineno)
            case ast.Constant(value=str(name)) if name in _TOLD:
                lines.setdefault(name, one.lineno)
    line = getattr(node, "lineno", 1)
    return Said(module.path, line, kind, value, lines, getattr(node, "end_lineno", line))


def _recorder_in(sources: Sources, module: Module, node: ast.AST) -> ast.Call | None:
    """Find the call that makes a recorder in an expression, or in a function that returns one."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and sources.imported_as(module, dotted(one.func)).rpartition(".")[2] == "VCR":
            return one
    return None


def _is_bound_in(owner: ast.ClassDef | None, name: str) -> bool:
    assigned = (one for one in (owner.body if owner else ()) if isinstance(one, ast.Assign))
    return any(dotted(target) == name for one in assigned for target in one.targets)


def _set_on(scope: Scope, node: ast.AST, kind: str, path: Path, name: str = "") -> list[Said]:
    """Return what is set on a recorder after it was made, as by `my_vcr.match_on = …`."""
    found = []
    for one in ast.walk(node):
        match one:
            case ast.Assign(targets=[ast.Attribute(attr=attr, value=ast.Name(id=owner))]) if attr in _TOLD:
                if not name or owner == name:
                    says = {attr: either(scope.value(one.value))}
                    found.append(Said(path, one.lineno, kind, says, {attr: one.lineno}, one.end_lineno or one.lineno))
    return found

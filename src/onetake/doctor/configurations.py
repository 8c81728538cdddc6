"""What a project says to vcrpy: the `vcr_config` fixture, `VCR(...)`, `use_cassette(...)`, markers, hooks, matchers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from onetake.doctor.evaluation import Scope, keywords, returned
from onetake.doctor.sources import Function, Module, Sources, dotted
from onetake.doctor.values import REST, UNKNOWN, either, options

MATCH_ON = ("method", "scheme", "host", "port", "path", "query")
"""What vcrpy compares where nothing is said: every call of a model's API has one URL, so any of them fits."""
_BODY = frozenset({"body", "raw_body"})
_TOLD = ("match_on", "additional_matchers", "record_mode")


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
                found.append(UNKNOWN)
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
        one = MATCH_ON if value is None else _words(value)
        found.append(None if one is None else (*one, *more))
    return tuple(found)


def _words(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple | set) and all(isinstance(one, str) for one in value):
        return tuple(value)
    return None


class Matchers:
    """The matchers that a project registers, by their names.

    Args:
        sources: The project.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def compares_body(self, compared: tuple[str, ...] | None) -> bool | None:
        """Tell whether one of vcrpy's words, or of a project's own, compares bodies; None where that cannot be told."""
        if compared is None:
            return None
        found = [
            self._own.get(word, word in _BODY if word in (*MATCH_ON, *_BODY, "uri", "url", "headers") else None)
            for word in compared
        ]
        return True if True in found else None if None in found else False

    @cached_property
    def _own(self) -> dict[str, bool | None]:
        found: dict[str, bool | None] = {}
        for module in self._sources.mentioning(b"register_matcher"):
            for node in ast.walk(module.tree):
                match node:
                    case ast.Call(
                        func=ast.Attribute(attr="register_matcher"), args=[ast.Constant(value=str(name)), function]
                    ):
                        found[name] = self._looks_at_body(module, function)
        return found

    def _looks_at_body(self, module: Module, function: ast.expr) -> bool | None:
        if isinstance(function, ast.Lambda):
            return _mentions_body(function)
        name = dotted(function)
        seen = self._sources.lookup(module, name) if name else None
        node = seen[1] if seen else _inside(module, name)
        if node is None and self._sources.origin(module, name).startswith("vcr."):
            return name.rpartition(".")[2] in _BODY
        return None if node is None else _mentions_body(node)


def _inside(module: Module, name: str) -> ast.AST | None:
    """Find a function that is defined inside another one."""
    defined = (node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef) and node.name == name)
    return next(defined, None)


def _mentions_body(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr in _BODY for one in ast.walk(node))


class Configurations:
    """The places of a project that speak to vcrpy, found when they are asked for.

    Args:
        sources: The project.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._fixtures: dict[tuple[Path, str, str], Said | None] = {}
        self._conftests: dict[Path, tuple[Module, ...]] = {}
        self._hooks: dict[Path, list[Said]] = {}

    def fixture(self, module: Module, owner: ast.ClassDef | None, name: str = "vcr_config") -> Said | None:
        """Return what the fixture of that name says to the tests of a class or a file; None where there is none.

        Args:
            module: The file with the tests.
            owner: Their class.
            name: The fixture's.
        """
        key = module.path, owner.name if owner else "", name
        if key not in self._fixtures:
            found = self.function(module, owner, name)
            self._fixtures[key] = self._returned(*found, name) if found else None
        return self._fixtures[key]

    def function(self, module: Module, owner: ast.ClassDef | None, name: str) -> tuple[Module, Function] | None:
        """Find the function that a fixture of that name is to a test: of its class, its file, or a `conftest.py`."""
        if owner is not None:
            for node in owner.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
                    return module, node
        for place in (module, *self.conftests(module)):
            found = self._sources.lookup(place, name)
            if found is not None and isinstance(found[1], ast.FunctionDef | ast.AsyncFunctionDef):
                return found[0], found[1]
        return None

    def hooks(self, module: Module) -> tuple[Said, ...]:
        """Return what the `pytest_recording_configure` hooks around a file set on the recorder."""
        return tuple(one for place in reversed(self.conftests(module)) for one in self._hook(place))

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
        if not name or (self._sources.origin(module, name) == "vcr" and not isinstance(base, ast.Call)):
            return ()
        place, node = self._made(module, base, name, around, owner)
        call = _recorder_in(self._sources, place, node) if node is not None else None
        if call is None:
            return (Said(module.path, base.lineno, "VCR", {REST: UNKNOWN}),)
        scope = Scope(self._sources, place)
        made = said(place, call, "VCR", keywords(scope, call))
        return made, *_set_on(scope, place.tree, "VCR", place.path, name.rpartition(".")[2])

    def _made(
        self, module: Module, base: ast.expr, name: str, around: tuple[Function, ...], owner: ast.ClassDef | None
    ) -> tuple[Module, ast.AST | None]:
        if isinstance(base, ast.Call) and _recorder_in(self._sources, module, base) is base:
            return module, base
        head, _, last = name.partition(".")
        for place in (*around, *([owner] if head in ("self", "cls") and owner else [])):
            for node in ast.walk(place):
                if isinstance(node, ast.Assign) and any(dotted(target) in (name, last) for target in node.targets):
                    return module, node.value
        if (found := self._sources.lookup(module, name)) is not None:
            return found
        fixture = self.function(module, owner, head)
        return fixture or (module, None)

    def conftests(self, module: Module) -> tuple[Module, ...]:
        """Return the `conftest.py` files that count for a file, the nearest first."""
        folder = module.path.parent
        if folder not in self._conftests:
            paths = (each / "conftest.py" for each in self._sources.folders_above(module.path))
            found = (self._sources.module(path) for path in paths if path.is_file())
            self._conftests[folder] = tuple(filter(None, found))
        return self._conftests[folder]

    def _returned(self, module: Module, node: Function, kind: str) -> Said:
        value = returned(Scope(self._sources, module), node)
        return said(module, node, kind, value)


def said(module: Module, node: ast.expr | Function, kind: str, value: Any) -> Said:
    """Make what a place says, with the lines of its keywords."""
    lines: dict[str, int] = {}
    for one in ast.walk(node):
        match one:
            case ast.keyword(arg=str(name)) if name in _TOLD:
                lines.setdefault(name, one.lineno)
            case ast.Constant(value=str(name)) if name in _TOLD:
                lines.setdefault(name, one.lineno)
    return Said(module.path, node.lineno, kind, value, lines, node.end_lineno or node.lineno)


def _recorder_in(sources: Sources, module: Module, node: ast.AST) -> ast.Call | None:
    """Find the call that makes a recorder in an expression, or in a function that returns one."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and sources.origin(module, dotted(one.func)).rpartition(".")[2] == "VCR":
            return one
    return None


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

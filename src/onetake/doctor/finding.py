"""Where a project's tests open cassettes of vcrpy: by a mark, a call of `use_cassette`, a class for `unittest`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePath

from onetake.doctor import unittests
from onetake.doctor.configurations import Configurations, Said, said, told
from onetake.doctor.evaluation import Scope
from onetake.doctor.fixtures import Fixtures
from onetake.doctor.following import keywords
from onetake.doctor.marks import Mark, Marks
from onetake.doctor.modules import Function, Module, dotted, fixture_name
from onetake.doctor.openings import Opening
from onetake.doctor.sources import Sources
from onetake.doctor.values import GAP, UNTOLD, either, options, text_of
from onetake.importers.reading import files_under, stem_of
from onetake.vcrwords.naming import file_name

_OTHERS = ("onetake", "cassetter")
"""Recorders whose `use_cassette` is none of vcrpy's."""


def find_openings(sources: Sources, configurations: Configurations) -> list[Opening]:
    """Find all of a project, in the order of its files."""
    uses = _uses(sources)
    found: list[Opening] = []
    for module in sources.mentioning(b"vcr", b"use_cassette", b"VCR", b"def test"):
        finder = _Finder(sources, configurations, module, uses)
        found += finder.marked()
        found += [each for one in finder.calls() for each in _asking(sources, configurations.fixtures, one)]
    return found


def _uses(sources: Sources) -> frozenset[str]:
    """Return the names that files of the project give to a `use_cassette` at their top."""
    modules = sources.mentioning(b"use_cassette")
    bound = ((name, node) for module in modules for name, node in module.names.items() if isinstance(node, ast.expr))
    return frozenset(
        name for name, node in bound if any(getattr(one, "attr", "") == "use_cassette" for one in ast.walk(node))
    )


def _asking(sources: Sources, fixtures: Fixtures, opening: Opening) -> list[Opening]:
    """Return the openings of the tests that ask for a fixture which opens a cassette; that itself, where none does."""
    function = opening.function
    if function is None or not any(dotted(one).endswith("fixture") for one in function.decorator_list):
        return [opening]
    name, found = fixture_name(function), []
    for module in sources.mentioning(name.encode()):
        for test, node, owner in module.functions:
            asks = node.name.startswith("test") and any(one.arg == name for one in node.args.args)
            if asks and (meant := fixtures.function(module, owner, name)) and meant[1] is function:
                place = module.path.relative_to(sources.root).as_posix()
                test = f"{place}::{test.replace('.', '::')}"
                found.append(
                    replace(
                        opening, test=test, module=module, line=node.lineno, home=module, function=node, owner=owner
                    )
                )
    return found or [opening]


class _Finder:
    """Finds those of one file."""

    def __init__(self, sources: Sources, configurations: Configurations, module: Module, uses: frozenset[str]) -> None:
        self._uses = uses
        self._sources = sources
        self._configurations = configurations
        self._marks = Marks(sources, configurations.fixtures, module)
        self._stems: dict[str, set[str]] = {}
        self._module = module
        self._scope = Scope(sources, module)
        self._place = module.path.relative_to(sources.root).as_posix()

    def marked(self) -> Iterator[Opening]:
        """Yield the marked tests."""
        for name, home, function, owner in self._tests():
            if owner is not None and unittests.opens_cassettes(self._sources, self._module, owner):
                yield self._of_unittest(name, home, function, owner)
                continue
            around, own = self._marks.around(owner), list(self._marks.decorating(home, function))
            if not around and not own and not self._is_recorded(name, owner):
                continue
            layers = [*self._around(owner), *self._said(around, own)]
            claims = tuple(self._claims(name, home, function, owner, [*around, *own]))
            yield self._opening(name, home, function, owner, layers, claims, marked=True)

    def _of_unittest(self, name: str, home: Module, function: Function, owner: ast.ClassDef) -> Opening:
        layers = unittests.said_by(self._sources, self._module, owner)
        claims = tuple(unittests.claims(self._sources, self._module, owner, function.name, layers))
        return self._opening(name, home, function, owner, layers, claims, marked=False)

    def _opening(
        self,
        name: str,
        home: Module,
        function: Function,
        owner: ast.ClassDef | None,
        layers: list[Said],
        claims: tuple[str, ...],
        *,
        marked: bool,
    ) -> Opening:
        test = f"{self._place}::{name.replace('.', '::')}"
        line = function.lineno if home is self._module or owner is None else owner.lineno
        return Opening(test, self._module, line, home, function, owner, tuple(layers), claims, marked)

    def _tests(self) -> Iterator[tuple[str, Module, Function, ast.ClassDef | None]]:
        """Yield the tests of the file, also those that its classes have from others of the project."""
        functions = [one for one in self._module.functions if one[1].name.startswith("test")]
        yield from ((name, self._module, function, owner) for name, function, owner in functions)
        known = {name for name, _, _ in functions}
        for owner in (node for node in self._module.tree.body if isinstance(node, ast.ClassDef)):
            for place, base in self._sources.lineage(self._module, owner)[1:]:
                for node in base.body:
                    name = f"{owner.name}.{getattr(node, 'name', '')}"
                    is_test = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
                    if is_test and name not in known:
                        known.add(name)
                        yield name, place, node, owner  # type: ignore[misc]  # `is_test` has narrowed it

    def _around(self, owner: ast.ClassDef | None) -> Iterator[Said]:
        """Yield what is said to all tests of a class: by the plugin's own fixture, by hooks, by `vcr_config`."""
        mode = self._configurations.fixture(self._module, owner, "record_mode")
        if mode is not None:
            yield replace(mode, says={"record_mode": mode.says})
        yield from self._configurations.hooks(self._module)
        if (config := self._configurations.fixture(self._module, owner)) is not None:
            yield config

    def _said(self, around: list[Mark], own: list[Mark]) -> Iterator[Said]:
        yield from map(self._marks.said, around)
        is_marked = bool(around or own)
        added = [self._marks.said(one if is_marked else replace(one, is_sure=True)) for one in self._marks.added]
        if added:
            yield replace(added[0], says=either(*(one.says for one in added)))
        yield from map(self._marks.said, own)

    def calls(self) -> Iterator[Opening]:
        """Yield the calls of `use_cassette`, and where it decorates without being called."""
        todo: list[tuple[ast.AST, tuple[Function, ...], ast.ClassDef | None]] = [(self._module.tree, (), None)]
        if not any(name in self._module.text for name in ("use_cassette", *self._uses)):
            todo.clear()
        while todo:
            node, around, owner = todo.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                around = (node, *around)
                for one in node.decorator_list:
                    if isinstance(one, ast.Attribute) and one.attr == "use_cassette":
                        made = ast.Call(one, [], [], lineno=one.lineno, end_lineno=one.lineno)
                        yield from self._opened(made, around, owner)
            elif isinstance(node, ast.ClassDef):
                owner = node
            elif isinstance(node, ast.Call):
                yield from self._opened(node, around, owner)
            todo += [(child, around, owner) for child in reversed(list(ast.iter_child_nodes(node)))]

    def _use(self, module: Module, node: ast.expr) -> tuple[Module, ast.Attribute, ast.Call | None] | None:
        """Find the `use_cassette` that an expression means: itself, by a name, or by a `partial` of it."""
        if isinstance(node, ast.Attribute) and node.attr == "use_cassette":
            return module, node, None
        name = dotted(node)
        found = self._sources.lookup(module, name) if name.rpartition(".")[2] in self._uses else None
        place, meant = found or (module, None)
        match meant:
            case ast.Attribute(attr="use_cassette"):
                return place, meant, None
            case ast.Call(args=[ast.Attribute(attr="use_cassette") as given, *_]) if dotted(meant).endswith("partial"):
                return place, given, meant
        return None

    def _opened(self, call: ast.Call, around: tuple[Function, ...], owner: ast.ClassDef | None) -> Iterator[Opening]:
        function = around[0] if around else None
        name = dotted(call.func)
        module = self._module.at(function) if name.rpartition(".")[2] == "use_cassette" else self._module
        origin = self._sources.imported_as(module, name)
        use = self._use(module, call.func)
        if (use is None and origin != "vcr.use_cassette") or origin.partition(".")[0] in _OTHERS:
            return
        layers: list[Said] = []
        if use is not None:
            place, meant, part = use
            layers += self._configurations.instance(place, meant.value, around, owner)
            layers += [said(place, part, "use_cassette", keywords(Scope(self._sources, place), part))] if part else []
        layers.append(said(self._module, call, "use_cassette", keywords(self._scope, call)))
        test = "::".join(filter(None, (self._place, owner.name if owner else "", function.name if function else "")))
        claims = tuple(self._paths(call, function, tuple(layers)))
        yield Opening(test, self._module, call.lineno, self._module, function, owner, tuple(layers), claims, False)

    def _paths(self, call: ast.Call, function: Function | None, layers: tuple[Said, ...]) -> Iterator[str]:
        given = self._scope.value(call.args[0]) if call.args else None
        if given is None:
            given = next((self._scope.value(one.value) for one in call.keywords if one.arg == "path"), None)
        if given is None:
            given = function.name if function else GAP
        folders: list[PurePath] = [self._module.path.parent, *self._module.path.parents]
        folders = [folder for folder in folders if Path(folder).is_relative_to(self._sources.root)]
        library = told(layers, "cassette_library_dir").values
        for path in options(given):
            text = _without_ending(path) if isinstance(path, str | PurePath) else GAP
            for inside in library or ("",):
                for folder in folders:
                    yield (folder / text_of(inside) / text).as_posix()

    def _claims(
        self, name: str, home: Module, function: Function, owner: ast.ClassDef | None, marks: list[Mark]
    ) -> Iterator[str]:
        named = [
            *self._marks.around(owner, "default_cassette"),
            *self._marks.decorating(home, function, "default_cassette"),
        ]
        given = [self._marks.arguments(one) for one in named[-1:]]
        names = [text_of(value) for one in given for value in options(one[0] if one else UNTOLD)]
        names = names or list(self._names(owner)) or [_own_name(name)]
        more = [text_of(each) for mark in marks for each in self._marks.arguments(mark)]
        for folder in self._folders(owner):
            yield from ((PurePath(folder) / _without_ending(one)).as_posix() for one in (*names, *more))

    def _names(self, owner: ast.ClassDef | None) -> Iterator[str]:
        """Yield the names that a fixture of the plugins gives to cassettes, where a project has its own."""
        for fixture in ("default_cassette_name", "vcr_cassette_name"):
            if (found := self._configurations.fixture(self._module, owner, fixture)) is not None:
                yield from map(text_of, options(found.says))

    def _folders(self, owner: ast.ClassDef | None) -> Iterator[str]:
        """Yield the folders in which a marked test's cassettes may lie: as told, else by the plugins' own rules."""
        found = self._configurations.fixture(self._module, owner, "vcr_cassette_dir")
        here = self._module.path.parent / "cassettes"
        if found is None:
            yield (here / self._module.path.stem).as_posix()
            yield here.as_posix()
            return
        for value in options(found.says):
            text = text_of(value)
            yield from ((folder / text).as_posix() for folder in (found.path.parent, self._sources.root, here.parent))

    def _is_recorded(self, name: str, owner: ast.ClassDef | None) -> bool:
        """Tell whether a hook may mark a test, and a cassette of its name lies where the plugins look for it."""
        if not self._marks.added:
            return False
        return any(
            file_name(".".join(name.split(".")[-2:])) in self._stems_in(folder) for folder in self._folders(owner)
        )

    def _stems_in(self, folder: str) -> set[str]:
        if folder not in self._stems:
            is_one = GAP not in folder and Path(folder).is_dir()
            found = files_under([Path(folder)]) if is_one else ()
            self._stems[folder] = {stem_of(path).partition("[")[0] for path in found}
        return self._stems[folder]


def _own_name(test: str) -> str:
    """Return what a test's own cassette is called: of nested classes only the innermost is named."""
    return file_name(".".join(test.split(".")[-2:]))


def _without_ending(name: str | PurePath) -> str:
    path = Path(name)
    return path.with_name(stem_of(path)).as_posix() if path.name else str(name)

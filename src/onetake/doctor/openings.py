"""Where a project's tests open cassettes of vcrpy, marked or by a call of `use_cassette`, and which ones these are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

from onetake.doctor.configurations import Configurations, Said, said, told
from onetake.doctor.evaluation import Scope, keywords, returned
from onetake.doctor.sources import Function, Module, Sources, dotted
from onetake.doctor.values import GAP, options, text_of
from onetake.importers.reading import files_under, stem_of

_FORBIDDEN = re.compile(r"""[<>?%*:|"'/\\]""")
"""Characters that pytest-recording leaves out of a file's name."""
_SUFFIX = re.compile(r"(\.ya?ml|\.json)?(\.gz)?$")
_MOST_GAPS = 4
"""Parts of a name between what cannot be told: of more, only the ends count."""
_OTHERS = ("onetake", "cassetter")
"""Recorders whose `use_cassette` is none of vcrpy's."""


@dataclass(frozen=True, eq=False)
class Opening:
    """One test, or one call, that opens cassettes.

    Args:
        test: `tests/test_a.py::TestB::test_c`, from the project's folder.
        module: The file.
        line: Of the test, or of the call.
        function: The function it stands in, None for a call outside of any.
        owner: Its class.
        layers: What is said to vcrpy for it, the weakest first.
        claims: The paths its cassettes may have, without a suffix; `GAP` for what cannot be told.
        marked: True for a marked test, whose plugin says how it records where nothing else does.
    """

    test: str
    module: Module = field(repr=False)
    line: int
    function: Function | None = field(repr=False)
    owner: ast.ClassDef | None = field(repr=False)
    layers: tuple[Said, ...] = field(repr=False)
    claims: tuple[str, ...]
    marked: bool

    @property
    def is_vague(self) -> bool:
        """Tell whether nothing is known of the names of its cassettes."""
        return any(not PurePath(claim).name.strip(GAP) for claim in self.claims)

    def opens(self, name: str) -> bool:
        """Tell whether a cassette is one of its own, by what `name_of` gives for it."""
        return any(pattern.fullmatch(name) for pattern in self._patterns)

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(_pattern, self.claims))


class Index:
    """Openings by the names of their cassettes.

    Args:
        openings: All of a project.
    """

    def __init__(self, openings: Iterable[Opening]) -> None:
        self._by_name: dict[str, dict[Opening, None]] = {}
        for one in openings:
            for claim in one.claims:
                name = claim.rpartition("/")[2]
                self._by_name.setdefault("" if GAP in name else name, {})[one] = None

    def opening(self, cassette: Path) -> list[Opening]:
        """Return the openings that a cassette is one of."""
        stem = stem_of(cassette)
        names = (stem, stem.partition("[")[0], "")
        found = dict.fromkeys(one for name in names for one in self._by_name.get(name, ()))
        full = name_of(cassette)
        return [one for one in found if one.opens(full)]


def find_openings(sources: Sources, configurations: Configurations) -> list[Opening]:
    """Find all of a project, in the order of its files."""
    found: list[Opening] = []
    for module in sources.mentioning(b"vcr", b"use_cassette", b"VCR", b"def test"):
        finder = _Finder(sources, configurations, module)
        found += finder.marked()
        found += finder.calls()
    return found


def name_of(cassette: Path) -> str:
    """Return the path of a cassette without what tells its format, as claims have it."""
    return (cassette.parent / stem_of(cassette)).as_posix()


def tests_in(module: Module) -> set[str]:
    """Return the names that tests of a file have in the names of their cassettes: `test_a`, `TestB.test_c`."""
    return {name for name, _, _ in module.functions}


class _Finder:
    """Finds those of one file."""

    def __init__(self, sources: Sources, configurations: Configurations, module: Module) -> None:
        self._sources = sources
        self._configurations = configurations
        self._module = module
        self._scope = Scope(sources, module)
        self._place = module.path.relative_to(sources.root).as_posix()

    def marked(self) -> Iterator[Opening]:
        """Yield the marked tests."""
        outer = list(self._marks_in(self._module.tree.body))
        for name, function, owner in self._module.functions:
            if not function.name.startswith("test"):
                continue
            marks = [*outer, *(self._class_marks(owner) if owner else []), *reversed(self._decorators(function))]
            if not marks and not self._is_recorded(name):
                continue
            layers = [*self._configurations.hooks(self._module)]
            if (config := self._configurations.fixture(self._module, owner)) is not None:
                layers.append(config)
            layers += [said(self._module, mark, "vcr marker", self._keywords(mark)) for mark in marks]
            test = f"{self._place}::{name.replace('.', '::')}"
            claims = tuple(self._claims(name, function, owner, marks))
            yield Opening(test, self._module, function.lineno, function, owner, tuple(layers), claims, True)

    def calls(self) -> Iterator[Opening]:
        """Yield the calls of `use_cassette`, and where it decorates without being called."""
        todo: list[tuple[ast.AST, tuple[Function, ...], ast.ClassDef | None]] = [(self._module.tree, (), None)]
        if "use_cassette" not in self._module.text:
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

    def _opened(self, call: ast.Call, around: tuple[Function, ...], owner: ast.ClassDef | None) -> Iterator[Opening]:
        name = dotted(call.func)
        origin = self._sources.origin(self._module, name)
        is_one = (
            isinstance(call.func, ast.Attribute) and call.func.attr == "use_cassette"
        ) or origin == "vcr.use_cassette"
        if not is_one or origin.partition(".")[0] in _OTHERS:
            return
        base = call.func.value if isinstance(call.func, ast.Attribute) else None
        made = self._configurations.instance(self._module, base, around, owner) if base is not None else ()
        layers = (*made, said(self._module, call, "use_cassette", self._keywords(call)))
        function = around[0] if around else None
        test = "::".join(filter(None, (self._place, owner.name if owner else "", function.name if function else "")))
        claims = tuple(self._paths(call, function, layers))
        yield Opening(test, self._module, call.lineno, function, owner, layers, claims, False)

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
            text = _SUFFIX.sub("", str(path)) if isinstance(path, str | PurePath) else GAP
            for inside in library or ("",):
                for folder in folders:
                    yield (folder / text_of(inside) / text).as_posix()

    def _claims(
        self, name: str, function: Function, owner: ast.ClassDef | None, marks: list[ast.expr]
    ) -> Iterator[str]:
        folders = list(self._folders(owner))
        own = [one for one in self._decorators(function, "default_cassette") if isinstance(one, ast.Call) and one.args]
        names = [text_of(value) for one in own for value in options(self._scope.value(one.args[0]))]
        names = names or [_FORBIDDEN.sub("-", name)]
        more = [text_of(self._scope.value(one)) for mark in marks if isinstance(mark, ast.Call) for one in mark.args]
        for folder in folders:
            yield from ((PurePath(folder) / _SUFFIX.sub("", one)).as_posix() for one in (*names, *more))

    def _folders(self, owner: ast.ClassDef | None) -> Iterator[str]:
        """Yield the folders in which a marked test's cassettes may lie: as told, else by the plugins' own rules."""
        found = self._configurations.function(self._module, owner, "vcr_cassette_dir")
        here = self._module.path.parent / "cassettes"
        if found is None:
            yield (here / self._module.path.stem).as_posix()
            yield here.as_posix()
            return
        module, function = found
        for value in options(returned(Scope(self._sources, module), function)):
            text = text_of(value)
            yield from ((folder / text).as_posix() for folder in (module.path.parent, self._sources.root, here.parent))

    def _is_recorded(self, name: str) -> bool:
        """Tell whether a hook may mark a test, and a cassette of its name lies where the plugins look for it."""
        if not self._is_marked_by_hook:
            return False
        return _FORBIDDEN.sub("-", name) in self._beside

    @cached_property
    def _is_marked_by_hook(self) -> bool:
        places = (self._module, *self._configurations.conftests(self._module))
        return any("add_marker" in place.text and "mark.vcr" in place.text for place in places)

    @cached_property
    def _beside(self) -> set[str]:
        folder = self._module.path.parent / "cassettes" / self._module.path.stem
        return {stem_of(path).partition("[")[0] for path in files_under([folder])} if folder.is_dir() else set()

    def _marks_in(self, body: list[ast.stmt]) -> Iterator[ast.expr]:
        for node in body:
            if isinstance(node, ast.Assign) and any(dotted(one) == "pytestmark" for one in node.targets):
                values = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
                yield from filter(self._is_mark, values)

    def _class_marks(self, owner: ast.ClassDef, depth: int = 4) -> list[ast.expr]:
        found: list[ast.expr] = []
        for base in owner.bases if depth else ():
            seen = self._sources.lookup(self._module, dotted(base))
            if seen is not None and isinstance(seen[1], ast.ClassDef) and seen[0] is self._module:
                found += self._class_marks(seen[1], depth - 1)
        return [*found, *self._marks_in(owner.body), *reversed(self._decorators(owner))]

    def _decorators(self, node: Function | ast.ClassDef, mark: str = "vcr") -> list[ast.expr]:
        return [one for one in node.decorator_list if self._is_mark(one, mark)]

    def _is_mark(self, node: ast.expr, mark: str = "vcr") -> bool:
        name = dotted(node)
        if name.endswith(f"mark.{mark}"):
            return True
        seen = self._sources.lookup(self._module, name) if name and "." not in name else None
        return seen is not None and dotted(seen[1]).endswith(f"mark.{mark}")

    def _keywords(self, node: ast.expr) -> Any:
        if not isinstance(node, ast.Call):
            seen = self._sources.lookup(self._module, dotted(node))
            if seen is None or not isinstance(seen[1], ast.Call):
                return {}
            return keywords(Scope(self._sources, seen[0]), seen[1])
        return keywords(self._scope, node)


def _pattern(claim: str) -> re.Pattern[str]:
    """Return what a cassette's path without its suffix must be: a parametrized test's has its parameters behind it."""
    parts = re.split(f"{GAP}+", claim)
    if len(parts) > _MOST_GAPS:
        parts = [parts[0], parts[-1]]
    spelled = ".*".join(map(re.escape, parts))
    return re.compile(rf"{spelled}(\[.*\])?", re.DOTALL)

"""Cassettes that no test opens, as far as the text of a project tells."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from onetake.doctor.hazards import Hazard, HazardKind
from onetake.doctor.openings import Index, Opening, name_of
from onetake.doctor.sources import Sources
from onetake.importers.reading import stem_of


class Unused:
    """Finds them.

    Args:
        sources: The project.
        openings: Its tests and calls that open cassettes.
    """

    def __init__(self, sources: Sources, openings: Sequence[Opening]) -> None:
        self._sources = sources
        self._openings = openings
        self._index = Index(openings)

    def find(self, cassettes: Iterable[Path]) -> Iterator[Hazard]:
        """Yield the cassettes that nothing in the project names; none where it opens no cassette at all."""
        for path in cassettes if self._openings else ():
            if not self._index.opening(path) and not self._may_be_meant(path):
                yield Hazard(HazardKind.UNUSED, path, 1, self._why(path), (path,))

    def _why(self, path: Path) -> str:
        module = path.parent.parent.parent / f"{path.parent.name}.py"
        is_by_module = path.parent.parent.name == "cassettes"
        if is_by_module and not module.exists():
            return f"no test opens it: there is no {module.relative_to(self._sources.root).as_posix()}"
        return "no test opens it, and no text of the project names it"

    def _may_be_meant(self, path: Path) -> bool:
        """Tell whether a name or a text of the project could be this cassette's."""
        stem = stem_of(path)
        name = stem.partition("[")[0].rpartition(".")[2]
        folder = path.parent
        if any(one.is_vague and _near(one.module.path, folder) for one in self._openings):
            return True
        if folder.parent.name == "cassettes" and (folder.parent.parent / f"{folder.name}.py") in self._by_module:
            return stem in self._words or path.name in self._words
        return not {stem, path.name, name, name_of(path)}.isdisjoint(self._words)

    @cached_property
    def _by_module(self) -> set[Path]:
        """The files whose marked tests have cassettes in a folder of the file's name."""
        return {one.module.path for one in self._openings if one.marked}

    @cached_property
    def _words(self) -> set[str]:
        """The names of tests, and the texts in which a cassette may be named, whole and from the last slash on."""
        found: set[str] = set()
        for path in self._sources.paths:
            module = self._sources.module(path)
            for node in ast.walk(module.tree) if module else ():
                match node:
                    case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test"):
                        found.add(name)
                    case ast.Constant(value=str(text)) if len(text) < 300:
                        found |= {text, text.rpartition("/")[2], stem_of(Path(text.rpartition("/")[2] or "x"))}
        return found


def _near(module: Path, folder: Path) -> bool:
    """Tell whether a cassette may be one of a file's: it lies below the file's folder, or in a folder beside it."""
    return folder.is_relative_to(module.parent) or folder.is_relative_to(module.parent.parent)

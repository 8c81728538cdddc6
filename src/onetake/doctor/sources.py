"""The Python files of a project, read and parsed when they are asked for, and never run."""

from __future__ import annotations

import ast
import io
import os
import tokenize
import warnings
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath

from onetake.doctor.modules import ImportedName, Module, dotted

_NO_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError, SystemError)
"""What parsing raises of a file that this Python cannot parse."""
_LARGEST = 4 << 20
"""Bytes of a Python file that is read."""
_MOST = 50_000
"""Python files that are looked at."""
_NOT_OURS = frozenset({"site-packages", "node_modules", "__pycache__"})

_TOPS = ("pyproject.toml", "setup.cfg", "setup.py", "pytest.ini", "tox.ini", "onetake.toml", ".git")
"""What lies at the top of a project: above it, nothing is of it."""


class Sources:
    """The Python files in a folder and below it.

    Args:
        root: The folder, absolute. Hidden folders, environments and installed packages are left out.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.unread: dict[Path, str] = {}
        self._modules: dict[Path, Module | None] = {}
        self._imported: dict[tuple[Path, str], Module | None] = {}

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """The files, in the order of their names."""
        return tuple(path for path, _ in zip(_python_files(self.root), range(_MOST), strict=False))

    @cached_property
    def _known(self) -> frozenset[Path]:
        return frozenset(self.paths)

    @cached_property
    def _packages(self) -> dict[str, list[Path]]:
        """The folders in which the outermost packages lie, by their names."""
        inits = {path.parent for path in self.paths if path.name == "__init__.py"}
        found: dict[str, list[Path]] = {}
        for folder in sorted(inits):
            if folder.parent not in inits:
                found.setdefault(folder.name, []).append(folder.parent)
        return found

    def module(self, path: Path) -> Module | None:
        """Return a file, parsed; None for one that cannot be, which `unread` then names."""
        if path not in self._modules:
            self._modules[path] = self._read(path)
        return self._modules[path]

    def mentioning(self, *words: bytes) -> Iterator[Module]:
        """Yield the files in which one of the words stands."""
        for path in self.paths:
            data = self._bytes(path)
            if any(word in data for word in words) and (module := self.module(path)) is not None:
                yield module

    def imported(self, by: Module, dotted: str) -> Module | None:
        """Return the file that an import names, None where it is none of the project.

        Args:
            by: The file that imports.
            dotted: The module's name, with the dots before it where it is relative.
        """
        key = by.path.parent, dotted
        if key not in self._imported:
            self._imported[key] = next(filter(None, map(self.module, self._places(by.path, dotted))), None)
        return self._imported[key]

    def _places(self, path: Path, dotted: str) -> Iterator[Path]:
        """Yield the files of the project that a module's name may mean."""
        name = dotted.lstrip(".")
        parts = name.split(".") if name else []
        if dots := len(dotted) - len(name):
            folders = [path.parents[min(dots, len(path.parents)) - 1]]
        else:
            folders = [*self.folders_above(path), self.root / "src", *self._packages.get(parts[0], ())]
        for folder in folders:
            if parts and (file := folder.joinpath(*parts).with_suffix(".py")) in self._known:
                yield file
            if (file := folder.joinpath(*parts, "__init__.py")) in self._known:
                yield file

    def folders_above(self, path: Path) -> list[Path]:
        """Return the folders of the project that a file lies in, the nearest first."""
        depth = len(path.parts) - len(self.root.parts)
        return list(path.parents)[:depth]

    def lookup(self, module: Module, name: str, depth: int = 8) -> tuple[Module, ast.AST] | None:
        """Find what a name at the top of a file means, through the imports of the project.

        Args:
            module: The file.
            name: A name, or `module.name` of an imported one.
            depth: How many imports are followed.
        """
        head, _, rest = name.partition(".")
        found = module.names.get(head)
        if isinstance(found, ImportedName):
            return self._followed(module, found, rest, depth) if depth else None
        if found is None and depth:
            stars = (self._followed(module, ImportedName(one, None), name, depth) for one in module.stars)
            return next(filter(None, stars), None)
        return None if found is None or rest else (module, found)

    def lineage(self, module: Module, owner: ast.ClassDef) -> list[tuple[Module, ast.ClassDef]]:
        """Return a class and those of the project that it is made from, each once, the nearest first."""
        found = [(module, owner)]
        for place, one in found:  # grows
            for base in filter(None, (self.lookup(place, name) for base in one.bases if (name := dotted(base)))):
                if isinstance(base[1], ast.ClassDef) and all(base[1] is not known for _, known in found):
                    found.append((base[0], base[1]))
        return found

    def imported_as(self, module: Module, name: str) -> str:
        """Return the dotted name that a name was imported as, itself where it was not imported."""
        head, _, rest = name.partition(".")
        found = module.names.get(head)
        if not isinstance(found, ImportedName):
            return name
        return ".".join(filter(None, (found.module, found.name, rest)))

    def _followed(self, module: Module, found: ImportedName, rest: str, depth: int) -> tuple[Module, ast.AST] | None:
        wanted = ".".join(filter(None, (found.name, rest)))
        while wanted:
            source = self.imported(module, found.module)
            if source is not None and (seen := self.lookup(source, wanted, depth - 1)) is not None:
                return seen
            head, _, wanted = wanted.partition(".")  # `from package import module`, or `import package.module`
            found = ImportedName(
                f"{found.module.rstrip('.')}.{head}" if found.module.strip(".") else found.module + head, None
            )
        return None

    def _bytes(self, path: Path) -> bytes:
        try:
            with path.open("rb") as file:
                data = file.read(_LARGEST + 1)
        except OSError as error:
            self.unread.setdefault(path, error.strerror or str(error))
            return b""
        if len(data) > _LARGEST:
            self.unread.setdefault(path, "larger than 4 MiB")
            return b""
        return data

    def _read(self, path: Path) -> Module | None:
        data = self._bytes(path)
        if path in self.unread:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a string's escapes, say
                encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
                text = io.TextIOWrapper(io.BytesIO(data), encoding).read()
                return Module(path, text, ast.parse(text))
        except _NO_PYTHON as error:
            self.unread[path] = f"no Python that this one reads: {type(error).__name__}"
            return None


def root_of(start: Path) -> Path:
    """Return the folder of the project that a folder is part of: itself, where none above it looks like one."""
    return next(
        (folder for folder in (start, *start.parents) if any((folder / name).exists() for name in _TOPS)), start
    )


def _python_files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        if "pyvenv.cfg" in names:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if name not in _NOT_OURS and not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names) if PurePosixPath(name).suffix == ".py")

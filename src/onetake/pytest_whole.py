"""Whether a run was of all tests: what selected some of them, and which test modules were not collected."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Set
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

_LISTS = {"deselect": "--deselect", "ignore": "--ignore", "ignore_glob": "--ignore-glob"}


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """A test module that is there and was not collected.

    Args:
        path: Its path; the folder itself where that has too many folders to be looked through.
        asked: True where the run was told to leave it out, False where the project always does (`collect_ignore`, say).
    """

    path: Path
    asked: bool


def selection(config: pytest.Config) -> str:
    """Return which option of this run selects tests; empty where none does.

    What the settings of pytest itself select (`addopts`) holds for every run, so it makes none of them a part.
    """
    standing = list(config.getini("addopts"))
    for flag, name in (("-k", "keyword"), ("-m", "markexpr")):
        value = config.getoption(name, "")
        if value and not _is_standing(standing, flag, str(value)):
            return flag
    for name, flag in _LISTS.items():
        if any(not _is_standing(standing, flag, str(value)) for value in config.getoption(name, None) or ()):
            return flag
    if config.getoption("lf", False):
        return "--lf"
    return next((argument for argument in config.args if _is_part(config, argument)), "")


def lacks_tests(config: pytest.Config, module: str, collected: Set[str]) -> bool:
    """Tell whether a test stands in a module's source that was not collected; or the source cannot be read.

    A test of a class that only lends its tests to others counts as collected where any of that name was.

    Args:
        config: Of the run.
        module: Its real path.
        collected: What was, as `<module>::<Class>.<name>`.
    """
    try:
        tree = ast.parse(Path(module).read_bytes())
    except (OSError, ValueError, SyntaxError):
        return True
    functions, classes = config.getini("python_functions"), config.getini("python_classes")
    own = {each.removeprefix(f"{module}::") for each in collected if each.startswith(f"{module}::")}
    names = {each.rpartition(".")[2] for each in own}
    for where, name in _defined(tree, ""):
        if _is_named(name, functions) and where + name not in own:
            of_tests = not where or _is_named(where.split(".")[-2], classes)
            if of_tests or name not in names:
                return True
    return False


def _defined(node: ast.AST, where: str) -> Iterator[tuple[str, str]]:
    """Yield the functions of a module and its classes, also those under a condition: their classes, and their names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if not any("fixture" in ast.unparse(one) for one in child.decorator_list):
                yield where, child.name
        elif isinstance(child, ast.ClassDef):
            yield from _defined(child, f"{where}{child.name}.")
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _defined(child, where)


def _is_named(name: str, patterns: list[str]) -> bool:
    return any(name.startswith(each) or fnmatch(name, each) for each in patterns)


def _is_part(config: pytest.Config, argument: str) -> bool:
    """Tell whether an argument that was given for this run names a part of all tests: a test, a file, or a folder.

    Of a folder that is only known from what was not collected, where others than Python files hold tests.
    """
    if "::" in argument:
        return True
    if config.args_source is not config.ArgsSource.ARGS or argument in config.getini("addopts"):
        return False
    path = config.invocation_params.dir / argument
    usual = [place for each in config.getini("testpaths") for place in config.rootpath.glob(each)] or [config.rootpath]
    reached = [os.path.realpath(config.invocation_params.dir / each) for each in config.args]
    if all(_is_under(os.path.realpath(place), reached) for place in usual):
        return False
    others = (one.function.__module__ for one in config.hook.pytest_collect_file.get_hookimpls())
    return path.is_file() or any(not name.startswith("_pytest.") for name in others)


def left_out(config: pytest.Config, root: Path, collected: Set[str], most: int = 10_000) -> _LeftOut | None:
    """Return a test module below a folder that was not collected, one that the run was told to leave out first.

    Args:
        config: Of the run.
        root: A settings folder.
        collected: The real paths of the modules that were.
        most: How many folders to look through.
    """
    reached = [os.path.realpath(config.invocation_params.dir / argument) for argument in config.args]
    usual = [path for each in config.getini("testpaths") for path in config.rootpath.glob(each)] or [root]
    bases = [os.path.realpath(path) for path in usual]
    found = None
    for path in _modules(config, root, most):
        real = os.path.realpath(path)
        if real not in collected:
            asked = not _is_under(real, reached) and _is_under(real, bases)
            if asked or path == root:
                return _LeftOut(path, asked=True)
            found = found or _LeftOut(path, asked=False)
    return found


def _is_standing(words: list[str], flag: str, value: str) -> bool:
    forms = (f"{flag}={value}", f"{flag}{value}" if len(flag) == len("-k") else "")
    return (flag, value) in pairwise(words) or any(form in words for form in forms if form)


def _modules(config: pytest.Config, root: Path, most: int) -> Iterator[Path]:
    """Yield the files below a folder that pytest takes for test modules; the folder itself where it is too large."""
    patterns, closed = config.getini("python_files"), config.getini("norecursedirs")
    for number, (where, folders, names) in enumerate(os.walk(root)):
        if number == most:
            yield root
            return
        folders[:] = [name for name in folders if _is_open(Path(where, name), closed)]
        yield from (path for name in names if _is_module(path := Path(where, name), patterns))


def _is_open(folder: Path, closed: list[str]) -> bool:
    name = folder.name
    if name == "__pycache__" or any(fnmatch(name, pattern) for pattern in closed):
        return False
    return not (folder / "pyvenv.cfg").is_file()


def _is_module(path: Path, patterns: list[str]) -> bool:
    if path.suffix != ".py":
        return False
    whole = path.as_posix()
    return any(fnmatch(whole, f"*/{each}") if "/" in each else fnmatch(path.name, each) for each in patterns)


def _is_under(path: str, folders: list[str]) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)

"""Whether a run was of all tests: what selected some of them, and which test modules were not collected."""

from __future__ import annotations

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
    return next((argument for argument in config.args if "::" in argument), "")


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

"""Which tests are still there: by what a run collected, and where that says nothing, by their source."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


class Present:
    """The tests of a run.

    Args:
        config: Of the run.
        tests: The ids of those that ran, and of those that were left out.
    """

    def __init__(self, config: pytest.Config, tests: Iterable[str]) -> None:
        self._config = config
        self._tests = {name for test in tests for name in (test, test.rpartition("@")[0])}  # pytest-xdist's group
        self._files = {test.partition("::")[0] for test in self._tests}

    def gone(self, names: Iterable[str], shown: Callable[[str], str], *, is_whole: bool) -> set[str]:
        """Return which of some tests are not there any more.

        Args:
            names: Their ids, without the secrets in them.
            shown: Takes the secrets out of an id.
            is_whole: True where this was a run of all tests, so that a file that was collected has no others.
        """
        missing = set(names) - self._tests
        missing -= {shown(test) for test in self._tests} if missing else set()
        return {name for name in missing if self._is_gone(name, is_whole=is_whole)}

    def _is_gone(self, name: str, *, is_whole: bool) -> bool:
        is_known = is_whole and name.partition("::")[0] in self._files and not self._hides_tests
        return is_known or not self._is_written(name)

    @property
    def _hides_tests(self) -> bool:
        """Whether workers may have left tests out, which they do not tell."""
        is_divided = self._config.pluginmanager.has_plugin("dsession")
        return is_divided and any(self._config.getoption(name, None) for name in ("keyword", "markexpr", "deselect"))

    def _is_written(self, name: str) -> bool:
        """Tell whether a test's file has its function, or its class, which may have it from another."""
        file, *inside = name.partition("[")[0].split("::")
        path = self._config.rootpath / file
        if path.suffix != ".py":
            return path.is_file()
        try:
            tree = ast.parse(path.read_bytes())
        except OSError:
            return False
        except (ValueError, SyntaxError):
            return True
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return not {one.name for one in ast.walk(tree) if isinstance(one, kinds)}.isdisjoint(inside)

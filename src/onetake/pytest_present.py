"""Which tests are still there: by what a run collected, and where that says nothing, by their source."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

import pytest


class Present:
    """Collects the tests of a run, those that it left out by a mark or a word too; of all workers.

    Args:
        config: Of the run; this is registered there.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests: set[str] = set()
        self._files: set[str] = set()
        config.pluginmanager.register(self, "onetake-present")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that ran or was skipped."""
        if report.when == "setup":
            self._note(report.nodeid)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note tests that are there, and left out."""
        for item in items:
            self._note(item.nodeid)

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

    def _note(self, test: str) -> None:
        self._tests |= {test, test.rpartition("@")[0]}  # behind an `@` pytest-xdist writes a group
        self._files.add(test.partition("::")[0])

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

"""A pytest plugin that writes down what became of each test, for `onetake migrate`; it is loaded by name alone."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add where it goes; and where our own plugin is left out, its options, which a project's `addopts` may say."""
    if pluginmanager.is_blocked("onetake"):
        parser.getgroup("onetake").addoption("--onetake-vcr", action="store_true", help="not heeded here")
        for name in ("--onetake-report", "--unused", "--unmarked"):
            parser.getgroup("onetake").addoption(name, help="not heeded here")
    parser.getgroup("onetake").addoption("--onetake-outcomes", metavar="FILE", help="for onetake migrate")
    parser.getgroup("onetake").addoption("--onetake-seal-vcrpy", action="store_true", help="for onetake migrate")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to watch, and where that is asked for have vcrpy go live nowhere and write nothing."""
    if config.getoption("--onetake-seal-vcrpy"):
        _seal(config)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Outcomes(config), "onetake-outcomes")


class _Outcomes:
    """Collects the outcomes; of a test that is tried again the last one counts.

    Args:
        config: Of the run.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests: dict[str, dict[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in one report: a test has failed where any of its phases has."""
        one = self._tests.setdefault(report.nodeid, {"outcome": "passed", "why": ""})
        if report.when == "setup":
            one["outcome"], one["why"] = "passed", ""
        if report.failed and one["outcome"] != "failed":
            one["outcome"], one["why"] = "failed", _why(report)
        elif report.skipped and one["outcome"] == "passed":
            one["outcome"] = "skipped"

    def pytest_sessionfinish(self) -> None:
        """Write them."""
        root = self._config.rootpath
        document = {"root": str(root), "start": str(self._config.invocation_params.dir), "tests": self._tests}
        Path(self._config.getoption("--onetake-outcomes")).write_text(json.dumps(document), encoding="ascii")


def _why(report: pytest.TestReport) -> str:
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    return str(getattr(crash, "message", "") or report.longreprtext).strip()


def _seal(config: pytest.Config) -> None:
    """Have every cassette of vcrpy be opened as by `record_mode="none"`, whatever the suite says."""
    cassettes, modes = import_module("vcr.cassette"), import_module("vcr.record_mode")
    make = cassettes.Cassette.__init__

    def sealed(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        self.record_mode = modes.RecordMode.NONE

    def put_back() -> None:
        cassettes.Cassette.__init__ = make

    cassettes.Cassette.__init__ = sealed
    config.add_cleanup(put_back)

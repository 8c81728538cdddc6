"""Cassettes that several tests share while they are being made: until the run in which all of those tests passed."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from onetake.pytest_reports import is_worker, worker

if TYPE_CHECKING:
    from onetake.session_run import SessionRun

_MAKING = "onetake_making"
"""The attribute of a report that names such a cassette's marker, and tells the test's worker and whether it passed."""


def note(report: pytest.TestReport, run: SessionRun, *, passed: bool) -> None:
    """Have a report tell the run's own process that a test, or a fixture, was part of making a shared cassette.

    Args:
        report: The report, which may go from a worker to its master.
        run: The session's run.
        passed: True where its entries are kept.
    """
    if (marker := run.making) is not None:
        vars(report).setdefault(_MAKING, []).append((str(marker), worker(), passed))


def watch(config: pytest.Config) -> None:
    """End the making of shared cassettes with the run; a worker of pytest-xdist knows too little to do so."""
    if not is_worker(config):
        config.pluginmanager.register(_Making(), "onetake-making")


class _Making:
    """Ends the making of shared cassettes at the end of a run; a test that did not pass leaves its one to go on with.

    Otherwise the first test of a cassette would finish it, in mode `once`, before the second one came.
    """

    def __init__(self) -> None:
        self._passed: dict[str, dict[tuple[str, str], bool]] = defaultdict(dict)
        self._crashed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a report tells; of a test that was tried several times the last one counts."""
        self._crashed = self._crashed or report.when not in ("setup", "call", "teardown")
        for marker, by, passed in vars(report).get(_MAKING, ()):
            self._passed[marker][report.nodeid, by] = passed

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Remove the markers of the cassettes that are made; what was stopped or crashed has said too little."""
        ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and not self._crashed
        for marker, tests in self._passed.items():
            if ended and all(tests.values()):
                Path(marker).unlink(missing_ok=True)

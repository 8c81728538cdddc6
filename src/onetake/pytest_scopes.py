"""The sessions that `use_cassette` opens in a run of pytest: the next report tells of each that has ended."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from onetake import endings
from onetake.pytest_items import shown_id
from onetake.pytest_reports import outcome_of

if TYPE_CHECKING:
    from onetake.session_run import SessionRun

SCOPES = "onetake_scopes"
"""The attribute of a report that holds the outcomes of the sessions that `use_cassette` opened."""
_watch = pytest.StashKey["_Scopes"]()


def watch(config: pytest.Config) -> None:
    """Begin to hear of the sessions of a run."""
    config.stash[_watch] = watching = _Scopes()
    config.pluginmanager.register(watching, "onetake-scopes")
    endings.listeners.append(watching.hear)


def untold_of(config: pytest.Config) -> list[dict[str, Any]]:
    """Return the outcomes of which no report could tell, as they ended after the last one; those of workers too.

    It is whole at the end of `pytest_sessionfinish`, for those who come last.
    """
    return config.stash[_watch].untold


class _Scopes:
    """Hears, in every process of a run, of the sessions that are no test's or fixture's own."""

    def __init__(self) -> None:
        self._heard: list[SessionRun] = []
        self.untold: list[dict[str, Any]] = []

    def hear(self, run: SessionRun) -> None:
        """Take in a session that has ended."""
        self._heard.append(run)

    def pytest_unconfigure(self) -> None:
        """Hear no more of sessions."""
        endings.listeners.remove(self.hear)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Have a test's report tell of the sessions that ended since the last one."""
        report = yield
        if self._heard:
            vars(report)[SCOPES] = self._outcomes(shown_id(item), report.outcome)
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take in what a worker could not tell by a report."""
        self.untold += (getattr(node, "workeroutput", None) or {}).get(SCOPES, ())

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Tell of what ended after the last report."""
        self.untold += self._outcomes("", "passed")
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[SCOPES] = self.untold

    def _outcomes(self, name: str, result: str) -> list[dict[str, Any]]:
        heard, self._heard = self._heard, []
        return [outcome_of(run, name, result, passed=True) for run in heard]

"""One test's session under pytest, and what its reports say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onetake import active
from onetake.errors import OnetakeError, Refusal
from onetake.session_run import SessionRun

if TYPE_CHECKING:
    import pytest

SECTION = "onetake"


class RunningTest:
    """One test's session, from its setup to its teardown; of a test that is over only the refusals are kept.

    Args:
        name: The test's id.
        run: Its session's, which is open.
        scope: Where that is bound.
    """

    def __init__(self, name: str, run: SessionRun, scope: active.Scope) -> None:
        self.name = name
        self.over = False
        """True once the call phase has run; reports before that are of subtests."""
        self._open: tuple[SessionRun, active.Scope] | None = (run, scope)
        self._ledger = run.ledger
        self._told: set[int] = set()
        self._broken = False
        self._passed = False

    @property
    def run(self) -> SessionRun:
        """The session's run, until the teardown has been reported."""
        assert self._open is not None
        return self._open[0]

    @property
    def scope(self) -> active.Scope:
        """Where the session is bound."""
        assert self._open is not None
        return self._open[1]

    @property
    def late(self) -> tuple[Refusal, ...]:
        """The refusals that no report of the test could tell: the calls came after it."""
        return () if self._open is not None else self._untold()

    def end(self) -> None:
        """Close the session; what fixtures recorded while they were torn down goes into the cassette as well."""
        self.run.close()
        if self._passed:
            self.run.promote()
            self.run.retire()

    def see(self, report: pytest.TestReport) -> None:
        """Act on one report of the test, and add to it what a person should know."""
        if report.when == "call" and not self.over:
            self._broken = self._broken or report.failed
            return
        if report.when != "setup" or report.failed:
            self._bring_up_refusals(report)
        if report.when == "call" and report.passed and not self._broken:
            self._keep(report)
        if report.when == "call" and self.run.resumed:
            count = len(self.run.resumed)
            _add(report, f"{count} answered from an earlier run of this test, which failed")
        if report.when == "call" or report.failed:
            self._say_pending(report)
        if report.when == "teardown":
            self.run.close()  # where another fixture kept ours from being torn down
            self._open = None

    def _bring_up_refusals(self, report: pytest.TestReport) -> None:
        """Fail the test where a refusal was hidden from pytest: by a skip in a TestCase, say, or in a teardown."""
        hidden = [refusal for refusal in self._untold() if _first_line(refusal) not in report.longreprtext]
        self._told |= {id(refusal) for refusal in self._ledger.open}
        if not hidden:
            return
        text = "\n".join(str(refusal) for refusal in hidden)
        if report.failed or hasattr(report, "wasxfail") or not self.run.fails:
            _add(report, text)
        else:
            _fail(report, text)

    def _keep(self, report: pytest.TestReport) -> None:
        self._passed = True
        try:
            self.run.promote()
        except OnetakeError as error:
            self._passed = False
            _fail(report, str(error))

    def _say_pending(self, report: pytest.TestReport) -> None:
        """Say where the entries of a failing test are: they are paid for, and they answer first when it is retried."""
        count = len(self.run.session.recorded) + len(self.run.resumed)
        if count and not self._passed:
            _add(report, f"{count} recorded, kept aside until the test passes: {self.run.pending_place}")

    def _untold(self) -> tuple[Refusal, ...]:
        return tuple(refusal for refusal in self._ledger.open if id(refusal) not in self._told)


def _first_line(refusal: Refusal) -> str:
    return str(refusal).partition("\n")[0]


def _add(report: pytest.TestReport, text: str) -> None:
    report.sections.append((SECTION, text))


def _fail(report: pytest.TestReport, text: str) -> None:
    report.outcome = "failed"
    report.longrepr = f"onetake: {text}"

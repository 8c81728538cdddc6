"""One test's session under pytest, and what its reports say of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from onetake import active
from onetake.errors import OnetakeError, Refusal
from onetake.model import Entry
from onetake.printable import one_line
from onetake.session_run import SessionRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

SECTION = "onetake"
OUTCOME = "onetake"
"""The attribute of a test's last report that holds its outcome: it goes with the report from a worker to its master."""

_KEEPABLE = ("violation", "length", "refusal", "cut")
_TOLD_OTHERWISE = ("answer refused", "answered from a run that failed")
_COUNTS = ("recorded", "replayed", "replaced", "kept aside")
_MOST_NOTES = 3
_LONGEST_NOTE = 200


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
            self.run.clear(alone="PYTEST_XDIST_WORKER" not in os.environ)

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
            vars(report)[OUTCOME] = self._outcome()
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

    def _outcome(self) -> dict[str, Any]:
        """Return what the run's summary tells of this test, in the plain types that workers can send."""
        session, written = self.run.session, len(self.run.session.recorded) + len(self.run.resumed)
        replaced = self.run.replaced if self._passed else 0
        return {
            "test": self.name,
            "recorded": written - replaced if self._passed else 0,
            "replayed": len(session.played) - len(self.run.resumed),
            "replaced": replaced,
            "kept aside": 0 if self._passed else written,
            "remarks": list(self._remarks()) if self._passed else [],
        }

    def _remarks(self) -> Iterator[str]:
        """Yield what a passing test hides: answers that were refused, and what was said of those that were not."""
        session = self.run.session
        if session.rejects:
            yield _said_of(session.rejects, {entry.key for entry in session.recorded})
        notes = [note for note in self._ledger.notes if not note.startswith(_TOLD_OTHERWISE)]
        yield from (one_line(note, _LONGEST_NOTE) for note in notes[:_MOST_NOTES])
        if len(notes) > _MOST_NOTES:
            yield f"and {len(notes) - _MOST_NOTES} more remarks"

    def _untold(self) -> tuple[Refusal, ...]:
        return tuple(refusal for refusal in self._ledger.open if id(refusal) not in self._told)


def _said_of(rejects: tuple[Entry, ...], recorded: set[str]) -> str:
    """Say that answers were refused, and what that means for the next replay."""
    kinds = sorted({entry.verdict.partition(":")[2] for entry in rejects})
    said = f"{len(rejects)} answer{'s' if len(rejects) != 1 else ''} refused ({', '.join(kinds)}), not stored"
    if all(entry.key in recorded for entry in rejects):
        return said
    keep = ", ".join(f'"{kind}"' for kind in kinds if kind in _KEEPABLE)
    return f"{said}: this test will miss at replay" + (f"; keep=[{keep}] stores it" if keep else "")


def _first_line(refusal: Refusal) -> str:
    return str(refusal).partition("\n")[0]


def _add(report: pytest.TestReport, text: str) -> None:
    report.sections.append((SECTION, text))


def _fail(report: pytest.TestReport, text: str) -> None:
    report.outcome = "failed"
    report.longrepr = f"onetake: {text}"


def summary(reports: list[pytest.TestReport], *, verbose: bool) -> list[str]:
    """Return what a run's summary says: what was recorded, and a line for each thing that no failing test tells.

    Args:
        reports: Every report of the run, those of other processes too.
        verbose: True tells of replays also where nothing else happened.
    """
    outcomes = [vars(report)[OUTCOME] for report in reports if OUTCOME in vars(report)]
    counts = {word: sum(outcome[word] for outcome in outcomes) for word in _COUNTS}
    happened = any(count for word, count in counts.items() if word != "replayed" or verbose)
    lines = [", ".join(f"{count} {word}" for word, count in counts.items() if count)] if happened else []
    lines += [f"{outcome['test']}: {remark}" for outcome in outcomes for remark in outcome["remarks"]]
    names = {report.nodeid: vars(report)[OUTCOME]["test"] for report in reports if OUTCOME in vars(report)}
    for report in reports:
        if not report.failed:
            name = names.get(report.nodeid, report.nodeid)
            lines += [f"{name}: {text}" for title, text in report.sections if title == SECTION]
    return lines

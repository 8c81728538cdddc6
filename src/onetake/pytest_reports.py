"""One test's session under pytest, and what its reports say of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pytest

from onetake import prices
from onetake.errors import OnetakeError, Refusal
from onetake.model import Entry
from onetake.printable import counted, one_line
from onetake.settings_values import BAD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onetake.active import Scope
    from onetake.ledger import Ledger
    from onetake.session_run import SessionRun

SECTION = "onetake"
OUTCOME = "onetake"
"""The attribute of a test's last report that holds its outcome: it goes with the report from a worker to its master."""

_TOLD_OTHERWISE = ("answer refused", "answered from a run that failed")
_MOST_NOTES = 3
_LONGEST_NOTE = 200
untold = pytest.StashKey[list["RunningTest"]]()
"""The sessions of fixtures of which no report has told yet, in the stash of the configuration."""
_next = count(1)
_numbers: WeakKeyDictionary[SessionRun, str] = WeakKeyDictionary()


class RunningTest:
    """One test's session, from its setup to its teardown; of a test that is over only the refusals are kept.

    Args:
        name: The test's id.
        run: Its session's, which is open.
        scope: Where that is bound.
        alone: True where no other process tests this project.
    """

    def __init__(self, name: str, run: SessionRun, scope: Scope, *, alone: bool) -> None:
        self.name = name
        self._alone = alone
        self.over = False
        """True once the call phase has run; reports before that are of subtests."""
        self._open: tuple[SessionRun, Scope] | None = (run, scope)
        self._ledger = run.ledger
        self._told: set[int] = set()
        self.result = "passed"
        """What became of it so far: `passed`, `failed` or `skipped`."""
        self._broken = False
        self.passed = False
        """True once its entries are kept."""

    @property
    def run(self) -> SessionRun:
        """The session's run, until the teardown has been reported."""
        assert self._open is not None
        return self._open[0]

    @property
    def scope(self) -> Scope:
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
        if self.passed:
            self.run.keep(alone=self._alone)

    def see(self, report: pytest.TestReport) -> None:
        """Act on one report of the test, and add to it what a person should know."""
        if report.when == "call" and not self.over:
            self._broken = self._broken or report.failed
            return
        if report.when != "setup" or report.failed:
            self._bring_up_refusals(report)
        if report.when == "call" and report.passed and not self._broken:
            self._keep(report)
        if report.when == "call" and self.run.account.resumed:
            _add(report, f"{len(self.run.account.resumed)} answered from an earlier run of this test, which failed")
        if report.when == "call" or report.failed:
            self._say_pending(report)
        if report.when == "call" and report.failed and (said := self.run.account.unanswered):
            _add(report, said)
        if not report.passed:
            self.result = "failed" if report.failed or self.result == "failed" else "skipped"
        if report.when == "teardown":
            self.run.close()  # where another fixture kept ours from being torn down
        if report.when == "teardown" or report.failed:  # whoever tries it again may leave out what comes after
            vars(report)[OUTCOME] = self.outcome()
        if report.when == "teardown":
            self.run.let_go()
            self._open = None

    def _bring_up_refusals(self, report: pytest.TestReport) -> None:
        bring_up(report, self._untold(), fails=self.run.fails)
        self._told |= {id(refusal) for refusal in self._ledger.open}

    def _keep(self, report: pytest.TestReport) -> None:
        self.passed = True
        try:
            self.run.promote()
        except OnetakeError as error:
            self.passed = False
            _fail(report, str(error))

    def _say_pending(self, report: pytest.TestReport) -> None:
        """Say where the entries of a failing test are: they are paid for, and they answer first when it is retried."""
        waiting = len(self.run.session.recorded) + len(self.run.account.resumed)
        if waiting and not self.passed:
            _add(report, f"{waiting} recorded, kept aside until the test passes: {self.run.pending_place}")

    def outcome(self) -> dict[str, Any]:
        """Return what became of it so far; see `outcome_of`."""
        return outcome_of(self.run, self.name, self.result, passed=self.passed)

    def _untold(self) -> tuple[Refusal, ...]:
        return tuple(refusal for refusal in self._ledger.open if id(refusal) not in self._told)


def outcome_of(run: SessionRun, name: str, result: str, *, passed: bool) -> dict[str, Any]:
    """Return what the run's summary and its report tell of a session, in the plain types that workers can send.

    It says all that happened so far: a later one of the same `run` takes its place.

    Args:
        run: The session's run.
        name: The test's id.
        result: `passed`, `failed` or `skipped`.
        passed: True where its entries are kept.
    """
    session = run.session
    written = len(session.recorded) + len(run.account.resumed)
    replaced = run.account.replaced if passed else 0
    refused = run.account.refused_answers()
    return {
        "run": _number_of(run),
        "worker": worker(),
        "test": name,
        "mode": str(session.mode),
        "mode_by": run.mode_by,
        "cassette": run.place,
        "outcome": result,
        "recorded": written - replaced if passed else 0,
        "replayed": len(run.account.tally.replayed) - len(run.account.resumed),
        "replaced": replaced,
        "moved to the trash": run.account.retired,
        "kept aside": 0 if passed else written,
        "resumed": len(run.account.resumed),
        "rejected": [{"kind": entry.verdict.partition(":")[2], "path": place} for entry, place in refused],
        "refusals": list(_plain_refusals(run.ledger)),
        "remarks": list(_remarks(run)) if passed else [],
        "anew": asdict(anew) if passed and (anew := run.account.anew()) else {},
        "live": prices.spent([*session.recorded, *(entry for entry, _ in refused)]),
        "usage": run.account.used.as_plain(),
        "legacy": run.account.legacy,
        "answered": len(run.account.tally.replayed) + len(run.account.tally.recorded),
    }


def _plain_refusals(ledger: Ledger) -> Iterator[dict[str, Any]]:
    unexpected = {id(refusal) for refusal in ledger.open}
    for refusal in ledger.all:
        expected = id(refusal) not in unexpected
        yield {
            "class": refusal.class_name,
            "text": str(refusal),
            "expected": expected,
            "recordable": refusal.recordable,
        }


def _remarks(run: SessionRun) -> Iterator[str]:
    """Yield what a passing test hides: answers that were refused, and what was said of those that were not."""
    session = run.session
    if session.rejects:
        yield _said_of(session.rejects, {entry.key for entry in session.recorded})
    from onetake.legacy import TOLD  # with the engine, which any session has loaded

    notes = [note for note in run.ledger.notes if not note.startswith((*_TOLD_OTHERWISE, TOLD))]
    yield from (one_line(note, _LONGEST_NOTE) for note in notes[:_MOST_NOTES])
    if len(notes) > _MOST_NOTES:
        yield f"and {len(notes) - _MOST_NOTES} more remarks"


def _number_of(run: SessionRun) -> str:
    """Return what tells a session's run from all others of a run of pytest, those of other workers too."""
    if run not in _numbers:
        _numbers[run] = f"{worker()}-{next(_next)}"
    return _numbers[run]


def is_worker(config: pytest.Config) -> bool:
    """Tell whether a run is the part of one worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def worker() -> str:
    """Return the name of this process among those of the run: `gw0` under pytest-xdist, else `main`."""
    return os.environ.get("PYTEST_XDIST_WORKER", "main")


def bring_up(report: pytest.TestReport, refusals: Sequence[Refusal], *, fails: bool = True) -> None:
    """Fail a test where a refusal was hidden from pytest: by a skip in a TestCase, say, or in a teardown.

    Args:
        report: Its report; what it tells already is not told again, and a failure of its own stays the first.
        refusals: Those that may be hidden.
        fails: False only adds them to the report.
    """
    hidden = [refusal for refusal in refusals if _first_line(refusal) not in report.longreprtext]
    if not hidden:
        return
    text = "\n".join(str(refusal) for refusal in hidden)
    if report.failed or hasattr(report, "wasxfail") or not fails:
        _add(report, text)
    else:
        _fail(report, text)


def _said_of(rejects: tuple[Entry, ...], recorded: set[str]) -> str:
    """Say that answers were refused, and what that means for the next replay."""
    kinds = sorted({entry.verdict.partition(":")[2] for entry in rejects})
    said = f"{counted(len(rejects), 'answer')} refused ({', '.join(kinds)}), not stored"
    if all(entry.key in recorded for entry in rejects):
        return said
    keep = ", ".join(f'"{kind}"' for kind in kinds if kind in BAD)
    return f"{said}: this test will miss at replay" + (f"; keep=[{keep}] stores it" if keep else "")


def _first_line(refusal: Refusal) -> str:
    return str(refusal).partition("\n")[0]


def _add(report: pytest.TestReport, text: str) -> None:
    report.sections.append((SECTION, text))


def _fail(report: pytest.TestReport, text: str) -> None:
    report.outcome = "failed"
    report.longrepr = f"onetake: {text}"

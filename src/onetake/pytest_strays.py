"""`--unmarked`: tests that have no cassette and reach a known host of models are named, or refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from onetake import forking, guard, guard_sockets, misses, patching, strays
from onetake.errors import InteractionNotFound, OnetakeError, Refusal
from onetake.ledger import Ledger, is_soft
from onetake.model import Mode
from onetake.model_hosts import is_model_host
from onetake.options import Options, policy_of
from onetake.pytest_items import is_ours, is_skip, settings_of, shown_id
from onetake.pytest_reports import bring_up, worker
from onetake.pytest_summary import STRAY, results_of
from onetake.steps import Policy
from onetake.tracebacks import note_refusals
from onetake.traffic import Route

_REASON = "a test without a cassette may not reach a model (--unmarked=fail)"
_REMEDY = "mark the test with @pytest.mark.cassette, or open a cassette around the call with onetake.use_cassette"
_OUTSIDE = "a call outside the test's session may not reach a model (--unmarked=fail)"
_OUTSIDE_REMEDY = "open a cassette around the call with onetake.use_cassette: a fixture of a wider scope has none"
_NO_TEST = "a call outside of any test may not reach a model (--unmarked=fail)"
_NO_TEST_REMEDY = "make it in a test that is marked with @pytest.mark.cassette: not while a module is imported"


def watch(config: pytest.Config) -> None:
    """Begin to watch for such tests, and refuse what they ask where the option says so."""
    if not config.pluginmanager.has_plugin("onetake-strays"):
        config.pluginmanager.register(_Strays(config), "onetake-strays")


class _Test:
    """What one try of a test has reached so far."""

    def __init__(self, item: pytest.Item | None, number: int) -> None:
        self.item = item
        self.number = f"{worker()}-{number}"
        self.calls: Counter[str] = Counter()
        self.reached: dict[str, None] = {}
        self.ledger = Ledger()
        self.told: set[int] = set()


class _Strays:
    """Watches, in every process of a run, what no session is concerned with; a plugin.

    Only the sockets know that a call reaches a model: tools that answer for a client may stand anywhere above them.

    Args:
        config: Of the run.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._fails = config.getoption("onetake_unmarked", None) == "fail"
        self._numbers = count(1)
        self._none = self._test = _Test(None, 0)
        self._policies: dict[Path, Policy] = {}
        self._lock = forking.Lock()
        self._before = strays.set_watch(self)
        patching.install()
        guard_sockets.install()

    @property
    def policy(self) -> Policy:
        """What the settings of the running test's file say."""
        return self._policy_of(self._test.item)

    def asked(self, method: str, url: str) -> None:
        """Count a call."""
        traffic = self.policy.traffic
        if guard.is_model(url, traffic) and traffic.verdict(method.upper(), url) is Route.INTERACTION:
            with self._lock.held:
                self._test.calls[_place(*guard.place_of(url))] += 1

    def reached(self, host: str, port: int | None, asked: str) -> None:
        """Note a host, or refuse what is about to leave for it.

        Raises:
            InteractionNotFound: It is refused.
        """
        test = self._test
        with self._lock.held:
            test.reached[_place(host, port)] = None
        if self._fails:
            refusal: Refusal = InteractionNotFound(*_why(test.item, asked))
            if is_soft() or misses.in_pool_worker():
                refusal = refusal.as_exception()
            test.ledger.write(refusal)
            raise refusal

    def pytest_unconfigure(self) -> None:
        """Watch no more."""
        strays.set_watch(self._before)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Begin a test, or another try of it."""
        self._test = _Test(item, next(self._numbers))
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Fail a test that swallowed what was refused."""
        try:
            result = yield
        except BaseException as error:
            self._settle(None if is_skip(error) else error)
            raise
        self._settle(None)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add to a report what its test reached, and fail it where a refusal was hidden from pytest."""
        report = yield
        test = self._test
        if report.when == "teardown":
            self._test = self._none
        if test.item is not item:
            return report
        refused = test.ledger.open
        if report.when != "setup" or report.failed:
            bring_up(report, [one for one in refused if id(one) not in test.told])
            test.told |= {id(one) for one in refused}
        if test.reached and (report.when == "teardown" or report.failed):
            vars(report)[STRAY] = self._said_of(test, item)
        return report

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run in which a call outside of any test was refused and swallowed."""
        if left := self._none.ledger.open:
            results_of(self._config).failing.append(f"--unmarked=fail: this fails the run: {left[0]}")
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _settle(self, error: BaseException | None) -> None:
        left = self._test.ledger.open
        if left and error is None:
            raise left[0]
        if error is not None:
            note_refusals(error, left)

    def _said_of(self, test: _Test, item: pytest.Item) -> dict[str, Any]:
        return {
            "run": test.number,
            "test": shown_id(item),
            "marked": is_ours(item),
            "hosts": {host: max(1, test.calls[host]) for host in test.reached},
            "refused": len(test.ledger.open),
        }

    def _policy_of(self, item: pytest.Item | None) -> Policy:
        file = self._config.rootpath / "conftest.py" if item is None else item.path
        if file not in self._policies:
            self._policies[file] = Policy(Mode.OFF, file.parent)
            with suppress(OnetakeError):  # what is wrong with the settings is said to the tests that are ours
                self._policies[file] = policy_of(Options("unmarked"), settings_of(self._config, file), Mode.OFF)
        return self._policies[file]


def _why(item: pytest.Item | None, asked: str) -> tuple[str, str, str, str, str]:
    if item is None:
        return _NO_TEST, asked, "", "", _NO_TEST_REMEDY
    if is_ours(item):
        return _OUTSIDE, asked, "", "", _OUTSIDE_REMEDY
    return _REASON, asked, "", "", _REMEDY


def _place(host: str, port: int | None) -> str:
    """Write a host for messages: a known one by its name alone, as a proxy or a tunnel has another port."""
    return host if port is None or is_model_host(host) else f"{host}:{port}"

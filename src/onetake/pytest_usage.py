"""`--unused`: what the tests of a run used, merged over its workers, and which entries none of them used."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from onetake import project_files, starting
from onetake.aside import place_of
from onetake.decide import reads_nothing
from onetake.errors import OnetakeError
from onetake.model import Mode
from onetake.options import cassette_folder
from onetake.provenance import provenance
from onetake.pytest_fixtures import FIXTURES
from onetake.pytest_items import is_ours, options_of, own_folder, settings_of
from onetake.pytest_reports import OUTCOME
from onetake.pytest_scopes import SCOPES, untold_of
from onetake.pytest_unused import Facts, Identity, Opened, Unused, facts_of, find_unused, merged
from onetake.pytest_unused_said import UsageReport
from onetake.pytest_whole import lacks_tests, left_out, selection
from onetake.usage import CassetteUsage, UsageRun, Used, tell, told_in, used_of, write_run

_FACTS = "onetake_usage"
"""What a worker's output, and the report of a test that did not run to its end, hold for the process that merges."""
_watch = pytest.StashKey["UsageWatch"]()


def watch(config: pytest.Config) -> None:
    """Begin to watch what the tests of a run use."""
    config.stash[_watch] = watching = UsageWatch(config)
    config.pluginmanager.register(watching, "onetake-usage")


def usage_report(config: pytest.Config) -> UsageReport:
    """Return what a run has to say of unused entries; nothing before its `pytest_sessionfinish` is over."""
    watching = config.stash.get(_watch, None)
    return watching.report if watching is not None else UsageReport()


class UsageWatch:
    """Collects, in every process of a run, what its tests use; the one that merges writes the usage ledger.

    Args:
        config: Of the run.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._is_worker = hasattr(config, "workerinput")
        self._facts = Facts()
        self._trouble = ""
        self._ran: set[str] = set()
        self._used: list[Used] = []
        self._outside: list[Used] = []
        self._modes: set[Mode] = set()
        self._items: list[pytest.Item] = []
        self._before = os.environ.get(starting.RUN)
        self._told = config.rootpath / ".onetake" / "usage" / f"told-{os.urandom(8).hex()}"
        if self._is_worker and self._before:
            self._told = Path(self._before.partition(" ")[2])
        os.environ[starting.RUN] = f"{os.getpid()} {self._told}"
        word = config.getoption("onetake_unused", "warn")
        self.report = UsageReport(word, start=config.invocation_params.dir)
        """What the run has to say, once its `pytest_sessionfinish` is over."""

    def pytest_unconfigure(self) -> None:
        """Leave the environment as it was."""
        if self._before is None:
            os.environ.pop(starting.RUN, None)
        else:
            os.environ[starting.RUN] = self._before

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Note which test modules were collected, and which of them not as a whole."""
        report = yield
        module = collector.getparent(pytest.Module)
        if module is not None:
            self._facts.modules.add(os.path.realpath(module.path))
            if not report.passed:
                self._facts.partly.add(os.path.realpath(module.path))
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note which tests there are, before anyone leaves some of them out."""
        self._items = list(items)
        for item in items:
            self._facts.functions |= _names_of(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Count the tests that are to run, and spare the cassettes of those that were left out, by whatever did so."""
        self._facts.count = len({item.nodeid for item in session.items})
        kept = {id(item) for item in session.items}
        for item in self._items:
            if id(item) not in kept:
                self._facts.add(_spared_by(item))
        self._items = []
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add to a test's reports what its session does not know."""
        report = yield
        if report.skipped:  # an expected failure, too: it may have stopped before it asked
            vars(report)[_FACTS] = _spared_by(item).as_plain()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in what a report says, of whichever process."""
        if self._is_worker:
            return
        said = vars(report)
        own = [said[OUTCOME]] if OUTCOME in said else []
        self._used += self._used_in([*own, *said.get(FIXTURES, ())])
        self._outside += self._used_in(said.get(SCOPES, ()))
        if _FACTS in said:
            self._facts.add(facts_of(said[_FACTS]))
        if report.when == "call" or report.skipped:
            self._ran.add(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """Take in what a worker knows at its end; one that crashed knows nothing."""
        said = getattr(node, "workeroutput", None) or {}
        if error is not None or _FACTS not in said:
            self._trouble = "a worker crashed"
            return
        self._facts.add(facts_of(said[_FACTS]))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send what a worker knows, or merge, write the ledger, and fail the run where that was asked for."""
        if self._is_worker:
            self._facts.healthy = session.exitstatus == pytest.ExitCode.OK
            self._config.workeroutput[_FACTS] = self._facts.as_plain()  # type: ignore[attr-defined]
            return
        self._outside += self._used_in(untold_of(self._config)) + told_in(self._told)
        self._conclude(session, merged(self._used, self._outside))
        if self._before:  # a run of tests inside another one
            for number, one in enumerate([*self._used, *self._outside]):
                tell(Path(self._before.partition(" ")[2], f"{os.getpid()}-{number}.json"), one)
        if self.report.fails:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _used_in(self, outcomes: Iterable[dict[str, Any]]) -> list[Used]:
        """Return what sessions used, by their outcomes."""
        told = list(outcomes)
        self._modes |= {Mode(outcome["mode"]) for outcome in told}
        return [used_of(outcome["usage"]) for outcome in told]

    def _conclude(self, session: pytest.Session, opened: dict[Identity, Opened]) -> None:
        config, facts = self._config, self._facts
        why = self._why_part(session)
        # Looked for only where the run counts so far: it takes a walk through all the folders of the project.
        roots = () if why else {one.root for one in opened.values()}
        missing = {root: found for root in roots if (found := left_out(config, root, facts.modules))}
        asked = next((found.path for found in missing.values() if found.asked), None)
        why = why or (self._not_collected(asked) if asked is not None else "")
        always = {root: found.path for root, found in missing.items()}
        unused = () if why else tuple(find_unused(opened, facts, always, config.rootpath))
        if unused:  # only now, as it takes reading the modules
            facts.partly |= {one for one in facts.modules if lacks_tests(config, one, facts.functions)}
            unused = tuple(find_unused(opened, facts, always, config.rootpath)) if facts.partly else unused
        held = next(map(self._not_collected, always.values()), "")
        trouble = self._write(opened, unused, why)
        if self.report.word != "ignore":
            self.report = replace(
                self.report,
                why=why if opened else "",
                unused=unused,
                held_back="" if why else held,
                trouble=trouble,
            )

    def _why_part(self, session: pytest.Session) -> str:
        """Say why this run proves nothing; empty if it does."""
        if self._trouble:
            return self._trouble
        if session.exitstatus != pytest.ExitCode.OK or not self._facts.healthy:
            return "not all tests passed"
        if self._modes and all(map(reads_nothing, self._modes)):
            return "the mode is off"
        if selected := selection(self._config):
            return f"tests were selected ({selected})"
        return "not all tests ran" if len(self._ran) < self._facts.count else ""

    def _not_collected(self, path: Path) -> str:
        place = place_of(path, self._config.rootpath)
        return f"{place} has too many folders" if path.is_dir() else f"{place} was not collected"

    def _write(self, opened: dict[Identity, Opened], unused: tuple[Unused, ...], why: str) -> str:
        """Write the ledger of each settings folder; returns what kept one from being written."""
        if self._config.getoption("onetake_vcr_entries", None):
            return ""  # it runs on entries of its own, and says nothing of the project's
        left = {one.folder: frozenset(one.entries) for one in unused}
        ledgers: dict[Path, dict[str, CassetteUsage]] = {}
        for one in opened.values():
            tests = {test: frozenset(slots) for test, slots in one.tests.items()}
            found = CassetteUsage(frozenset(one.used), left.pop(one.folder, frozenset()), one.known, tests)
            ledgers.setdefault(one.root, {})[place_of(one.folder, one.root)] = found
        for abandoned in unused:
            if abandoned.folder in left:
                place = place_of(abandoned.folder, abandoned.root)
                ledgers.setdefault(abandoned.root, {})[place] = CassetteUsage(unused=left[abandoned.folder])
        try:
            for root, cassettes in ledgers.items():
                write_run(root, _run(root, why, cassettes))
        except OSError as error:
            return str(error)
        return ""


def _names_of(item: pytest.Item) -> set[str]:
    names = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    module, function = os.path.realpath(item.path), getattr(item, "originalname", None) or item.name
    return {f"{module}::{'.'.join([*names, function])}", f"{module}=={'.'.join([*names, item.name])}"}


def _run(root: Path, why: str, cassettes: dict[str, CassetteUsage]) -> UsageRun:
    now = provenance(root, test="", client="", sdk=None, model_asked=None, model_served=None)
    files = "" if why else project_files.digest(root)  # it takes a look at all of them, and only what counts needs it
    return UsageRun(now["recorded_at"], now.get("commit", ""), files, why, cassettes)


def _spared_by(item: pytest.Item) -> Facts:
    """Return which cassettes a test may use, as far as that is known without running it."""
    fixtures = set(getattr(item, "fixturenames", ()))
    if not is_ours(item) and not (item.path.parent / "cassettes").is_dir():
        # It can have no cassette of its own, and what would say its name need not be loaded.
        return Facts(spared={str(item.path)}, fixtures=fixtures)
    from onetake.scrub import Scrubber

    folders: set[str] = set()
    with suppress(OnetakeError):
        folders.add(str(own_folder(item)))
        settings = settings_of(item.config, item.path)
        options, owned = options_of(item)
        if not owned:
            folders.add(str(cassette_folder(options.name, settings.root, Scrubber(settings.scrub))))
    return Facts(spared=folders, fixtures=fixtures)

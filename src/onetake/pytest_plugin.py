"""The pytest plugin: a marker, a fixture, `--record-mode`, and refusals that fail the test that caused them."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from onetake import (
    modes,
    pytest_fixtures,
    pytest_legacy,
    pytest_making,
    pytest_options,
    pytest_scopes,
    pytest_summary,
    pytest_usage,
    pytest_vcr_notes,
    pytest_vcr_serving,
)
from onetake.errors import Refusal
from onetake.ledger import softly
from onetake.model import Mode
from onetake.pytest_binding import item_bound
from onetake.pytest_items import ARGUMENTS, is_ours, is_skip, open_session, running
from onetake.pytest_reports import is_worker
from onetake.pytest_vcr_serving import is_marked
from onetake.settings import MODE_WORDS, parse_mode
from onetake.settings_start import set_start
from onetake.tracebacks import end_at_callers_line, family

if TYPE_CHECKING:
    from onetake.session import Session


def pytest_plugin_registered(plugin: object, manager: pytest.PytestPluginManager) -> None:
    """Have `-p onetake.pytest_plugin` be enough, also where our entry point would load the same module again."""
    if plugin is sys.modules[__name__] and not manager.has_plugin("onetake"):
        manager.set_blocked("onetake")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add our options, as far as no other plugin has them."""
    pytest_options.add_options(parser, pluginmanager)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the hook by which suites configure vcrpy."""
    pytest_vcr_serving.add_hook(pluginmanager)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker and take the mode from the command line."""
    config.addinivalue_line(
        "markers",
        f"cassette(name=None, *, {', '.join(ARGUMENTS)}): record and replay this test's model calls",
    )
    pytest_vcr_notes.watch(config)
    pytest_vcr_serving.configure(config)
    if pytest_vcr_serving.acts(config):
        from onetake import pytest_vcr_fixtures

        # Later than pytest-recording, whose fixtures of these names are not set up then.
        config.pluginmanager.register(pytest_vcr_fixtures, "onetake-vcr-fixtures")
    if pytest_vcr_serving.asked(config):
        from onetake import pytest_vcr_calls

        pytest_vcr_calls.take_over(config)
    pytest_making.watch(config)
    word = config.getoption("--record-mode", None)
    # A word that is not ours is one of the other plugin's own modes, which say nothing of our cassettes.
    # Put back at the end: pytest may run again in this process, or run inside a test of another run of it.
    before = modes.set_flag(parse_mode(word) if word in MODE_WORDS else None)
    called = modes.set_pytest(pytest_vcr_serving.command(config))
    config.add_cleanup(lambda: _put_back(before, called))
    pytest_scopes.watch(config)
    pytest_usage.watch(config)  # after the one above, so that at the end it is whole
    results = pytest_summary.results_of(config)
    pytest_legacy.watch(config, results.outcomes, lambda: results.crashed)
    if (path := config.getoption("onetake_report", None)) and not is_worker(config):
        from onetake import pytest_report_file

        pytest_report_file.watch(config, path)
    if _unmarked(config) == "fail":
        _watch_strays(config)


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> Session:
    """Return this test's open cassette: its entries, what was asked, replayed, recorded, refused and left unused."""
    test = request.node.stash.get(running, None)
    return (open_session(request.node) if test is None else test).run.session


@pytest.fixture(autouse=True)
def _onetake_session(request: pytest.FixtureRequest) -> Generator[None]:
    """Open the test's session before its other fixtures, where it is marked or asks for the `cassette` fixture."""
    item = request.node
    if is_marked(item):
        from onetake import pytest_vcr

        pytest_vcr.read_fixtures(request)
    if is_ours(item):
        open_session(item)
    yield
    test = item.stash.get(running, None)
    if test is not None:
        test.end()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note which tests use which fixtures of a wider scope, before any test is left out."""
    pytest_fixtures.look_at(config, items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Watch what reaches a model without a cassette, where any test has one: for other projects nothing is patched."""
    pytest_vcr_notes.watch_vcrpy(session.config, session.items)
    word = _unmarked(session.config)
    if word == "warn" or (word is None and any(map(is_ours, session.items))):
        _watch_strays(session.config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Generator[None, object, object]:
    """Set a fixture of a wider scope up under a session of its own, where a marked test uses it."""
    with pytest_fixtures.kept_error(fixturedef, request), pytest_fixtures.session_of(fixturedef, request):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Have `use_cassette` look for its settings from the test's file on, in whatever thread or task it is called."""
    before = set_start(item.path)
    try:
        return (yield)
    finally:
        set_start(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run the test under its session; a refusal that it swallowed fails it here."""
    test = item.stash.get(running, None)
    with item_bound(item, test.scope) if test is not None else nullcontext():
        try:
            result = yield
        except BaseException as error:
            _settle(item, None if is_skip(error) else error)
            raise
    _settle(item, None)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """Have refusals raised as `Exception`s, so that the finalizers of all other fixtures still run."""
    with softly():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep what a test recorded once its call has passed by pytest's own word, and say what became of the rest."""
    test = item.stash.get(running, None)
    shown = {
        *(family(call.excinfo.value) if call.excinfo else ()),
        *(test.run.session.refusals if test is not None else ()),
    }
    for error in shown:
        if isinstance(error, Refusal):
            end_at_callers_line(error)
    report = yield
    pytest_fixtures.tell(item.config, report)
    if report.when == "teardown":
        pytest_vcr_notes.note(report, item, legacy=test is not None and test.run.goes_by_url)
    if test is not None:
        if report.when == "teardown":
            pytest_making.note(report, test.run, passed=test.passed)
        test.see(report)
        if report.when == "teardown":
            del item.stash[running]
    return report


def _put_back(flag: Mode | None, command: str) -> None:
    modes.set_flag(flag)
    modes.set_pytest(command)


def _unmarked(config: pytest.Config) -> object:
    return config.getoption("onetake_unmarked", None)


def _watch_strays(config: pytest.Config) -> None:
    from onetake import pytest_strays  # with all that patches clients and sockets

    pytest_strays.watch(config)


def _settle(item: pytest.Item, error: BaseException | None) -> None:
    # Asked for again: a test may have opened its session by `request.getfixturevalue` only now.
    test = item.stash.get(running, None)
    if test is not None:
        test.over = True
        test.run.settle(error)

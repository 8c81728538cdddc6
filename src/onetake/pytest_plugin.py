"""The pytest plugin: a marker, a fixture, `--record-mode`, and refusals that fail the test that caused them."""

from __future__ import annotations

import argparse
import functools
import inspect
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from onetake import active, modes, scopes
from onetake.errors import OnetakeError, Refusal, UsageError
from onetake.model import Mode
from onetake.options import Options, without_secrets
from onetake.pytest_reports import SECTION, RunningTest, summary
from onetake.scrub import Scrubber
from onetake.session import Session
from onetake.session_run import SessionRun
from onetake.settings import Settings, load_settings, parse_mode
from onetake.stores.naming import folder_name
from onetake.tracebacks import end_at_callers_line, family

_MODES = (*(mode.value for mode in Mode), "replay", "rewrite")
_OTHERS = ("recording", "cassetter")
"""Plugins that define `--record-mode` too: pytest stops when two do, so theirs is read where they are there."""
_ARGUMENTS = tuple(field for field in Options.__dataclass_fields__ if field != "name")
_running = pytest.StashKey[RunningTest]()
_settings_of = pytest.StashKey[dict[Path, Settings]]()
_told = pytest.StashKey[list[RunningTest]]()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add `--record-mode`, unless another plugin does."""
    if _is_taken(pluginmanager):
        return
    # One that was loaded before us, under whatever name, has it already; then its own is read.
    with suppress(ValueError, argparse.ArgumentError):
        parser.getgroup("onetake", "record and replay model calls").addoption(
            "--record-mode",
            choices=_MODES,
            default=None,
            help="none (replay only, the default), once, new_episodes, all (ask everything again), off (no cassettes)",
        )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker and take the mode from the command line."""
    config.addinivalue_line(
        "markers",
        f"cassette(name=None, *, {', '.join(_ARGUMENTS)}): record and replay this test's model calls",
    )
    word = config.getoption("--record-mode", None)
    # A word that is not ours is one of the other plugin's own modes, which say nothing of our cassettes.
    modes.set_flag(parse_mode(word) if word in _MODES else None)


def pytest_unconfigure() -> None:
    """Forget the mode: pytest may run again in this process."""
    modes.set_flag(None)


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> Session:
    """Return this test's open cassette: its entries, what was asked, replayed, recorded, refused and left unused."""
    test = request.node.stash.get(_running, None)
    return (_open(request.node) if test is None else test).run.session


@pytest.fixture(autouse=True)
def _onetake_session(request: pytest.FixtureRequest) -> Generator[None]:
    """Open the test's session before its other fixtures, where it is marked or asks for the `cassette` fixture."""
    item = request.node
    if item.get_closest_marker("cassette") is not None or _asks_for_ours(item):
        _open(item)
    yield
    test = item.stash.get(_running, None)
    if test is not None:
        test.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Have `use_cassette` look for its settings from the test's file on, in whatever thread or task it is called."""
    before = scopes.set_start(item.path)
    try:
        return (yield)
    finally:
        scopes.set_start(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run the test under its session; a refusal that it swallowed fails it here."""
    test = item.stash.get(_running, None)
    with _bound(item, test.scope) if test is not None else nullcontext():
        try:
            result = yield
        except BaseException as error:
            _settle(item, None if _is_skip(error) else error)
            raise
    _settle(item, None)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """Have refusals raised as `Exception`s, so that the finalizers of all other fixtures still run."""
    with active.softly():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep what a test recorded once its call has passed by pytest's own word, and say what became of the rest."""
    test = item.stash.get(_running, None)
    shown = {
        *(family(call.excinfo.value) if call.excinfo else ()),
        *(test.run.session.refusals if test is not None else ()),
    }
    for error in shown:
        if isinstance(error, Refusal):
            end_at_callers_line(error)
    report = yield
    if test is not None:
        test.see(report)
        if report.when == "teardown":
            del item.stash[_running]
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in which a call came after its test had been reported: no test is left that could fail."""
    late = any(test.late for test in session.config.stash.get(_told, ()))
    if late and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was recorded, and what no failing test tells: answers that were refused, calls that came too late."""
    found = [report for reports in terminalreporter.stats.values() for report in reports]
    reports = [report for report in found if isinstance(report, pytest.TestReport)]
    lines = summary(reports, verbose=config.get_verbosity() > 0)
    lines += [f"{test.name}: after its end: {refusal}" for test in config.stash.get(_told, ()) for refusal in test.late]
    if lines:
        terminalreporter.section(SECTION)
        for line in dict.fromkeys(lines):
            terminalreporter.line(line)


@contextmanager
def _bound(item: pytest.Item, scope: active.Scope) -> Iterator[None]:
    """Bind a test to its session, and an async one inside its own task too: its runner may have begun elsewhere."""
    function = getattr(item, "obj", None)
    token = active.bind(scope)
    if inspect.iscoroutinefunction(function):
        item.obj = _bound_coroutine(function, scope)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        active.unbind(scope, token)
        if inspect.iscoroutinefunction(function):
            item.obj = function  # type: ignore[attr-defined]


def _settle(item: pytest.Item, error: BaseException | None) -> None:
    # Asked for again: a test may have opened its session by `request.getfixturevalue` only now.
    test = item.stash.get(_running, None)
    if test is not None:
        test.over = True
        test.run.settle(error)


def _is_skip(error: BaseException) -> bool:
    """Tell whether an error is a skip, which must not hide a refusal: it is no failure."""
    unittest = sys.modules.get("unittest")
    return isinstance(error, pytest.skip.Exception) or (unittest is not None and isinstance(error, unittest.SkipTest))


def _bound_coroutine(function: Any, scope: active.Scope) -> Any:
    @functools.wraps(function)
    async def bound(*args: Any, **kwargs: Any) -> Any:
        token = active.bind(scope)
        try:
            return await function(*args, **kwargs)
        finally:
            active.unbind(scope, token)

    return bound


def _node(item: pytest.Item) -> str:
    """Return a test's id as pytest takes it from the folder where it was started."""
    try:
        path = os.path.relpath(item.path, item.config.invocation_params.dir)
    except ValueError:  # another drive
        return str(item.nodeid)
    return Path(path).as_posix() + "".join(item.nodeid.partition("::")[1:])


def _open(item: pytest.Item) -> RunningTest:
    try:
        options, owned = _options(item)
        run = SessionRun(options, _settings(item), Mode.NONE, item.nodeid, node=_node(item), owned=owned)
        scope = run.open(ambient=True)
    except OnetakeError as error:
        pytest.fail(f"onetake: {error}", pytrace=False)
    test = RunningTest(run.test, run, scope)
    item.stash[_running] = test
    item.config.stash.setdefault(_told, []).append(test)
    return test


def _options(item: pytest.Item) -> tuple[Options, bool]:
    """Return what the markers of a test say, the nearest first, and whether its cassette is its own."""
    said: dict[str, Any] = {}
    for marker in item.iter_markers("cassette"):
        said = {**_arguments(marker), **said}
    own = said.get("name") is None
    said["name"] = _own_folder(item) if own else said["name"]
    return Options(**said), own


def _arguments(marker: pytest.Mark) -> dict[str, Any]:
    for word in marker.kwargs:
        if word not in ("name", *_ARGUMENTS):
            raise UsageError(f"the cassette marker has no argument {word!r}; it takes name, {', '.join(_ARGUMENTS)}")
    if len(marker.args) + ("name" in marker.kwargs) > 1:
        raise UsageError("the cassette marker takes one positional argument, the cassette's name, once")
    return {**dict(zip(("name",), marker.args, strict=False)), **marker.kwargs}


def _own_folder(item: pytest.Item) -> Path:
    """Return a test's own cassette: `cassettes/<test module>/<Class.test name[params]>/` beside the test."""
    names = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    own = without_secrets(".".join([*names, item.name]), Scrubber(_settings(item).scrub))
    return item.path.parent / "cassettes" / item.path.stem / folder_name(own)


def _asks_for_ours(item: pytest.Item) -> bool:
    """Tell whether a test asks for our `cassette` fixture, or for one that is built on it, and not for another's."""
    asked: Any = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).get("cassette")
    return bool(asked) and (asked[-1].func.__module__ == __name__ or "cassette" in asked[-1].argnames)


def _settings(item: pytest.Item) -> Settings:
    known = item.config.stash.setdefault(_settings_of, {})
    folder = item.path.parent
    if folder not in known:
        known[folder] = load_settings(item.path)
    return known[folder]


def _is_taken(manager: pytest.PytestPluginManager) -> bool:
    if os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        return any(manager.has_plugin(name) for name in _OTHERS)
    there = {point.name for point in metadata.entry_points(group="pytest11")}
    return any(name in there and not manager.is_blocked(name) for name in _OTHERS)

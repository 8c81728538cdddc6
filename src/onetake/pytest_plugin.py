"""The pytest plugin: a marker, a fixture, `--record-mode`, and refusals that fail the test that caused them."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Generator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from onetake import active, modes, scopes
from onetake.errors import OnetakeError, UsageError
from onetake.model import Mode
from onetake.session import Options, Session
from onetake.settings import Settings, load_settings, parse_mode
from onetake.stores.naming import folder_name

_MODES = ("none", "once", "new_episodes", "all", "off", "replay", "rewrite")
_OTHERS = ("recording", "cassetter")
"""Plugins that define `--record-mode` too: pytest stops when two do, so theirs is read where they are there."""
_running = pytest.StashKey["_Test"]()


class _Test:
    """One test's session, from its setup to its teardown."""

    def __init__(self, session: Session, scope: active.Scope) -> None:
        self.session = session
        self.scope = scope
        self.passed = False


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add `--record-mode`, unless another plugin does."""
    if _is_taken(pluginmanager):
        return
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
        "cassette(name=None, *, mode, contract, schema_version, repeats, keep, on_reject, key, hosts, ignore, "
        "max_age): record and replay this test's model calls",
    )
    word = config.getoption("--record-mode", None)
    try:
        modes.set_flag(parse_mode(word) if word else None)
    except UsageError as error:
        raise pytest.UsageError(f"--record-mode: {error}") from None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Forget the mode: pytest may run again in this process."""
    modes.set_flag(None)


@pytest.fixture
def cassette(request: pytest.FixtureRequest, _onetake_session: Session | None) -> Session:
    """Return this test's open cassette: its entries, what was asked, replayed, recorded, refused and left unused."""
    assert _onetake_session is not None
    return _onetake_session


@pytest.fixture(autouse=True)
def _onetake_session(request: pytest.FixtureRequest) -> Generator[Session | None]:
    """Open the test's session before its other fixtures, where it is marked or asks for the `cassette` fixture."""
    item = request.node
    marker = item.get_closest_marker("cassette")
    if marker is None and "cassette" not in request.fixturenames:
        yield None
        return
    try:
        session = Session(_options(item, marker), _settings(item.config, item.path), Mode.NONE, test=item.nodeid)
    except OnetakeError as error:
        pytest.fail(f"onetake: {error}", pytrace=False)
    test = _Test(session, session.open())
    item.stash[_running] = test
    yield session
    session.close()
    if test.passed:
        session.promote()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run the test under its session; a refusal that it swallowed fails it here, and nothing is promoted then."""
    start = scopes.settings_start.set(item.path)
    test = item.stash.get(_running, None)
    try:
        if test is None:
            return (yield)
        return (yield from _call(item, test))
    finally:
        scopes.settings_start.reset(start)


def _call(item: pytest.Item, test: _Test) -> Generator[None, object, object]:
    _bind_coroutine(item, test.scope)
    token = active.bind(test.scope)
    try:
        result = yield
    except BaseException as error:
        test.session.settle(error)
        _say_pending(item, test.session)
        raise
    finally:
        active.unbind(test.scope, token)
    try:
        test.session.settle()
    except BaseException:
        _say_pending(item, test.session)
        raise
    test.passed = True
    test.session.promote()
    return result


def _bind_coroutine(item: pytest.Item, scope: active.Scope) -> None:
    """Bind an async test inside its own task: its runner's context was made elsewhere, perhaps for another test."""
    function = getattr(item, "obj", None)
    if not inspect.iscoroutinefunction(function):
        return

    @functools.wraps(function)
    async def bound(*args: Any, **kwargs: Any) -> Any:
        token = active.bind(scope)
        try:
            return await function(*args, **kwargs)
        finally:
            active.unbind(scope, token)

    item.obj = bound  # type: ignore[attr-defined]


def _say_pending(item: pytest.Item, session: Session) -> None:
    """Say where the entries of a failing test are: they are paid for, and they answer first when it is tried again."""
    if session.recorded:
        text = f"{len(session.recorded)} recorded, kept aside until the test passes: {session.pending_place}"
        item.add_report_section("call", "onetake", text)


def _options(item: pytest.Item, marker: pytest.Mark | None) -> Options:
    args, kwargs = (marker.args, dict(marker.kwargs)) if marker else ((), {})
    if len(args) > 1:
        raise UsageError("the cassette marker takes one positional argument, the cassette's name")
    name = args[0] if args else kwargs.pop("name", None)
    known = {field for field in Options.__dataclass_fields__ if field != "name"}
    for word in kwargs:
        if word not in known:
            raise UsageError(f"the cassette marker has no argument {word!r}; it takes {', '.join(sorted(known))}")
    return Options(name or _own_folder(item), **kwargs)


def _own_folder(item: pytest.Item) -> Path:
    """Return a test's own cassette: `cassettes/<test module>/<Class.test name[params]>/` beside the test."""
    names = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return item.path.parent / "cassettes" / item.path.stem / folder_name(".".join([*names, item.name]))


def _settings(config: pytest.Config, path: Path) -> Settings:
    known: dict[Path, Settings] = config.stash.setdefault(_SETTINGS, {})
    if path.parent not in known:
        known[path.parent] = load_settings(path)
    return known[path.parent]


_SETTINGS = pytest.StashKey[dict[Path, Settings]]()


def _is_taken(manager: pytest.PytestPluginManager) -> bool:
    if os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        return any(manager.has_plugin(name) for name in _OTHERS)
    there = {point.name for point in metadata.entry_points(group="pytest11")}
    return any(name in there and not manager.is_blocked(name) for name in _OTHERS)

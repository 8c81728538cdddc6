"""Fixtures of a wider scope: what one asks while it is set up and torn down is its own, whichever test came first."""

from __future__ import annotations

import functools
import inspect
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Token
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from onetake import active, modes, pytest_making
from onetake.aside import place_of
from onetake.decide import records
from onetake.errors import OnetakeError
from onetake.model import Mode
from onetake.options import Options, without_secrets
from onetake.pytest_binding import bound_function, bound_to
from onetake.pytest_items import is_ours, is_skip, node_of, said_by, settings_of
from onetake.pytest_reports import RunningTest
from onetake.scrub import Scrubber
from onetake.session_run import SessionRun
from onetake.settings import Settings
from onetake.stores import files
from onetake.stores.naming import folder_name
from onetake.tracebacks import is_installed

FIXTURES = "onetake_fixtures"
"""The attribute of a report that holds the outcomes of the fixtures that were set up or torn down for it."""

FOLDER_END = "~fixture"
"""What the name of a fixture's folder ends in, and that of no test's."""
OF_PYTEST = {
    "_unittest_setUpClass_fixture_": "setUpClass",
    "_xunit_setup_class_fixture_": "setup_class",
    "_xunit_setup_module_fixture_": "setup_module",
}
"""The fixtures that pytest makes of a test module's own functions."""

_users = pytest.StashKey[dict[Any, list[pytest.Item]]]()
"""The marked tests that use each fixture of a wider scope, in the stash of the configuration."""
_untold = pytest.StashKey[list["FixtureSession"]]()
"""The fixtures of which no report has told yet, in the stash of the configuration."""


def look_at(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note which fixtures of a wider scope the marked tests use: all that were collected, also those left out later."""
    users: dict[Any, list[pytest.Item]] = config.stash.setdefault(_users, defaultdict(list))
    for item in filter(is_ours, items):
        for definitions in getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values():
            for definition in definitions:
                if definition.scope != "function":
                    users[definition].append(item)


@contextmanager
def session_of(definition: Any, request: Any) -> Iterator[None]:
    """Set a fixture up under a session of its own where it is of a wider scope and a marked test uses it.

    Args:
        definition: The fixture's.
        request: What it is set up for.
    """
    home = None if definition.scope == "function" else _home(definition, request)
    if home is None or not _is_for_ours(definition, request):
        yield
        return
    file, name = home
    with _alone(file, name, request):
        fixture = _made(file, name, request)
        definition.addfinalizer(fixture.end)
        try:
            with fixture.setup(), _bound(definition, fixture):
                yield
        finally:
            definition.addfinalizer(fixture.begin_teardown)


@contextmanager
def kept_error(definition: Any, request: Any) -> Iterator[None]:
    """Have pytest keep what a fixture's setup raised, as it keeps every `Exception`, also where it is a refusal.

    Source: `_pytest.fixtures.FixtureDef` takes one that raised anything else for one that was never set up: it is not
        torn down, and its next setup stops at an assertion.
    """
    try:
        yield
    except (OnetakeError, BaseExceptionGroup, pytest.fail.Exception) as error:
        definition.cached_result = (None, definition.cache_key(request), (error, error.__traceback__))
        raise


def tell(config: pytest.Config, report: pytest.TestReport) -> None:
    """Add to a report what became of the fixtures that were set up or torn down since the last one."""
    untold = config.stash.get(_untold, [])
    for fixture in untold:
        vars(report).setdefault(FIXTURES, []).append(fixture.running.outcome())
        pytest_making.note(report, fixture.running.run, passed=fixture.running.passed)
    untold.clear()


class FixtureSession:
    """One fixture's session: open while it is set up and again while it is torn down, and no one's in between.

    Args:
        run: Its session's.
        untold: Where it goes when there is something to tell.
    """

    def __init__(self, run: SessionRun, untold: list[FixtureSession]) -> None:
        self._run = run
        self._untold = untold
        self._begun: tuple[active.Scope, Token[active.Scope | None]] | None = None
        self._broken = False
        self._running: RunningTest | None = None

    @contextmanager
    def setup(self) -> Iterator[None]:
        """Open it for the setup; what that recorded is kept where it passed."""
        self._begin()
        self._broken = True
        try:
            yield
        except BaseException as error:
            self._end(None if is_skip(error) else error, passed=False)
            raise
        self._end(None, passed=True)
        self._broken = False

    def begin_teardown(self) -> None:
        """Open it again: the first of the fixture's finalizers."""
        self._begin()

    def end(self) -> None:
        """Close it: the last of the fixture's finalizers. What was refused in a setup that failed was told there."""
        if self._broken:
            self._close()
        else:
            self._end(None, passed=True)

    @contextmanager
    def here(self) -> Iterator[None]:
        """Bind it, while it is open, for one step of an async fixture, whose task may have begun elsewhere."""
        if self._begun is None:
            yield
            return
        with bound_to(self._begun[0]):
            yield

    @property
    def running(self) -> RunningTest:
        """What became of its setup and later, told anew, of that and its teardown."""
        assert self._running is not None
        return self._running

    def _begin(self) -> None:
        scope = self._run.open(ambient=True, lets_go=True)
        self._begun = scope, active.bind(scope)
        self._running = self._running or RunningTest(self._run.test, self._run, scope)

    def _close(self) -> None:
        if self._begun is not None:
            active.unbind(*self._begun)
            self._run.close()
            self._begun = None

    def _end(self, error: BaseException | None, *, passed: bool) -> None:
        """Close it, and keep what was recorded where nothing failed and nothing was refused."""
        self._close()
        self._untold.append(self)
        self._run.settle(error, expects_calls=False)
        if passed:
            self._run.promote()
            self.running.passed = True
            self._run.retire()
            self._run.clear(alone="PYTEST_XDIST_WORKER" not in os.environ)


def _made(file: Path, name: str, request: Any) -> FixtureSession:
    item = request._pyfuncitem
    try:
        settings = settings_of(item.config, file)
        said = {**said_by(request.node), "name": _folder(file, name, settings)}
        test = f"{place_of(file, item.config.rootpath)}::{name}"
        run = SessionRun(Options(**said), settings, Mode.NONE, test, node=node_of(item))
    except OnetakeError as error:
        pytest.fail(f"onetake: {error}", pytrace=False)
    return FixtureSession(run, item.config.stash.setdefault(_untold, []))


@contextmanager
def _alone(file: Path, name: str, request: Any) -> Iterator[None]:
    """Keep the other workers of pytest-xdist out while one may record: they find its entries then."""
    config = request._pyfuncitem.config
    settings = settings_of(config, file)
    mode = modes.resolve(said_by(request.node).get("mode"), settings.mode, Mode.NONE)
    if "PYTEST_XDIST_WORKER" not in os.environ or not records(mode):
        yield
        return
    # The folder that all workers of a run have, and that pytest removes in its time.
    shared = request.getfixturevalue("tmp_path_factory").getbasetemp().parent
    place = shared / f"onetake-{sha256(str(_folder(file, name, settings)).encode('utf-8', 'replace')).hexdigest()[:16]}"
    place.mkdir(exist_ok=True)
    with files.locked(place):
        yield


def _is_for_ours(definition: Any, request: Any) -> bool:
    """Tell whether a marked test uses a fixture in this place of its scope: the one that comes first, or another."""
    item = request._pyfuncitem
    if is_ours(item):
        return True
    return any(
        request.node in user.listchain() and _uses(user, definition, request)
        for user in item.config.stash.get(_users, {}).get(definition, ())
    )


def _uses(user: pytest.Item, definition: Any, request: Any) -> bool:
    """Tell whether a test uses a fixture under the parameter that it is set up for now."""
    indices = getattr(getattr(user, "callspec", None), "indices", {})
    return bool(indices.get(definition.argname, request.param_index) == request.param_index)


def _home(definition: Any, request: Any) -> tuple[Path, str] | None:
    """Return the file that defines a fixture, and its name there; None for one of an installed plugin."""
    for start, name in OF_PYTEST.items():
        if definition.argname.startswith(start):
            classes = [node.name for node in request.node.listchain() if isinstance(node, pytest.Class)]
            return request.node.path, ".".join([*classes, name])
    function = inspect.unwrap(definition.func)
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    if code is None or is_installed(code.co_filename):
        return None
    classes = getattr(function, "__qualname__", "").split(".")[:-1]
    name = ".".join([*classes, definition.argname])
    return Path(code.co_filename), name + (f"[{_parameter(definition, request)}]" if hasattr(request, "param") else "")


def _parameter(definition: Any, request: Any) -> str:
    """Return how a fixture's parameter is called: as it says itself, by its value where that is plain, or by number."""
    index, ids = request.param_index, definition.ids
    own = ids(request.param) if callable(ids) else ids[index] if ids else None
    declared = definition.params[index] if definition.params else None
    own = own if own is not None else getattr(declared, "id", None)
    if isinstance(own, str | int | float | bool):
        return str(own)
    if isinstance(request.param, str | int | float | bool | None):
        return str(request.param)
    return f"{definition.argname}{index}"


def _folder(file: Path, name: str, settings: Settings) -> Path:
    """Return a fixture's cassette, beside its file; no test's folder has a `~` before anything but a digest."""
    own = without_secrets(name, Scrubber(settings.scrub))
    return file.parent / "cassettes" / file.stem / f"{folder_name(own)}{FOLDER_END}"


@contextmanager
def _bound(definition: Any, fixture: FixtureSession) -> Iterator[None]:
    """Bind each step of an async fixture as well: it runs in a task that may have begun before the session."""
    function = definition.func
    definition.func = bound_function(function, fixture.here)
    try:
        yield
    finally:
        definition.func = function

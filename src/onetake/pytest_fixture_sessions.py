"""The session of one fixture of a wider scope, which opens for its setup and again for its teardown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Token
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from onetake import active, legacy_book
from onetake.aside import place_of
from onetake.decide import records
from onetake.model import Mode
from onetake.options import Options, policy_of, without_secrets
from onetake.pytest_binding import bound_function, bound_to
from onetake.pytest_items import FOLDER_END, failing, is_skip, node_of, said_by, settings_of
from onetake.pytest_reports import RunningTest, is_worker, untold
from onetake.scrub import Scrubber
from onetake.session_run import SessionRun
from onetake.settings import Settings
from onetake.stores import files
from onetake.stores.naming import folder_name


@contextmanager
def set_up(definition: Any, request: Any, file: Path, name: str) -> Iterator[None]:
    """Set a fixture up under a session of its own, and have it torn down under that.

    Args:
        definition: The fixture's.
        request: What it is set up for.
        file: Where it is defined.
        name: How it is called there.
    """
    with failing():
        plan = _planned(request, file, name)
    with _alone(plan, request):
        with failing():
            fixture = plan.session()
        definition.addfinalizer(fixture.end)
        try:
            with fixture.setup(), _bound(definition, fixture):
                yield
        finally:
            definition.addfinalizer(fixture.begin_teardown)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a fixture's session is to be, before anything of it is open."""

    item: pytest.Item
    test: str
    options: Options
    settings: Settings
    folder: Path

    @property
    def mode(self) -> Mode:
        return policy_of(self.options, self.settings, Mode.NONE).mode

    def session(self) -> _FixtureSession:
        run = SessionRun(self.options, self.settings, Mode.NONE, self.test, node=node_of(self.item))
        return _FixtureSession(run, self.item.config)


class _FixtureSession:
    """One fixture's session: open while it is set up and again while it is torn down, and no one's in between.

    Args:
        run: Its session's.
        config: Of the run of pytest, whose next report is to tell of it.
    """

    def __init__(self, run: SessionRun, config: pytest.Config) -> None:
        self._run = run
        self._config = config
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
            self.running.result = "skipped" if is_skip(error) else "failed"
            self._run.let_go()
            raise
        self._end(None, passed=True)
        self._broken = False

    def begin_teardown(self) -> None:
        """Open it again: the first of the fixture's finalizers."""
        self._begin()

    def end(self) -> None:
        """Close it: the last of the fixture's finalizers. What was refused in a setup that failed was told there."""
        try:
            if self._broken:
                self._close()
            else:
                self._end(None, passed=True)
        finally:
            self._run.let_go()

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
        with failing():
            scope = self._run.open(ambient=True, lets_go=True)
        self._begun = scope, active.bind(scope)
        self._running = self._running or RunningTest(
            self._run.test, self._run, scope, alone=not is_worker(self._config)
        )

    def _close(self) -> None:
        if self._begun is not None:
            active.unbind(*self._begun)
            self._run.close()
            self._begun = None

    def _end(self, error: BaseException | None, *, passed: bool) -> None:
        """Close it, and keep what was recorded where nothing failed and nothing was refused."""
        self._close()
        self._config.stash.setdefault(untold, []).append(self.running)
        result, self.running.result = self.running.result, "failed"
        self._run.settle(error, expects_calls=False)
        if passed:
            self._run.keep(alone=not is_worker(self._config))
            self.running.passed, self.running.result = True, result


def _planned(request: Any, file: Path, name: str) -> _Plan:
    item = request._pyfuncitem
    settings = settings_of(item.config, file)
    folder = _folder(file, name, settings)
    test = f"{place_of(file, item.config.rootpath)}::{name}"
    options = legacy_book.narrowed(Options(**{**said_by(request.node), "name": folder}), settings, test)
    return _Plan(item, test, options, settings, folder)


@contextmanager
def _alone(plan: _Plan, request: Any) -> Iterator[None]:
    """Keep the other workers of pytest-xdist out while one may record: they find its entries then."""
    with failing():
        shares = is_worker(plan.item.config) and records(plan.mode)
    if not shares:
        yield
        return
    # The folder that all workers of a run have, and that pytest removes in its time.
    shared = request.getfixturevalue("tmp_path_factory").getbasetemp().parent
    place = shared / f"onetake-{sha256(str(plan.folder).encode('utf-8', 'replace')).hexdigest()[:16]}"
    place.mkdir(exist_ok=True)
    with files.locked(place):
        yield


def _folder(file: Path, name: str, settings: Settings) -> Path:
    """Return a fixture's cassette, beside its file; no test's folder has a `~` before anything but a digest."""
    own = without_secrets(name, Scrubber(settings.scrub))
    return file.parent / "cassettes" / file.stem / f"{folder_name(own)}{FOLDER_END}"


@contextmanager
def _bound(definition: Any, fixture: _FixtureSession) -> Iterator[None]:
    """Bind each step of an async fixture as well: it runs in a task that may have begun before the session."""
    function = definition.func
    definition.func = bound_function(function, fixture.here)
    try:
        yield
    finally:
        definition.func = function

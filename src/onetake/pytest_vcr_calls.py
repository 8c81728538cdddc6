"""`vcr.use_cassette` of vcrpy itself, as a block or a decorator, served by us while `--onetake-vcr` says so."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from contextvars import Token
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from onetake import active, hooking, legacy_book, modes, pytest_vcr_notes
from onetake.errors import UsageError
from onetake.model import Mode
from onetake.options import Options
from onetake.preparing import Preparing
from onetake.pytest_items import node_in
from onetake.pytest_vcr_places import moved, settings_for
from onetake.scopes import start
from onetake.session_run import SessionRun
from onetake.settings import load_settings
from onetake.stores.naming import folder_name
from onetake.vcrwords import functions, matching, shapes
from onetake.vcrwords.cassettes import VcrCassette
from onetake.vcrwords.configuration import refuse_unequalled, request_steps, sensitive_steps, unknown_in
from onetake.vcrwords.naming import without_ending

_OPENED = "_onetake_opened"
_SAID = "_onetake_said"
"""Where what vcrpy opens a cassette with has what the suite said, by its keys."""
_COMPOSED = "before_record_request, or a filter"
"""What vcrpy has made one function of, for a cassette that no `VCR` configures: nobody can tell which of them it is."""


def take_over(config: pytest.Config) -> None:
    """Have vcrpy's cassettes be ours until the end of a run, where vcrpy is installed.

    Args:
        config: Of the run.
    """
    if importlib.util.find_spec("vcr") is None:
        return
    decorator, configured = import_module("vcr.cassette").CassetteContextDecorator, import_module("vcr.config").VCR
    before = decorator.__enter__, decorator.__exit__, configured.get_merged_config

    def merged(self: Any, **said: Any) -> Any:
        shapes.check({**vars(self), **said})
        pytest_vcr_notes.add(config, unknown_in(said))
        return {**before[2](self, **said), _SAID: _raw(vars(self), said)}

    def enter(self: Any) -> VcrCassette:
        if _OPENED in vars(self):
            raise UsageError("this cassette is open already: have the inner block open one of its own by use_cassette")
        opened = _Opened(self._args_getter(), config)
        vars(self)[_OPENED] = opened
        return opened.cassette

    def leave(self: Any, _kind: object, error: BaseException | None, _trace: object) -> None:
        vars(self).pop(_OPENED).close(error)

    def put_back() -> None:
        decorator.__enter__, decorator.__exit__, configured.get_merged_config = before

    configured.get_merged_config = merged
    hooking.put(decorator, "__enter__", enter)  # as a hook of ours, that nobody takes it for another tool's start
    hooking.put(decorator, "__exit__", leave)
    config.add_cleanup(put_back)


class _Opened:
    """One open session in the place of a cassette of vcrpy's.

    Args:
        said: What vcrpy would open it with: its functions are composed already.
        config: Of the run.

    Raises:
        UsageError: Something in it has no equal here.
    """

    def __init__(self, said: Mapping[str, Any], config: pytest.Config) -> None:
        refuse_unequalled(said)
        if "path" not in said:
            raise TypeError("use_cassette() needs a path where it decorates no function")
        transform = said.get("path_transformer") or str
        path = Path(transform(os.fspath(said["path"])))
        place = moved(config, Path.cwd() / path.parent) / folder_name(without_ending(path.name))
        preparing, compare = _preparing(said)
        mode = shapes.mode_of(said["record_mode"])
        repeats = "same" if said.get("allow_playback_repeats") else "sequence"
        settings = settings_for(config, load_settings(start()))
        options = legacy_book.narrowed(Options(place, mode=mode, repeats=repeats), settings, modes.running_test())
        self._run = SessionRun(options, settings, Mode.ONCE, node=_node(config), preparing=preparing)
        self._scope = self._run.open()
        self._token: Token[active.Scope | None] = active.bind(self._scope)
        self.cassette = VcrCassette(self._scope.engine, preparing, compare)
        self.cassette.inject = bool(said.get("inject"))

    def close(self, error: BaseException | None) -> None:
        """End it, and raise what was refused and swallowed."""
        active.unbind(self._scope, self._token)
        self._run.close()
        self._run.settle(error, expects_calls=False)


def _node(config: pytest.Config) -> str:
    """Return the test that runs as pytest takes it from the current folder; empty outside tests."""
    test = modes.running_test()
    return node_in(config, config.rootpath / test.partition("::")[0], test) if test else ""


def _raw(configured: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a suite said by its keys; of two names of one key the nearer counts."""
    is_old = "before_record" in said and "before_record_request" not in said
    return {**configured, **said, **({"before_record_request": None} if is_old else {})}


def _preparing(said: Mapping[str, Any]) -> tuple[Preparing, matching.Compare]:
    composed = [(_COMPOSED, said["before_record_request"]), *sensitive_steps(said.get("filter_sensitive_data"))]
    steps = list(request_steps(said[_SAID])) if _SAID in said else composed
    matchers = list(said["match_on"])
    names = {each.__name__ for each in matchers if _is_built_in(each)}
    compare = matching.compare_with(
        [matching.built_in(each.__name__) if _is_built_in(each) else each for each in matchers]
    )
    is_default = len(names) == len(matchers) and names == set(matching.DEFAULT)
    preparing = Preparing(
        request=functions.prepares(steps) if steps else None,
        response=functions.prepares_answers([said["before_record_response"]]),
        matches=None if is_default else functions.matches(compare),
        passes=functions.passes(steps),
    )
    return preparing, compare


def _is_built_in(matcher: Any) -> bool:
    return bool(matcher.__module__ == "vcr.matchers" and matching.is_known(matcher.__name__, {}))

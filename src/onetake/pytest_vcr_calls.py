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

from onetake import active, hooking
from onetake.model import Mode, Request, Response
from onetake.options import Options
from onetake.preparing import Preparing
from onetake.pytest_vcr_places import moved, settings_for, without_ending
from onetake.scopes import start
from onetake.session_run import SessionRun
from onetake.settings import load_settings
from onetake.stores.naming import folder_name
from onetake.vcrwords import matching
from onetake.vcrwords.cassettes import VcrCassette
from onetake.vcrwords.configuration import functions_prepare, refuse_unequalled
from onetake.vcrwords.requests import as_vcr, from_vcr

_OPENED = "_onetake_opened"


def take_over(config: pytest.Config) -> None:
    """Have vcrpy's cassettes be ours until the end of a run, where vcrpy is installed.

    Args:
        config: Of the run.
    """
    if importlib.util.find_spec("vcr") is None:
        return
    decorator = import_module("vcr.cassette").CassetteContextDecorator
    before = decorator.__enter__, decorator.__exit__

    def enter(self: Any) -> VcrCassette:
        opened = _Opened(self._args_getter(), config)
        vars(self)[_OPENED] = opened
        return opened.cassette

    def leave(self: Any, _kind: object, error: BaseException | None, _trace: object) -> None:
        vars(self).pop(_OPENED).close(error)

    def put_back() -> None:
        decorator.__enter__, decorator.__exit__ = before

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
        mode = getattr(said["record_mode"], "value", said["record_mode"])
        repeats = "same" if said.get("allow_playback_repeats") else "sequence"
        settings = settings_for(config, load_settings(start()))
        self._run = SessionRun(Options(place, mode=mode, repeats=repeats), settings, Mode.ONCE, preparing=preparing)
        self._scope = self._run.open()
        self._token: Token[active.Scope | None] = active.bind(self._scope)
        self.cassette = VcrCassette(self._run.session, preparing, compare)
        self.cassette.inject = bool(said.get("inject"))

    def close(self, error: BaseException | None) -> None:
        """End it, and raise what was refused and swallowed."""
        active.unbind(self._scope, self._token)
        self._run.close()
        self._run.settle(error, expects_calls=False)


def _preparing(said: Mapping[str, Any]) -> tuple[Preparing, matching.Compare]:
    prepare = said["before_record_request"]
    matchers = list(said["match_on"])
    compare = matching.compare_with(matchers)
    names = {each.__name__ for each in matchers if each.__module__ == "vcr.matchers"}
    is_default = len(names) == len(matchers) and names == set(matching.DEFAULT)

    def request(asked: Request) -> Request | None:
        changed = prepare(as_vcr(asked))
        return from_vcr(changed, asked) if changed is not None else None

    def passes(method: str, url: str) -> bool:
        try:
            return prepare(as_vcr(Request(method, url))) is None
        except Exception:  # noqa: BLE001 - it looks at more than there is yet; it is asked again of the whole request
            return False

    def matches(asked: Request, stored: Request) -> bool:
        return compare(as_vcr(asked), as_vcr(stored))

    def response(answer: Response) -> Response | None:
        return functions_prepare([said["before_record_response"]])(answer)

    return Preparing(request, response, None if is_default else matches, passes), compare

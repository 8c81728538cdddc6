"""Which mode a session runs in: one order of precedence, one place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from onetake.errors import UsageError
from onetake.model import Mode
from onetake.settings import parse_mode, parse_setting

VARIABLE = "ONETAKE_MODE"
"""The environment variable that says a mode."""

_flag: Mode | None = None
_run: Mode | None = None
_switch = ""
_pytest = "pytest"

VCR_PLACES = ("the vcr marker", "vcr_config", "pytest_recording_configure")
"""Where a suite may say vcrpy's `record_mode`, which goes before the flag: words of `Policy.mode_by`, too."""


def under_pytest() -> bool:
    """Tell whether pytest runs in this process, or in one that started it."""
    # Source: pytest sets the first from 8.2 on, the second while a test runs, in every version.
    return "PYTEST_VERSION" in os.environ or "PYTEST_CURRENT_TEST" in os.environ


def running_test() -> str:
    """Return the id of the test that pytest runs, in this process or in one that started it; empty where none is."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]


def set_flag(mode: Mode | None) -> Mode | None:
    """Set what `--record-mode` said, which goes before what code, environment and settings say; returns what was set.

    Args:
        mode: None where nothing was said.
    """
    global _flag
    before, _flag = _flag, mode
    return before


def set_pytest(command: str) -> str:
    """Set how pytest is called so that a test runs again as it does now, up to its mode; returns what was set.

    Args:
        command: `pytest`, and the options that this run was given and nobody else says.
    """
    global _pytest
    before, _pytest = _pytest, command
    return before


def pytest_command() -> str:
    """Return what `set_pytest` was given; `pytest` where nobody said more."""
    return _pytest


@contextmanager
def running(mode: Mode | None, switch: str) -> Iterator[None]:
    """Have one mode hold, inside the block, for all of a program that is run there, before what its code says.

    Args:
        mode: If one is given; else what holds already for the program that we are part of, then `ONETAKE_MODE`. Where
            that program is sealed, it stays sealed.
        switch: How a person says another mode, as for `set_run`; where that program is sealed, its own stays.
    """
    before, outer = _run, _switch
    sealed = before is Mode.NONE
    set_run(before if sealed else mode or before or _environment(), outer if sealed else switch)
    try:
        yield
    finally:
        set_run(before, outer)


def set_run(mode: Mode | None, switch: str) -> None:
    """Set what holds for all of the program that this process is part of.

    Args:
        mode: What was said for all of it; it goes before the program's own code. None where nothing was said.
        switch: The command or the variable by which a person says another mode for it, with `{mode}` in the place of
            the mode; empty where its code or a test does.
    """
    global _run, _switch
    _run, _switch = mode, switch


def switch(said_by: str = "") -> str:
    """Return how a person says another mode for a session: what `set_run` was given, with `{mode}` in it.

    Args:
        said_by: Who said the session's mode, as `said_by` tells it.

    Returns:
        Empty where only the code can: it goes before a variable of the environment, not before a command of ours.
    """
    return "" if said_by == "code" and not is_run() else _switch


def is_run() -> bool:
    """Tell whether this process is part of a program that is run by a command of ours."""
    return bool(_switch) and not _switch.startswith(VARIABLE)


def forced() -> Mode | None:
    """Return the mode that goes before the program's own code, to be handed on to child processes; None for none."""
    return Mode.NONE if _is_sealed() else _flag or _run


def resolve(code: Mode | str | None, settings: Mode | None, default: Mode) -> Mode:
    """Return the mode of a session.

    Args:
        code: What the marker or the call says.
        settings: What the settings say.
        default: What holds where nobody says anything.

    Returns:
        In this order: `ONETAKE_MODE=none`, so that an operator can seal any program; the flag; what was said for all of
        a program that is run by us; the code; any other `ONETAKE_MODE`; the settings; `none` where `CI` is set (to
        anything but `0`, `false` or nothing) or pytest runs; the default.

    Raises:
        UsageError: A word is no mode.
    """
    if _is_sealed():
        return Mode.NONE
    said = None if code is None else parse_mode(code)
    sealed = Mode.NONE if under_pytest() or in_ci() else None
    return _flag or _run or said or _environment() or settings or sealed or default


def said_by(code: Mode | str | None, settings: Mode | None) -> str:
    """Return who said the mode of a session that is no test's; a seal by `ONETAKE_MODE=none` does not count here.

    Args:
        code: As for `resolve`.
        settings: As for `resolve`.

    Returns:
        `flag`, `program`, `code`, `environment`, `settings`, `CI`; empty for the default.
    """
    sealed = in_ci() and not under_pytest()
    who = {
        "flag": _flag,
        "program": _run,
        "code": code,
        "environment": _environment(),
        "settings": settings,
        "CI": sealed,
    }
    return next((name for name, said in who.items() if said), "")


def sealed_by_environment() -> bool:
    """Tell whether `ONETAKE_MODE` says `none`, in either of its words: then no other setting lets a call out.

    Raises:
        UsageError: Its word is no mode.
    """
    return _environment() is Mode.NONE


def refuse_sealed() -> None:
    """See that the environment lets somebody be asked.

    Raises:
        UsageError: It seals every program; told in its own word.
    """
    if sealed_by_environment():
        raise UsageError(f"{VARIABLE}={os.environ[VARIABLE]} lets nothing be asked")


def _is_sealed() -> bool:
    return _run is Mode.NONE or sealed_by_environment()


def _environment() -> Mode | None:
    word = os.environ.get(VARIABLE, "")
    mode: Mode | None = parse_setting("mode", word, VARIABLE) if word else None
    return mode


def in_ci() -> bool:
    """Tell whether this is a run of continuous integration, by `CI`."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")

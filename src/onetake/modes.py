"""Which mode a session runs in: one order of precedence, one place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from onetake.model import Mode
from onetake.settings import parse_mode

_flag: Mode | None = None
_run: Mode | None = None
_switch = ""


def under_pytest() -> bool:
    """Tell whether pytest runs in this process, or in one that started it."""
    # Source: pytest sets the first from 8.2 on, the second while a test runs, in every version.
    return "PYTEST_VERSION" in os.environ or "PYTEST_CURRENT_TEST" in os.environ


def set_flag(mode: Mode | None) -> None:
    """Set what `--record-mode` said; it goes before what code, environment and settings say."""
    global _flag
    _flag = mode


@contextmanager
def running(mode: Mode | None) -> Iterator[None]:
    """Have one mode hold, inside the block, for all of a program that is run there, before what its code says.

    Args:
        mode: If one is given; else what holds already for the program that we are part of, then `ONETAKE_MODE`. Where
            that program is sealed, it stays sealed.
    """
    before, switch = _run, _switch
    set_run(before if before is Mode.NONE else mode or before or _environment(), "onetake run --mode ")
    try:
        yield
    finally:
        set_run(before, switch)


def set_run(mode: Mode | None, switch: str) -> None:
    """Set what holds for all of the program that this process is part of.

    Args:
        mode: What was said for all of it; it goes before the program's own code. None where nothing was said.
        switch: How a person says another mode for it, up to the mode's word; empty where its code or a test does.
    """
    global _run, _switch
    _run, _switch = mode, switch


def switch() -> str:
    """Return how a person says another mode for this program, up to the mode's word; empty where its code does."""
    return _switch


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
    sealed = Mode.NONE if under_pytest() or _in_ci() else None
    return _flag or _run or said or _environment() or settings or sealed or default


def sealed_by_environment() -> bool:
    """Tell whether `ONETAKE_MODE` says `none`, in either of its words: then no other setting lets a call out.

    Raises:
        UsageError: Its word is no mode.
    """
    return _environment() is Mode.NONE


def _is_sealed() -> bool:
    return _run is Mode.NONE or sealed_by_environment()


def _environment() -> Mode | None:
    word = os.environ.get("ONETAKE_MODE", "")
    return parse_mode(word) if word else None


def _in_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")

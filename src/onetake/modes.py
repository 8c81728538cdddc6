"""Which mode a session runs in: one order of precedence, one place."""

from __future__ import annotations

import os

from onetake.model import Mode
from onetake.settings import parse_mode

_flag: Mode | None = None


def under_pytest() -> bool:
    """Tell whether pytest runs in this process, or in one that started it."""
    # Source: pytest sets the first from 8.2 on, the second while a test runs, in every version.
    return "PYTEST_VERSION" in os.environ or "PYTEST_CURRENT_TEST" in os.environ


def set_flag(mode: Mode | None) -> None:
    """Set what `--record-mode` said; it goes before what code, environment and settings say."""
    global _flag
    _flag = mode


def resolve(code: Mode | str | None, settings: Mode | None, default: Mode) -> Mode:
    """Return the mode of a session.

    Args:
        code: What the marker or the call says.
        settings: What the settings say.
        default: What holds where nobody says anything.

    Returns:
        In this order: `ONETAKE_MODE=none`, so that an operator can seal any program; the flag; the code; any other
        `ONETAKE_MODE`; the settings; `none` where `CI` is set (to anything but `0`, `false` or nothing) or pytest runs;
        the default.

    Raises:
        UsageError: A word is no mode.
    """
    if sealed_by_environment():
        return Mode.NONE
    said = None if code is None else parse_mode(code)
    sealed = Mode.NONE if under_pytest() or _in_ci() else None
    return _flag or said or _environment() or settings or sealed or default


def sealed_by_environment() -> bool:
    """Tell whether `ONETAKE_MODE` says `none`, in either of its words: then no other setting lets a call out.

    Raises:
        UsageError: Its word is no mode.
    """
    return _environment() is Mode.NONE


def _environment() -> Mode | None:
    word = os.environ.get("ONETAKE_MODE", "")
    return parse_mode(word) if word else None


def _in_ci() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")

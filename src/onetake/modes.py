"""Which mode a session runs in: one order of precedence, one place."""

from __future__ import annotations

import os

from onetake.model import Mode
from onetake.settings import parse_mode

_flag: Mode | None = None


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
        `ONETAKE_MODE`; the settings; `none` where `CI` is set or pytest runs; the default.

    Raises:
        UsageError: A word is no mode.
    """
    word = os.environ.get("ONETAKE_MODE", "")
    environment = parse_mode(word) if word else None
    if environment is Mode.NONE:
        return Mode.NONE
    said = parse_mode(code) if isinstance(code, str) else code
    sealed = Mode.NONE if os.environ.get("CI") or os.environ.get("PYTEST_VERSION") else None
    return _flag or said or environment or settings or sealed or default

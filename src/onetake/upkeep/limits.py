"""How long one file may keep a check: an entry can be made so that looking at it does not end."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NoReturn

from onetake.printable import one_line
from onetake.upkeep import mends
from onetake.upkeep.findings import Code, Finding, finding

SECONDS = 10.0
"""Seconds that one file may take: far more than any takes that was recorded."""
_AGAIN = 1.0
_seconds = SECONDS
"""What the handler of `limiting` says, as it is set last."""
_is_limiting = False


class TookTooLongError(Exception):
    """Looking at a file was given up."""


@contextmanager
def limiting() -> Iterator[None]:
    """Let each `at_most` in what runs here do without a handler of its own: to set one costs more than its timer.

    Nothing that runs here may set a handler for that signal, so it is for what runs nobody else's code.
    """
    global _is_limiting
    if _is_limiting or not _can_limit():
        yield
        return
    before = signal.signal(signal.SIGALRM, _give_up)
    _is_limiting = True
    try:
        with _without_report():
            yield
    finally:
        _is_limiting = False
        signal.signal(signal.SIGALRM, before if before is not None else signal.SIG_DFL)


@contextmanager
def _without_report() -> Iterator[None]:
    """Let nobody report a `TookTooLongError` that was raised in a finalizer: it is dropped there, and comes again."""
    before = sys.unraisablehook

    def hook(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is not TookTooLongError:
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        if sys.unraisablehook is hook:
            sys.unraisablehook = before


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TookTooLongError` in what runs here once it has taken so long.

    It reaches into a regular expression that backtracks, as no thread could: the pattern keeps the interpreter to
    itself, and looks out for signals alone. Where there is no such timer (Windows, a thread that is not the main one)
    or somebody else's is running, nothing is limited.

    Args:
        seconds: More than 0.
    """
    global _seconds
    if not _can_limit():
        yield
        return
    with nullcontext() if _is_limiting else limiting():
        _seconds = seconds
        try:
            # Again and again: what runs here may take the first for an error of its own.
            signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _can_limit() -> bool:
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    return not signal.getitimer(signal.ITIMER_REAL)[0]


def _give_up(*_: object) -> NoReturn:
    raise TookTooLongError(f"it took more than {_seconds:g} seconds")


def cannot_be_checked(path: Path, error: Exception) -> Finding:
    """Say that a file was made to break, or to hold up, what reads it."""
    said = str(error) if isinstance(error, TookTooLongError) else f"{type(error).__name__}: {error}"
    return finding(Code.BROKEN, path, one_line(f"it cannot be checked ({said})", 300), mends.RESTORE)

"""The end of a process: what it still has to say before it is gone."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import NoReturn

_last_words: list[Callable[[], None]] = []
_debts: list[Callable[[], int]] = []


def before_end(say: Callable[[], None]) -> None:
    """Have a function called when this process ends, or one that is forked from it.

    By an ordinary end or by `os._exit`, by which the children of `multiprocessing` and many forked ones leave. Not
    reached: a process that is killed, or that becomes another program (for that see `before_exec`).

    Args:
        say: What is called; an error in it is dropped.
    """
    if not getattr(os._exit, "_onetake", False):
        _wrap_exit()
    _last_words.append(say)


def no_more(say: Callable[[], None]) -> None:
    """Take `before_end` back.

    Args:
        say: As it was given there.
    """
    _last_words.remove(say)


def before_exec(owed: Callable[[], int]) -> None:
    """Have a function asked before this process becomes another program, which would take what it owes with it.

    Args:
        owed: Returns the exit code with which the process ends instead; 0 lets it become that program.
    """
    _debts.append(owed)


def no_exec(owed: Callable[[], int]) -> None:
    """Take `before_exec` back.

    Args:
        owed: As it was given there.
    """
    _debts.remove(owed)


def settle_before_exec() -> None:
    """End this process, by `os._exit`, where something is owed; to be called before it becomes another program."""
    if code := max((owed() for owed in reversed(_debts)), default=0):
        os._exit(code)


def say(text: str) -> None:
    """Write to standard error, which the program may have closed."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()


def end_with(code: int) -> None:
    """Have this process end with a code of ours, whatever its own is; nothing else of its end changes.

    Args:
        code: 1 to 255.

    Source: the code of a Python is settled before anything runs at its end, and `os._exit` there would cut off what
        other handlers and open files still have to write. What `sys` holds goes last, when all modules are gone.
    """
    global _last
    _last = _Last(code)
    sys._onetake_last = _last  # type: ignore[attr-defined]


class _Last:
    """Ends the process when it is taken away."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.process = os.getpid()

    # By then the names of every module are gone.
    def __del__(self, here: Callable[[], int] = os.getpid, leave: Callable[[int], NoReturn] = os._exit) -> None:
        if self.process == here():
            leave(self.code)


_last: _Last | None = None


@atexit.register
def _say_all() -> None:
    for say in list(_last_words):
        # Whatever it is, the process ends: nobody is there to be told.
        with suppress(Exception):
            say()


def _wrap_exit() -> None:
    real = os._exit

    @wraps(real)
    def leave(*args: int, **kwargs: int) -> NoReturn:
        _say_all()
        if _last is not None and _last.process == os.getpid():
            real(_last.code)
        real(*args, **kwargs)

    leave._onetake = True  # type: ignore[attr-defined]
    os._exit = leave

"""The end of a process: what it still has to say before it is gone."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import NoReturn

_last_words: list[Callable[[], None]] = []


def before_end(say: Callable[[], None]) -> None:
    """Have a function called when this process ends, or one that is forked from it.

    By an ordinary end or by `os._exit`, by which the children of `multiprocessing` and many forked ones leave. Not
    reached: a process that is killed, or that becomes another program.

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
        real(*args, **kwargs)

    leave._onetake = True  # type: ignore[attr-defined]
    os._exit = leave

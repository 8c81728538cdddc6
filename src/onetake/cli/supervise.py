"""Run a program as a child process, hand signals on to it, and never end before it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from onetake.errors import UsageError

_ENDING = ("SIGINT", "SIGTERM")
"""Those that end a program, which then ends with 128 and their number, however politely it did so."""
_HANDED_ON = (*_ENDING, "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_FROM_TERMINAL = ("SIGINT", "SIGHUP", "SIGQUIT")
"""Those that a terminal sends to all that runs in its foreground, the child too."""


class Supervised:
    """A program that runs under us."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._ended_by = 0

    def run(self, command: Sequence[str]) -> int:
        """Run a command to its end.

        Args:
            command: The program and its arguments; it has our environment, and our standard streams.

        Returns:
            Its exit code; 128 and the signal's number where a signal ended it, or was sent to us to end it.

        Raises:
            UsageError: There is no such program, or it cannot be run.
        """
        with self._handing_on():
            self._child = _started(command)
            for number in self._early:
                self._hand_on(number)
            code = self._child.wait()
        return 128 - code if code < 0 else 128 + self._ended_by if self._ended_by else code

    @contextmanager
    def _handing_on(self) -> Iterator[None]:
        before: dict[int, Any] = {}
        for name in _HANDED_ON:
            number = getattr(signal, name, None)  # Windows has only the first two
            # What we were started to ignore (by nohup, say), the child ignores as well: left as it is.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                with suppress(ValueError):  # in a thread none can be handled
                    before[number] = signal.signal(number, self._take)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _take(self, number: int, _: FrameType | None) -> None:
        name = signal.Signals(number).name
        if name in _ENDING:
            self._ended_by = number
        if name in _FROM_TERMINAL and _is_in_foreground():
            return
        if self._child is None:
            self._early.append(number)
        else:
            self._hand_on(number)

    def _hand_on(self, number: int) -> None:
        assert self._child is not None
        with suppress(OSError, ValueError):  # it has just ended; or Windows, where a console tells all its programs
            self._child.send_signal(number)


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        # What other programs handed to us is the child's too.
        return subprocess.Popen(list(command), close_fds=False)
    except FileNotFoundError:
        why = "there is no such command"
    except OSError as error:
        why = f"cannot be run: {error.strerror or error}"
    except ValueError as error:
        why = f"cannot be run: {error}"
    hint = f"; to run a Python file: onetake run -- python {command[0]}" if command[0].endswith(".py") else ""
    raise UsageError(f"{command[0]}: {why}{hint}")


def _is_in_foreground() -> bool:
    """Tell whether our terminal, if we have one, sends its signals to us, and so to the child."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | getattr(os, "O_NOCTTY", 0))
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except (AttributeError, OSError):
        return False
    finally:
        os.close(terminal)

"""A run as a process that `starter.py` forked."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import subprocess
from contextlib import suppress
from itertools import count

_NUMBERS = count(1)


class Started:
    """A run as a process, to be waited for as one of `subprocess`.

    Args:
        starter: Starts it.
        folder: Where it runs.
        words: Its command line.
        strace: Options of strace, where it is traced.
        more: As in `starter.py`.
    """

    def __init__(self, starter, folder, words, strace=(), **more):
        self.returncode = self._strace = None
        self._said = folder / f"said-{next(_NUMBERS)}"
        pipes = [self._said.with_suffix(suffix) for suffix in (".events", ".go")]
        for pipe in pipes:
            os.mkfifo(pipe)
        self._events = os.open(pipes[0], os.O_RDONLY | os.O_NONBLOCK)
        go = {"go": str(pipes[1])} if strace else {}
        order = {"cwd": str(folder), "words": words, "said": str(self._said), "events": str(pipes[0]), **go, **more}
        starter.write(json.dumps(order) + "\n")
        starter.flush()
        self.pid = self._event(60)
        if strace:
            self._trace(folder, strace)
            self._let_go(pipes[1])
        for pipe in pipes:
            pipe.unlink()

    def wait(self, timeout):
        """Wait for its end; returns the exit code, below 0 for a signal."""
        if self.returncode is None:
            self.returncode = self._event(timeout)
            os.close(self._events)
            if self._strace is not None:
                self._strace.communicate(timeout=timeout)
        return self.returncode

    def communicate(self, timeout):
        """Wait for its end; returns what it said, and nothing."""
        self.wait(timeout)
        return self._said.read_text("utf-8", "replace"), None

    def send_signal(self, number):
        """Send a signal, unless it has ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self):
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def _event(self, timeout):
        line = b""
        while not line.endswith(b"\n"):
            if not select.select([self._events], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("onetake", timeout)
            line += os.read(self._events, 1)
        return int(line)

    def _let_go(self, pipe):
        """Let the run begin; one that was killed at its first call, as it waited, opens the pipe no more."""
        ended = select.poll()
        ended.register(self._events, select.POLLIN)
        while not ended.poll(10):
            try:
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            except OSError as error:
                if error.errno != errno.ENXIO:  # nobody reads it yet
                    raise
            else:
                return

    def _trace(self, folder, options):
        words = ["strace", "-f", "-o", str(folder / "trace"), *options, "-p", str(self.pid)]
        self._strace = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        said = self._strace.stderr.readline()
        assert "attached" in said, said

"""Run pytest as a process of its own, say meanwhile how far it is, and read what became of its tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onetake.errors import UsageError

_RAN = (0, 1)
"""Exit codes of pytest that ran its tests."""
_NOTHING = 5
"""Its exit code where no test was left to run."""
_EVERY = 1.0
"""Seconds between two looks at how far it is."""
_PATIENCE = 10.0
"""Seconds in which a run that is ended may tear down what its fixtures set up."""
_LAST = 4000
"""Bytes of its output that are told where it could not run."""
_ERRORS = 3
"""Lines of that which stand in the error itself."""


@dataclass(frozen=True, slots=True)
class Telling:
    """How a person hears of runs that take long."""

    say: Callable[[str], None] = lambda _: None
    """Told what is done now, in one line."""
    progress: Callable[[str], None] = lambda _: None
    """Told the last line that pytest has printed, about once a second."""
    timeout: float | None = None
    """Seconds that one run may take; None for any number."""


def run(arguments: Sequence[str], ours: Sequence[str], outcomes: Path, telling: Telling) -> dict[str, Any]:
    """Run pytest in the current folder, sealed: no cassette of ours goes live.

    Args:
        arguments: pytest's, of the user.
        ours: Those behind which they stand.
        outcomes: The file in which `onetake.pytest_outcomes` writes down what became of the tests; it is not there.
        telling: Told how far it is.

    Returns:
        What that plugin wrote.

    Raises:
        UsageError: The tests could not run, or took too long; what pytest printed has been told.
    """
    own = [*ours, "-p", "no:cacheprovider", "-p", "onetake.pytest_outcomes", f"--onetake-outcomes={outcomes}"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "ONETAKE_MODE": "none"}
    printed = outcomes.with_suffix(".txt")
    with printed.open("wb") as out:  # unbuffered: it is looked at while it is written
        command = [sys.executable, "-u", "-m", "pytest", *own, *arguments]
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            code = _ended(process, printed, telling)
        finally:
            _end(process)
    if code == _NOTHING:
        raise UsageError("pytest found no test, so nothing can be compared: see the arguments behind `--`")
    if code not in _RAN or not outcomes.exists():
        lines = _last(printed).splitlines()
        for line in lines:
            telling.say(line)
        errors = [line for line in lines if line.startswith(("ERROR", "E "))][:_ERRORS] or lines[-1:]
        raise UsageError(f"pytest ended with {code}, so nothing can be compared: {'; '.join(errors)}")
    found: dict[str, Any] = json.loads(outcomes.read_bytes())
    return found


def _ended(process: subprocess.Popen[bytes], printed: Path, telling: Telling) -> int:
    """Wait for the end of a run, and return its exit code."""
    begun = time.monotonic()
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_EVERY)
        telling.progress(next((line for line in reversed(_last(printed).splitlines()) if line.strip()), ""))
        if telling.timeout is not None and time.monotonic() - begun > telling.timeout:
            raise UsageError(f"pytest took longer than {telling.timeout:g} seconds, so nothing can be compared")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a run that is still under way, as a person at its terminal would, and then for good."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE)
    process.kill()
    process.wait()


def _last(printed: Path) -> str:
    """Return the end of what was printed, without what is cut in its middle."""
    with printed.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LAST))
        return file.read().decode("utf-8", "replace").strip()

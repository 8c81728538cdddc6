"""Where the progress of a run is shown: a live block on a terminal, a line now and then, JSON lines, or nowhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import IO, Any, Protocol

from onetake.batch.progress import lines
from onetake.errors import UsageError

KINDS = ("auto", "plain", "json", "none")
PLAIN_S, LIVE_S = 10.0, 0.5
"""Seconds between two lines, and between two blocks."""


class Shows(Protocol):
    """Whatever shows how far a run is."""

    every: float
    """Seconds between two calls of `show`."""

    def show(self, said: Mapping[str, Any]) -> None:
        """Show what `progress.facts` says."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


def shown(kind: str, to: IO[str] | None) -> Shows | None:
    """Return what shows the progress; None for nothing.

    Args:
        kind: One of `KINDS`; `auto` is a live block on a terminal, else plain lines.
        to: Where: standard error; None where that is closed.

    Raises:
        UsageError: The kind is unknown.
    """
    if kind not in KINDS:
        raise UsageError(f"progress: must be one of {', '.join(KINDS)}, not {kind!r}")
    if kind == "none" or to is None:
        return None
    if kind == "auto" and to.isatty():
        return _Block(to)
    return _Lines(to, (lambda said: json.dumps(dict(said))) if kind == "json" else lambda said: "; ".join(lines(said)))


class _Lines:
    """A line each ten seconds."""

    every = PLAIN_S

    def __init__(self, to: IO[str], write: Callable[[Mapping[str, Any]], str]) -> None:
        self._to = to
        self._write = write

    def show(self, said: Mapping[str, Any]) -> None:
        """Write one line."""
        self._to.write(self._write(said) + "\n")
        self._to.flush()

    def close(self) -> None:
        """Nothing is left behind."""


class _Block:
    """A block of a terminal that is written over again and again."""

    every = LIVE_S

    def __init__(self, to: IO[str]) -> None:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(file=to, highlight=False), auto_refresh=False)
        self._live.start()

    def show(self, said: Mapping[str, Any]) -> None:
        """Write over what was there."""
        from rich.text import Text

        self._live.update(Text("\n".join(lines(said))), refresh=True)

    def close(self) -> None:
        """Leave the last block, and the cursor behind it."""
        self._live.stop()

"""What a suite does to a request before it is compared and kept, and to an answer before it is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onetake.model import Request, Response


@dataclass(frozen=True, slots=True)
class Preparing:
    """The suite's own functions; each may be left out. They are called in the thread that asks."""

    request: Callable[[Request], Request | None] | None = None
    """Returns what is compared and kept in the place of a request; what is sent stays as it is."""
    response: Callable[[Response], Response | None] | None = None
    """Returns what is kept of a live answer, None to keep nothing; the caller gets the answer as it came."""
    matches: Callable[[Request, Request], bool] | None = None
    """Given a request and an imported one, tells whether that answers it; under `match = "legacy"` only."""
    passes: Callable[[str, str], bool] | None = None
    """Given a method and a URL, tells whether such a request is none of the session's business."""
    connects: Callable[[str], bool] | None = None
    """Given a host, tells whether sockets may connect to it round the adapters."""

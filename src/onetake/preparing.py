"""What a suite does to a request before it is compared and kept, and to an answer before it is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from onetake.model import Request, Response

T = TypeVar("T")


class BrokenFunctionError(Exception):
    """A function of the suite's own broke; what it raised is the cause."""

    remedy = "mend the function"
    """What there is to do."""

    def __init__(self, key: str, error: Exception) -> None:
        super().__init__(f"the suite's own {key} broke: {type(error).__name__}: {error}")


class UnkeptHeaderError(BrokenFunctionError):
    """A matcher of the suite's own looked at a header that entries do not keep; its name, or empty for all of them."""

    remedy = (
        "take it out of match_on; or, unless it is a credential, name it in `headers` of `key` and import the"
        " cassettes anew"
    )

    def __init__(self, name: str) -> None:
        what = f"the header {name}" if name else "all headers"
        Exception.__init__(self, f"the suite's own match_on looks at {what}, and entries do not keep that")


@dataclass(frozen=True, slots=True)
class Preparing:
    """The suite's own functions; each may be left out.

    They are called in the thread that asks or keeps, and for an awaited call that may be one of our own.
    """

    request: Callable[[Request], Request | None] | None = None
    """Returns what is compared and kept in the place of a request; what is sent stays as it is."""
    response: Callable[[Response], Response | None] | None = None
    """Returns what is kept of a live answer, None to keep nothing; the caller gets the answer as it came."""
    matches: Callable[[Request, Request, Callable[[str], bool]], bool] | None = None
    """Given a request, an imported one, and what tells whether a header was kept of that if it came, tells whether it
    answers; under `match = "legacy"` only."""
    passes: Callable[[str, str], str] | None = None
    """Given a method and a URL, names what has such a request be none of the session's business; else empty."""
    connects: Callable[[str], bool] | None = None
    """Given a host, tells whether sockets may connect to it round the adapters."""

    def prepared(self, request: Request) -> Request | None:
        """Return what is compared and kept in the place of a request; None where the suite leaves it out.

        Raises:
            BrokenFunctionError: Its function broke.
        """
        return request if self.request is None else _called("before_record_request", self.request, request)

    def kept(self, response: Response) -> Response | None:
        """Return what is kept of a live answer; None where the suite keeps nothing.

        Raises:
            BrokenFunctionError: Its function broke.
        """
        return response if self.response is None else _called("before_record_response", self.response, response)


def _called(key: str, function: Callable[[T], T | None], given: T) -> T | None:
    try:
        return function(given)
    except BrokenFunctionError:
        raise
    except Exception as error:
        raise BrokenFunctionError(key, error) from error

"""What a suite's functions for vcrpy, its own and those of its filters, do to our requests and answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from onetake.model import Request, Response
from onetake.preparing import BrokenFunctionError
from onetake.vcrwords import filters
from onetake.vcrwords.requests import VcrRequest, as_vcr, from_vcr, response_as_vcr, response_from_vcr

Step = tuple[str, filters.Filter]
"""A function, and the key of the configuration that names it."""


def prepares(steps: Sequence[Step]) -> Callable[[Request], Request | None]:
    """Return what functions do to a request, one after the other, until one leaves it out.

    Raises:
        BrokenFunctionError: When it is called: one of them broke.
    """

    def prepare(request: Request) -> Request | None:
        changed = as_vcr(request)
        for key, step in steps:
            try:
                left = step(changed)
            except Exception as error:
                raise BrokenFunctionError(key, error) from error
            if left is None:
                return None
            changed = left
        return from_vcr(changed, request)

    return prepare


def passes(steps: Sequence[Step]) -> Callable[[str, str], str]:
    """Return what names the key by which functions leave a request out, judged by its method and URL alone.

    A function that looks at anything else says nothing here: it is asked again of the whole request.
    """

    def passed(method: str, url: str) -> str:
        outline = Outline(method, url)
        changed: VcrRequest = outline
        for key, step in steps:
            try:
                left = step(changed)
            except Exception:  # noqa: BLE001 - of a request that it does not see whole
                return ""
            if left is None:
                return "" if outline.looked_at else key
            changed = left
        return ""

    return passed


def prepares_answers(functions: Sequence[Callable[[Any], Any]]) -> Callable[[Response], Response | None]:
    """Return what functions for vcrpy's responses do to one of ours, one after the other.

    Raises:
        BrokenFunctionError: When it is called: one of them broke.
    """

    def prepare(response: Response) -> Response | None:
        changed: Any = response_as_vcr(response)
        try:
            for function in functions:
                changed = function(changed)
                if changed is None:
                    return None
            return response_from_vcr(changed, response)
        except Exception as error:
            raise BrokenFunctionError("before_record_response", error) from error

    return prepare


def matches(compare: Callable[[VcrRequest, VcrRequest], bool]) -> Callable[[Request, Request], bool]:
    """Return what compares two of our requests as vcrpy's matchers do.

    Raises:
        BrokenFunctionError: When it is called: a matcher broke.
    """

    def matched(asked: Request, stored: Request) -> bool:
        try:
            return compare(as_vcr(asked), as_vcr(stored))
        except Exception as error:
            raise BrokenFunctionError("match_on", error) from error

    return matched


class Outline(VcrRequest):
    """A request of which only method and URL are known yet.

    Filters, vcrpy's and ours, find neither headers nor body in it. A function of the suite's own that looks at either
    is stopped, and told of: it may swallow what stops it, and decide by what is not there.
    """

    _SEES_NOTHING = frozenset({"vcr.filters", filters.__name__})

    def __init__(self, method: str, url: str) -> None:
        super().__init__(method, url, b"", {})
        self.looked_at: list[str] = []
        # No method of this object's: what is told of a deep copy, as vcrpy makes one, comes here too.
        self._tell = self.looked_at.append

    def __getattribute__(self, name: str) -> Any:
        if name in ("body", "headers") and sys._getframe(1).f_globals.get("__name__") not in Outline._SEES_NOTHING:
            self._tell(name)
            raise AttributeError(f"the request's {name} is not known yet")
        return super().__getattribute__(name)

"""What a suite's functions for vcrpy, its own and those of its filters, do to our requests and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from onetake.model import Headers, Request, Response
from onetake.preparing import BrokenFunctionError, UnkeptHeaderError
from onetake.vcrwords import filters
from onetake.vcrwords.matching import Compare
from onetake.vcrwords.requests import VcrHeaders, VcrRequest, as_vcr, from_vcr, response_as_vcr, response_from_vcr

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


_OF_THE_REST = frozenset({"filter_headers", "filter_post_data_parameters", "filter_sensitive_data"})
"""Keys of which nothing leaves a request out, nor changes what those see of its method and URL that do."""


def passes(steps: Sequence[Step]) -> Callable[[str, str], str] | None:
    """Return what names the key by which functions leave a request out, judged by its method and URL alone.

    A function that looks at anything else says nothing here: it is asked again of the whole request.

    Returns:
        None where none of them can leave one out.
    """
    deciding = [step for step in steps if step[0] not in _OF_THE_REST]
    if all(key == "filter_query_parameters" for key, _ in deciding):
        return None

    def passed(method: str, url: str) -> str:
        outline = Outline(method, url)
        changed: VcrRequest = outline
        for key, step in deciding:
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


def matches(compare: Compare) -> Callable[[Request, Request, Callable[[str], bool]], bool]:
    """Return what compares two of our requests, the asked and the stored one, as vcrpy's matchers do.

    Raises:
        BrokenFunctionError: When it is called: a matcher broke, or looked at a header of the stored one that may have
            been there, and was not kept.
    """

    def matched(asked: Request, stored: Request, keeps: Callable[[str], bool]) -> bool:
        there = as_vcr(stored)
        there.headers = headers = _StoredHeaders(stored.headers, keeps)
        try:
            answers = compare(as_vcr(asked), there)
        except Exception as error:
            raise BrokenFunctionError("match_on", error) from error
        finally:
            if headers.unknown:
                raise UnkeptHeaderError(headers.unknown[0])
        return answers

    return matched


class _StoredHeaders(VcrHeaders):
    """Headers of a stored request, which tell what they were asked that nobody knows any more."""

    def __init__(self, pairs: Headers, keeps: Callable[[str], bool]) -> None:
        super().__init__(pairs)
        self._keeps = keeps
        self.unknown: list[str] = []
        """Names that are not there and may have been, empty for all headers."""

    def __getitem__(self, name: str) -> str:
        if name.lower() not in self._pairs and not self._keeps(name):
            self.unknown.append(name)
        return super().__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        self.unknown.append("")
        return super().__iter__()

    def __len__(self) -> int:
        self.unknown.append("")
        return super().__len__()

    def __repr__(self) -> str:
        return repr(dict(self._pairs.values()))


class Outline(VcrRequest):
    """A request of which only method and URL are known yet.

    Whoever looks at its headers or its body is stopped, and told of: it may swallow what stops it, and decide by what
    is not there.
    """

    _UNKNOWN = frozenset({"body", "headers", "_body", "_headers", "__dict__"})

    def __init__(self, method: str, url: str, looked_at: list[str] | None = None) -> None:
        super().__init__(method, url, b"", {})
        self.looked_at: list[str] = [] if looked_at is None else looked_at

    def __getattribute__(self, name: str) -> Any:
        if name in Outline._UNKNOWN:
            self.looked_at.append(name)
            raise AttributeError(f"the request's {name} is not known yet")
        return super().__getattribute__(name)

    def __copy__(self) -> Outline:
        return Outline(self.method, self.uri, self.looked_at)

    def __deepcopy__(self, _known: object) -> Outline:
        return self.__copy__()

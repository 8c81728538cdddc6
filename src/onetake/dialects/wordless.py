"""Dialects of APIs whose answers hold no text, which nobody reviews: an answer without choices."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from onetake.dialects import Promise, Reading
from onetake.dialects.openai_family import event_kind, model_asked, stream_error, usage_counts
from onetake.events import Event, events, framing
from onetake.model import Answer, Choice, Request, Response, header
from onetake.picking import document, error_text, mapping, text

_LOOPBACK = re.compile(r"(?:.+\.)?localhost|127(?:\.\d+){3}|::1")


def _counts(body: dict[str, Any]) -> tuple[int | None, int | None]:
    return usage_counts(mapping(body.get("usage")))


@dataclass(slots=True, eq=False)
class Wordless:
    """The dialect of one such API: vectors, scores, images, sound, files.

    A contract finds nothing in such an answer to judge, so it is stored, unjudged, beside the answers that the contract
    is about; a body that is not of this API has no answer, and that a contract does refuse.

    Args:
        name: See `Dialect`.
        operation: See `Dialect`.
        pattern: Matches the whole of `METHOD /path`; its first group, if it has one, is the model.
        fields: A JSON object that has one of these is an answer.
        media: Starts of the content-types under which any body is an answer.
        terminal: Types of the event that ends a stream, which is then the answer.
        counts: Returns the input and the output tokens that an answer says it took.
        loopback: Whether servers on loopback speak it too. Their requests are recorded only where a dialect speaks
            them, so a path that the program's own servers may well have says no.
    """

    name: str
    operation: str
    pattern: str
    fields: frozenset[str]
    media: tuple[str, ...] = ()
    terminal: frozenset[str] = frozenset()
    counts: Callable[[dict[str, Any]], tuple[int | None, int | None]] = _counts
    loopback: bool = True
    version: int = 1

    def speaks(self, method: str, url: str) -> bool:
        """Tell by method and path, under any prefix."""
        if not self.loopback and _LOOPBACK.fullmatch(urlsplit(url).hostname or ""):
            return False
        return self._match(method, url) is not None

    def model_asked(self, request: Request) -> str | None:
        """Return the model that the path names, else that of the JSON or the form, else the deployment in the path."""
        found = self._match(request.method, request.url)
        return found[1] if found and found.groups() else model_asked(request)

    def is_terminal(self, event: Event) -> bool:
        """Tell whether an event is one of the terminal types."""
        return event_kind(event) in self.terminal

    def read(self, request: Request, response: Response) -> Reading:
        """Take model, usage and error out of a response, and tell whether it is an answer."""
        if framing(response.headers, response.body):
            streamed = events(response)
            last = next((event for event in streamed if self.is_terminal(event)), None)
            body = document(last.data) if last else {}
            return self._reading(body, bool(body), terminal=last is not None, error=stream_error(streamed))
        kind = (header(response.headers, "content-type") or "").lower()
        if self.media and response.body and kind.startswith(self.media):
            return self._reading({}, True)
        body = document(response.body)
        return self._reading(body, bool(self.fields & body.keys()))

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return nothing: no text, no schema."""
        return ()

    def is_length(self, choice: Choice) -> bool:
        """Return False: there are no choices."""
        return False

    def is_refusal(self, choice: Choice) -> bool:
        """Return False: there are no choices."""
        return False

    def _match(self, method: str, url: str) -> re.Match[str] | None:
        return re.fullmatch(self.pattern, f"{method} {unquote(urlsplit(url).path).rstrip('/')}")

    def _reading(
        self, body: dict[str, Any], answers: bool, *, terminal: bool = True, error: str | None = None
    ) -> Reading:
        asked, answered = self.counts(body)
        return Reading(
            answer=Answer() if answers else None,
            error=error_text(body.get("error")) or error,
            terminal=terminal,
            model=text(body.get("model")) or None,
            input_tokens=asked,
            output_tokens=answered,
        )

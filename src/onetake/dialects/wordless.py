"""Dialects of APIs whose answers hold no text, which nobody reviews: an answer without choices."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from onetake.dialects import Promise, Reading
from onetake.dialects.answered import event_kind, is_whole, stream_error, usage_counts
from onetake.dialects.asked import model_asked
from onetake.events import Event, events, framing
from onetake.model import Answer, Choice, Request, Response, header
from onetake.picking import document, error_text, mapping, text, value_or_text

_JSON = re.compile(r"application/(?:.+\+)?json")


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
        fields: A JSON object that has one of these is an answer. None at all: whatever says something is one, since
            others have the same paths.
        media: Starts of the content-types under which any body is an answer; so is one without a type that is no JSON.
        terminal: Types of the event that ends a stream, which is then the answer. Streams of an API that has none are
            another's: they are whole when they end.
        counts: Returns the input and the output tokens that an answer says it took.
    """

    name: str
    operation: str
    pattern: str
    fields: frozenset[str]
    media: tuple[str, ...] = ()
    terminal: frozenset[str] = frozenset()
    counts: Callable[[dict[str, Any]], tuple[int | None, int | None]] = _counts
    version: int = 1

    def speaks(self, method: str, url: str) -> bool:
        """Tell by method and path, under any prefix."""
        return self._match(method, url) is not None

    def model_asked(self, request: Request) -> str | None:
        """Return the model that the path names, else that of the JSON or the form, else the deployment in the path."""
        found = self._match(request.method, request.url)
        return found[1] if found and found.groups() else model_asked(request)

    def is_terminal(self, event: Event) -> bool:
        """Tell whether an event is one of the terminal types."""
        return event_kind(event) in self.terminal

    def read(self, request: Request, response: Response) -> Reading:
        """Take model, usage and error out of a response, and tell whether it is an answer.

        Status 204, and what a deletion leaves unsaid, are answers too.
        """
        if not response.body and (response.status == 204 or request.method == "DELETE"):
            return self._reading({}, True)
        if framing(response.headers, response.body):
            return self._stream(events(response))
        said = value_or_text(response.body.decode("utf-8", "surrogateescape"))
        return self._reading(mapping(said), self._answers(response, said))

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return nothing: no text, no schema."""
        return ()

    def is_length(self, choice: Choice) -> bool:
        """Return False: there are no choices."""
        return False

    def is_refusal(self, choice: Choice) -> bool:
        """Return False: there are no choices."""
        return False

    def _answers(self, response: Response, said: Any) -> bool:
        kind = (header(response.headers, "content-type") or "").partition(";")[0].strip().lower()
        is_other = isinstance(said, str) and response.body.strip()[:1] not in (b"", b"{", b"[")
        if self.fields:
            is_media = kind.startswith(self.media) if kind else is_other and bool(self.media)
            return (is_media and bool(response.body)) or bool(self.fields & mapping(said).keys())
        if is_other:
            return _JSON.fullmatch(kind) is None
        return isinstance(said, dict | list) and bool(said) and error_text(mapping(said).get("error")) is None

    def _stream(self, streamed: list[Event]) -> Reading:
        error = stream_error(streamed)
        if not self.terminal:
            said = not self.fields and error is None and any(document(event.data) for event in streamed)
            return self._reading({}, said, error=error)
        last = next((event for event in streamed if self.is_terminal(event)), None)
        body = document(last.data) if last else {}
        terminal = is_whole(streamed, self.is_terminal, self._is_own)
        return self._reading(body, bool(body), terminal=terminal, error=error)

    def _is_own(self, event: Event) -> bool:
        kinds = ("error", *(kind.rpartition(".")[0] + "." for kind in self.terminal))
        return event_kind(event).startswith(kinds)

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

"""Speech turned into text: transcriptions and translations of OpenAI; Azure, Groq, Mistral, vLLM.

Source: the types of the openai SDK 3.57 and of the mistralai SDK 3.7; vLLM streams chunks like those of a chat.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from onetake.dialects import Promise, Reading
from onetake.dialects.answered import event_kind, is_whole, stream_error, usage_counts
from onetake.dialects.asked import model_asked
from onetake.events import Event, events, framing
from onetake.model import Answer, Choice, Request, Response, header
from onetake.picking import document, error_text, mapping, mappings, text

_DONE = frozenset({"transcript.text.done", "transcription.done"})
_DELTA = frozenset({"transcript.text.delta", "transcription.text.delta"})
_KINDS = ("transcript.", "transcription.")
"""How the types of its events begin."""
_TEXTS = ("text/", "application/x-subrip")


class OpenAITranscriptions:
    """The dialect of `POST …/audio/transcriptions` and `…/audio/translations`."""

    name = "openai-transcriptions"
    version = 1
    operation = "transcription"

    def speaks(self, method: str, url: str) -> bool:
        """Tell by the end of the path, on any host, under any prefix."""
        path = urlsplit(url).path.rstrip("/")
        return method == "POST" and re.search("/audio/(?:transcriptions|translations)$", path) is not None

    def model_asked(self, request: Request) -> str | None:
        """Return the `model` of the form, else the deployment in the path."""
        return model_asked(request)

    def is_terminal(self, event: Event) -> bool:
        """Tell whether an event is that with the whole text, or `[DONE]`."""
        return event.data.startswith("[DONE]") or event_kind(event) in _DONE

    def read(self, request: Request, response: Response) -> Reading:
        """Take the text out: of JSON in any of its forms, of a stream, or of a body that is the text (`srt` too)."""
        if framing(response.headers, response.body):
            streamed = events(response)
            parts = [(event_kind(event), document(event.data)) for event in streamed]
            terminal = is_whole(streamed, self.is_terminal, _is_own)
            return _reading(_assembled(parts), stream_error(streamed), terminal=terminal)
        kind = (header(response.headers, "content-type") or "").lower()
        if kind.startswith(_TEXTS) and not kind.startswith("text/event-stream"):
            return _reading({"text": response.body.decode("utf-8", "surrogateescape")} if response.body else {})
        return _reading(document(response.body))

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return nothing: what was spoken keeps no schema."""
        return ()

    def is_length(self, choice: Choice) -> bool:
        """Return False: the API says nothing of token limits."""
        return False

    def is_refusal(self, choice: Choice) -> bool:
        """Return False: the API does not refuse."""
        return False


DIALECT = OpenAITranscriptions()


def _is_own(event: Event) -> bool:
    return event_kind(event).startswith(_KINDS) or not {"choices", "error"}.isdisjoint(document(event.data))


def _assembled(parts: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Put together what would have come unstreamed; the last event has the whole text, a cut stream has the pieces."""
    pieces: list[str] = []
    body: dict[str, Any] = {}
    for kind, part in parts:
        if kind in _DONE:
            body = part
        elif kind in _DELTA:
            pieces.append(text(part.get("delta")) or text(part.get("text")))
        for choice in mappings(part.get("choices")):
            pieces.append(text(mapping(choice.get("delta")).get("content")))
    if pieces and not text(body.get("text")):
        body = {**body, "text": "".join(pieces)}
    return body


def _reading(body: dict[str, Any], error: str | None = None, *, terminal: bool = True) -> Reading:
    said = body.get("text")
    asked, answered = usage_counts(mapping(body.get("usage")))
    return Reading(
        answer=Answer((Choice(said or None),)) if isinstance(said, str) else None,
        error=error_text(body.get("error")) or error,
        terminal=terminal,
        model=text(body.get("model")) or None,
        input_tokens=asked,
        output_tokens=answered,
    )

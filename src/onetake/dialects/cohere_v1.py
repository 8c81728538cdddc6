"""Cohere's chat and generate, version 1 of the API, whole or streamed as newline-delimited JSON.

Source: the types of the cohere package 7.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from onetake.dialects import Promise, Reading, cohere_words
from onetake.dialects.answered import is_whole
from onetake.events import Event, events, framing
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.picking import count, document, error_text, mapping, mappings, text


class CohereV1:
    """The dialect of `POST …/v1/chat` and `POST …/v1/generate`."""

    name = "cohere-v1"
    version = 1
    operation = "chat"

    def speaks(self, method: str, url: str) -> bool:
        """Tell whether the path ends in `/v1/chat` or `/v1/generate`, on any host but Writer's, under any prefix.

        Writer has an API of another shape at the first of them.
        """
        split = urlsplit(url)
        ours = method == "POST" and split.path.rstrip("/").endswith(("/v1/chat", "/v1/generate"))
        return ours and split.hostname != "api.writer.com"

    def model_asked(self, request: Request) -> str | None:
        """Return the `model` of the body."""
        return text(document(request.body).get("model")) or None

    def is_terminal(self, event: Event) -> bool:
        """Tell whether a line is `stream-end`."""
        return "stream-end" in event.data and document(event.data).get("event_type") == "stream-end"

    def read(self, request: Request, response: Response) -> Reading:
        """Take the answer out of a response, or out of the last line of a stream, which has all of it."""
        if not framing(response.headers, response.body):
            return _reading(document(response.body))
        streamed = events(response)
        body = _assembled(document(event.data) for event in streamed)
        return _reading(body, terminal=is_whole(streamed, self.is_terminal, _is_own))

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return the schema of `response_format`, always enforced; tools are described in no schema here."""
        return tuple(cohere_words.text_promises(document(request.body)))

    def is_length(self, choice: Choice) -> bool:
        """Tell whether a token limit cut the answer."""
        return cohere_words.is_length(choice)

    def is_refusal(self, choice: Choice) -> bool:
        """Tell whether a filter stopped the answer."""
        return cohere_words.is_refusal(choice)


DIALECT = CohereV1()


def _is_own(event: Event) -> bool:
    return "event_type" in document(event.data)


def _assembled(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the response of the last line; of a stream that has none, what was said so far."""
    said: dict[int, str] = {}
    calls: Any = None
    for part in parts:
        kind = text(part.get("event_type"))
        if kind == "text-generation":
            index = count(part.get("index")) or 0
            said[index] = said.get(index, "") + text(part.get("text"))
        elif kind == "tool-calls-generation":
            calls = part.get("tool_calls")
        elif kind == "stream-end":
            return {"finish_reason": part.get("finish_reason"), **mapping(part.get("response"))}
        elif kind == "stream-error":
            return {"error": text(part.get("err")) or kind}
    if not said and calls is None:
        return {}
    if len(said) > 1:
        return {"generations": [{"text": said[index]} for index in sorted(said)]}
    return {"text": "".join(said.values()), "tool_calls": calls}


def _reading(body: dict[str, Any], *, terminal: bool = True) -> Reading:
    meta = body.get("meta")
    parts = mappings(body.get("generations")) or ([body] if isinstance(body.get("text"), str) else [])
    failed = next(filter(None, (cohere_words.failed(part.get("finish_reason")) for part in (body, *parts))), None)
    return Reading(
        answer=Answer(tuple(map(_choice, parts))) if parts else None,
        error=error_text(body.get("error")) or failed,
        terminal=terminal,
        input_tokens=cohere_words.tokens(meta, "input_tokens"),
        output_tokens=cohere_words.tokens(meta, "output_tokens"),
    )


def _choice(part: dict[str, Any]) -> Choice:
    calls = mappings(part.get("tool_calls"))
    return Choice(
        text=text(part.get("text")) or None,
        tool_calls=tuple(ToolCall(text(call.get("name")), call.get("parameters")) for call in calls),
        finish=text(part.get("finish_reason")) or None,
    )

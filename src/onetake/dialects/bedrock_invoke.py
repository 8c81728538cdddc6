"""Amazon Bedrock invoke, whole and streamed: the bodies are those of the model's maker.

Anthropic's and Nova's are read in full; of Titan, Llama, Mistral, Cohere and of the shape of chat completions the text,
its finish and the usage. Of others, and of tool calls in the shape of chat completions, no answer is read.

Source: the Bedrock user guide, "Inference request parameters and response fields for foundation models".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlsplit

from onetake.dialects import Promise, Reading, anthropic_blocks, converse_blocks
from onetake.events import Event, events, framing
from onetake.eventstream import failure
from onetake.model import Answer, Choice, Headers, Request, Response, header
from onetake.picking import count, document, error_text, mapping, mappings, text

LENGTH_FINISH = anthropic_blocks.LENGTH_FINISH | converse_blocks.LENGTH_FINISH | {"LENGTH", "length", "MAX_TOKENS"}
"""Finish words of an answer that a token limit cut."""
REFUSAL_FINISH = (
    anthropic_blocks.REFUSAL_FINISH
    | converse_blocks.REFUSAL_FINISH
    | {"CONTENT_FILTERED", "ERROR_TOXIC", "content_filter"}
)
"""Finish words of an answer that the model or a filter stopped."""

_PATH = re.compile(r"/model/(?P<model>.+)/invoke(?:-with-response-stream)?$")
_METRICS = "amazon-bedrock-invocationMetrics"
_GUARDRAIL = "amazon-bedrock-guardrailAction"
_TEXT_NAMES = ("outputText", "generation", "text", "content")
_FINISH_NAMES = ("completionReason", "stop_reason", "finish_reason")
_WORDLESS_NAMES = ("embedding", "embeddings", "images")
"""What a model makes that says nothing: an answer without choices."""


class BedrockInvoke:
    """The dialect of `POST …/model/<model>/invoke` and `…/invoke-with-response-stream`."""

    name = "bedrock-invoke"
    version = 1
    operation = "invoke"

    def speaks(self, method: str, url: str) -> bool:
        """Tell whether the path is one of the two, on any host, under any prefix."""
        return method == "POST" and _PATH.search(urlsplit(url).path) is not None

    def model_asked(self, request: Request) -> str | None:
        """Return the model's id or ARN, which is in the path."""
        found = _PATH.search(urlsplit(request.url).path)
        return unquote(found["model"]) if found else None

    def is_terminal(self, event: Event) -> bool:
        """Tell whether an event ends the answer: by its maker's word, or by the metrics that Bedrock adds to the last.

        Behind Nova's `messageStop` the usage follows, as in Converse.
        """
        if not any(word in event.data for word in ("message_stop", "messageStop", _METRICS)):
            return False
        part = document(event.data)
        return part.get("type") == "message_stop" or "messageStop" in part or _METRICS in part

    def read(self, request: Request, response: Response) -> Reading:
        """Take the answer out of a body, or put it together from the events of a stream."""
        streamed = events(response) if framing(response.headers, response.body) else None
        parts = [document(response.body)] if streamed is None else [document(event.data) for event in streamed]
        reading = _reading(request, parts, is_stream=streamed is not None)
        reading = _counted(_guarded(reading, parts), parts, response.headers)
        if streamed is None:
            said = text(parts[0].get("message")) if reading.answer is None else ""
            return replace(reading, error=reading.error or said or None)
        error = next(filter(None, (failure(event.raw) for event in streamed)), None)
        return replace(reading, error=error or reading.error, terminal=any(map(self.is_terminal, streamed)))

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return the schemas of Anthropic's and Nova's requests, enforced as there."""
        asked = document(request.body)
        return (*anthropic_blocks.promises(asked), *converse_blocks.promises(asked))

    def is_length(self, choice: Choice) -> bool:
        """Tell whether a token limit cut the answer."""
        return choice.finish in LENGTH_FINISH

    def is_refusal(self, choice: Choice) -> bool:
        """Tell whether the model, a filter or a guardrail stopped the answer."""
        return bool(choice.refusal) or choice.finish in REFUSAL_FINISH


DIALECT = BedrockInvoke()


def _reading(request: Request, parts: Sequence[dict[str, Any]], *, is_stream: bool) -> Reading:
    if "anthropic_version" in document(request.body):
        return anthropic_blocks.reading(anthropic_blocks.assembled(parts) if is_stream else parts[0])
    events_of = ((name, mapping(part[name])) for part in parts for name in part)
    converse = converse_blocks.assembled(events_of) if is_stream else parts[0]
    if "output" in converse:
        return converse_blocks.reading(converse)
    error = next(filter(None, (error_text(part.get("error")) for part in parts)), None)
    if any(isinstance(part.get(name), list) for part in parts for name in _WORDLESS_NAMES):
        return Reading(Answer(), error)
    return Reading(_plain_answer(parts), error)


def _plain_answer(parts: Sequence[dict[str, Any]]) -> Answer | None:
    """Join the texts of a maker whose every part is built alike; None where they are more than one text."""
    found = [_pieces(part) for part in parts]
    if any(len(each) > 1 or each[0].get("tool_calls") or count(each[0].get("index")) for each in found):
        return None
    pieces = [each[0] for each in found]
    said = [text(piece[name]) for piece in pieces for name in _TEXT_NAMES if isinstance(piece.get(name), str)]
    finish = [text(piece.get(name)) for piece in pieces for name in _FINISH_NAMES]
    if not said:
        return None
    return Answer((Choice("".join(said) or None, finish=next(filter(None, reversed(finish)), None)),))


def _pieces(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what holds the texts: Titan's results, Mistral's outputs, choices with their messages, or the part."""
    found = next(filter(None, (mappings(part.get(name)) for name in ("results", "outputs", "choices"))), [part])
    return [each | mapping(each.get("message")) | mapping(each.get("delta")) for each in found]


def _guarded(reading: Reading, parts: Sequence[dict[str, Any]]) -> Reading:
    if reading.answer is None or not any(part.get(_GUARDRAIL) == "INTERVENED" for part in parts):
        return reading
    choices = (replace(choice, refusal=choice.refusal or "INTERVENED") for choice in reading.answer.choices)
    return replace(reading, answer=Answer(tuple(choices)))


def _counted(reading: Reading, parts: Sequence[dict[str, Any]], headers: Headers) -> Reading:
    """Add Bedrock's own counts where the body has none: in a stream's last part, else in the headers."""
    metrics = next((mapping(part.get(_METRICS)) for part in parts if _METRICS in part), {})
    asked, answered = count(metrics.get("inputTokenCount")), count(metrics.get("outputTokenCount"))
    if any(parts):
        asked = _header_count(headers, "input") if asked is None else asked
        answered = _header_count(headers, "output") if answered is None else answered
    return replace(
        reading,
        input_tokens=asked if reading.input_tokens is None else reading.input_tokens,
        output_tokens=answered if reading.output_tokens is None else reading.output_tokens,
    )


def _header_count(headers: Headers, side: str) -> int | None:
    told = header(headers, f"x-amzn-bedrock-{side}-token-count") or ""
    return int(told) if re.fullmatch("[0-9]{1,18}", told) else None

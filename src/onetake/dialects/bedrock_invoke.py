"""Amazon Bedrock invoke, whole and streamed: the bodies are those of the model's maker.

How those are put together and read is in `bedrock_makers`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from onetake.dialects import (
    Promise,
    Reading,
    anthropic_blocks,
    bedrock_makers,
    chat_choices,
    cohere_words,
    converse_blocks,
    openai_family,
)
from onetake.dialects.answered import frame_error
from onetake.dialects.asked import path_model
from onetake.events import Event, events, framing
from onetake.model import Answer, Choice, Headers, Request, Response, header
from onetake.picking import count, document, mapping, text

LENGTH_FINISH = anthropic_blocks.LENGTH_FINISH | converse_blocks.LENGTH_FINISH
"""Finish words of an answer that a token limit cut, beside Cohere's and those of chat completions."""
REFUSAL_FINISH = anthropic_blocks.REFUSAL_FINISH | converse_blocks.REFUSAL_FINISH
"""Finish words of an answer that the model or a filter stopped, beside Cohere's and those of chat completions."""

_PATH = re.compile(r"/model/(?P<model>.+)/invoke(?:-with-response-stream)?$")
_METRICS = "amazon-bedrock-invocationMetrics"
_GUARDRAIL = "amazon-bedrock-guardrailAction"


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
        return path_model(request.url, _PATH)

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
        reading = bedrock_makers.reading(document(request.body), parts, is_stream=streamed is not None)
        reading = _counted(_guarded(reading, parts), parts, response.headers)
        if streamed is None:
            said = text(parts[0].get("message")) if reading.answer is None else ""
            return replace(reading, error=reading.error or said or None)
        error = frame_error(streamed) or reading.error
        return replace(reading, error=error, terminal=any(map(self.is_terminal, streamed)))

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return the schemas of Anthropic's and Nova's requests and of chat completions, enforced as there."""
        asked = document(request.body)
        return (*anthropic_blocks.promises(asked), *converse_blocks.promises(asked), *chat_choices.promises(asked))

    def is_length(self, choice: Choice) -> bool:
        """Tell whether a token limit cut the answer."""
        others = cohere_words.is_length(choice) or openai_family.is_length(choice)
        return others or choice.finish in LENGTH_FINISH

    def is_refusal(self, choice: Choice) -> bool:
        """Tell whether the model, a filter or a guardrail stopped the answer."""
        others = cohere_words.is_refusal(choice) or openai_family.is_refusal(choice)
        return others or choice.finish in REFUSAL_FINISH


DIALECT = BedrockInvoke()


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

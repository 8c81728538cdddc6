"""OpenAI's legacy text completions, and who still speaks them: Azure, DeepSeek, OpenRouter, vLLM, llama.cpp.

Source: the types of the openai SDK 3.57.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from onetake.dialects import Promise, Reading
from onetake.dialects.answered import is_whole, stream_error, usage_counts
from onetake.dialects.asked import model_asked
from onetake.dialects.openai_family import failed, is_length, is_refusal
from onetake.events import Event, events, framing
from onetake.model import Answer, Choice, Request, Response
from onetake.picking import count, document, error_text, mapping, mappings, text

# Not the bare `/completions`: without a prefix it is the native API of llama.cpp, which answers in a shape of its own.
# Those of a chat, of agents and of fill-in-the-middle answer as a chat does.
_PATH = re.compile(r".*/(?!(?:chat|agents|fim)/)[^/]+/completions/?")


class OpenAICompletions:
    """The dialect of `POST …/completions`."""

    name = "openai-completions"
    version = 1
    operation = "completion"

    def speaks(self, method: str, url: str) -> bool:
        """Tell whether the path ends in `/completions`, on any host, under a prefix that is not another API's."""
        return method == "POST" and _PATH.fullmatch(urlsplit(url).path) is not None

    def model_asked(self, request: Request) -> str | None:
        """Return the `model` of the body, else the deployment in the path."""
        return model_asked(request)

    def is_terminal(self, event: Event) -> bool:
        """Tell whether an event is `[DONE]`; the chunk with the usage comes after the finish reason."""
        return event.data.startswith("[DONE]")

    def read(self, request: Request, response: Response) -> Reading:
        """Take the answer out of a completion, or put it together from the chunks of a stream."""
        if not framing(response.headers, response.body):
            return _reading([document(response.body)])
        streamed = events(response)
        terminal = is_whole(streamed, self.is_terminal, _is_own)
        return _reading([document(event.data) for event in streamed], stream_error(streamed), terminal=terminal)

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return nothing: the API takes no schema (extensions of single servers promise nothing)."""
        return ()

    def is_length(self, choice: Choice) -> bool:
        """Tell whether a token limit cut the choice."""
        return is_length(choice)

    def is_refusal(self, choice: Choice) -> bool:
        """Tell whether a filter stopped the choice."""
        return is_refusal(choice)


DIALECT = OpenAICompletions()


def _is_own(event: Event) -> bool:
    return not {"choices", "error"}.isdisjoint(document(event.data))


def _choices(parts: Iterable[dict[str, Any]]) -> list[Choice]:
    said: dict[int, list[str]] = {}
    finish: dict[int, str] = {}
    for part in parts:
        for position, choice in enumerate(mappings(part.get("choices"))):
            numbered = count(choice.get("index"))
            index = position if numbered is None else numbered
            said.setdefault(index, []).append(text(choice.get("text")))
            finish[index] = text(choice.get("finish_reason")) or finish.get(index, "")
    return [Choice("".join(said[index]) or None, finish=finish[index] or None) for index in sorted(said)]


def _reading(parts: list[dict[str, Any]], error: str | None = None, *, terminal: bool = True) -> Reading:
    choices = _choices(parts)
    usage: dict[str, Any] = {}
    for part in parts:
        usage = mapping(part.get("usage")) or usage
    asked, answered = usage_counts(usage)
    return Reading(
        answer=Answer(tuple(choices)) if choices else None,
        error=next(filter(None, (error_text(part.get("error")) for part in parts)), error) or failed(choices),
        terminal=terminal,
        model=_first(parts, "model"),
        input_tokens=asked,
        output_tokens=answered,
        fingerprint=_first(parts, "system_fingerprint"),
    )


def _first(parts: list[dict[str, Any]], name: str) -> str | None:
    return next((said for part in parts if (said := text(part.get(name)))), None)

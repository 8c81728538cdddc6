"""What the APIs of the OpenAI family share: where a request names its model, how a choice ended, what it used.

Source: the types of the openai SDK 3.57 and of the mistralai SDK 3.7; what other providers send differently, from their
published traffic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlsplit

from onetake.events import Event
from onetake.key import multipart
from onetake.model import Choice, Request, header
from onetake.picking import count, document, error_text, text

LENGTH_FINISH = frozenset({"length", "model_length", "max_tokens", "model_context_window_exceeded"})
"""Finish words, in lower case, of a choice that a token limit cut.

The second is Mistral's; the others are those of models behind gateways that pass them on, some in upper case.
"""
REFUSAL_FINISH = frozenset(
    {"content_filter", "content_filtered", "refusal", "sensitive", "guardrail_intervened"}
    | {"safety", "image_safety", "recitation", "blocklist", "prohibited_content", "spii"}
)
"""Finish words, in lower case, of a choice that a filter stopped; those of the second line are Gemini's."""
FAILED_FINISH = frozenset({"error", "insufficient_system_resource", "network_error"})
"""Finish words, in lower case, of a choice that the provider gave up: OpenRouter's and Mistral's; DeepSeek's; GLM's."""

_DEPLOYMENT = re.compile(r"/deployments/([^/]+)/")


def finish_word(finish: str | None) -> str:
    """Return a finish in lower case, without the reason that some servers put behind a colon; empty for none."""
    return (finish or "").partition(":")[0].strip().lower()


def is_length(choice: Choice) -> bool:
    """Tell whether a token limit cut a choice."""
    return finish_word(choice.finish) in LENGTH_FINISH


def is_refusal(choice: Choice) -> bool:
    """Tell whether the model refused, or a filter stopped it."""
    return bool(choice.refusal) or finish_word(choice.finish) in REFUSAL_FINISH


def failed(choices: list[Choice]) -> str | None:
    """Return the finish of the first choice that the provider could not finish, None where there is none."""
    return next((choice.finish for choice in choices if finish_word(choice.finish) in FAILED_FINISH), None)


def model_asked(request: Request) -> str | None:
    """Return the model that a request names: `model` of its JSON, or of its form, else the deployment in its path."""
    kind = header(request.headers, "content-type") or ""
    if kind.lower().startswith("multipart/"):
        named = _form_field(request.body, kind, "model")
    else:
        named = text(document(request.body).get("model"))
    if named:
        return named
    deployment = _DEPLOYMENT.search(urlsplit(request.url).path)
    return unquote(deployment[1]) if deployment else None


def _form_field(body: bytes, content_type: str, name: str) -> str:
    parts = multipart.split(body, content_type) or []
    return next((part.body.decode("utf-8", "replace") for part in parts if part.name == name and part.is_text), "")


def usage_counts(usage: dict[str, Any]) -> tuple[int | None, int | None]:
    """Return (input tokens, output tokens) of a `usage`, by either pair of names."""
    asked, answered = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    return (
        count(usage.get("prompt_tokens")) if asked is None else asked,
        count(usage.get("completion_tokens")) if answered is None else answered,
    )


def event_kind(event: Event) -> str:
    """Return the type of a typed event, by its name or, where proxies drop that, by its data."""
    return event.name or text(document(event.data).get("type"))


def stream_error(streamed: Iterable[Event]) -> str | None:
    """Return what the first error object or error event of a stream says, None where there is none."""
    for event in streamed:
        data = document(event.data)
        if found := error_text(data.get("error")):
            return found
        if event_kind(event) == "error":
            return error_text(data) or event.data or "error"
    return None

"""What the APIs of the OpenAI family share: the words for how a choice ended.

Source: the types of the openai SDK 3.57 and of the mistralai SDK 3.7; what other providers send differently, from their
published traffic.
"""

from __future__ import annotations

from collections.abc import Iterable

from onetake.model import Choice

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


def finish_word(finish: str | None) -> str:
    """Return a finish in lower case, without the reason that some servers put behind a colon; empty for none."""
    return (finish or "").partition(":")[0].strip().lower()


def is_length(choice: Choice) -> bool:
    """Tell whether a token limit cut a choice."""
    return finish_word(choice.finish) in LENGTH_FINISH


def is_refusal(choice: Choice) -> bool:
    """Tell whether the model refused, or a filter stopped it."""
    return bool(choice.refusal) or finish_word(choice.finish) in REFUSAL_FINISH


def failed(choices: Iterable[Choice]) -> str | None:
    """Return the finish of the first choice that the provider could not finish, None where there is none."""
    return next((choice.finish for choice in choices if finish_word(choice.finish) in FAILED_FINISH), None)

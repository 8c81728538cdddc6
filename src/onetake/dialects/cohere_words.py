"""What both versions of Cohere's API share: how an answer ended, what it cost, what its request promised.

Source: the types of the cohere package 7.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onetake.dialects import Promise
from onetake.dialects.asked import text_promise
from onetake.model import Choice
from onetake.picking import count, mapping

LENGTH_FINISH = frozenset({"MAX_TOKENS", "ERROR_LIMIT"})
"""Finish words of an answer that a token limit cut: its own, or that of the context."""
REFUSAL_FINISH = frozenset({"ERROR_TOXIC"})
"""Finish words of an answer that a filter stopped."""
FAILED_FINISH = frozenset({"ERROR", "TIMEOUT"})
"""Finish words of an answer that the provider could not finish: a failure under status 200."""


def is_length(choice: Choice) -> bool:
    """Tell whether a token limit cut a choice."""
    return choice.finish in LENGTH_FINISH


def is_refusal(choice: Choice) -> bool:
    """Tell whether a filter stopped a choice."""
    return bool(choice.refusal) or choice.finish in REFUSAL_FINISH


def failed(finish: Any) -> str | None:
    """Return a finish word that says that the provider failed, None for any other."""
    return finish if isinstance(finish, str) and finish in FAILED_FINISH else None


def tokens(usage: Any, name: str) -> int | None:
    """Return a count of tokens: what the model read or wrote, else what is billed of it.

    Args:
        usage: A `usage`, or a `meta`.
        name: `input_tokens` or `output_tokens`.
    """
    for kind in ("tokens", "billed_units"):
        told = mapping(mapping(usage).get(kind)).get(name)
        # They are floats by their type.
        known = count(int(told) if isinstance(told, float) and told.is_integer() else told)
        if known is not None:
            return known
    return None


def text_promises(asked: dict[str, Any]) -> Iterator[Promise]:
    """Yield the schema of `response_format`; the provider forces the answer to keep to it."""
    wanted = mapping(asked.get("response_format"))
    schema = wanted.get("json_schema", wanted.get("schema"))
    if wanted.get("type") == "json_object":
        yield from text_promise(mapping(schema).get("title"), schema, strict=True)

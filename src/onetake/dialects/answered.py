"""What many APIs share in their answers: typed events, errors in bodies and streams, usage, calls of functions.

Source: the types of the openai SDK 3.57 and of the mistralai SDK 3.7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from onetake import eventstream
from onetake.events import Event
from onetake.model import ToolCall
from onetake.picking import count, document, error_text, text, value_or_text


def event_kind(event: Event) -> str:
    """Return the type of a typed event, by its name or, where proxies drop that, by its data."""
    return event.name or text(document(event.data).get("type"))


def is_kind(event: Event, kind: str) -> bool:
    """Tell whether a typed event is of one type, by its name or by its data."""
    # The data is parsed only where it can be that: every event of every stream is asked while it passes.
    return event.name == kind or (kind in event.data and document(event.data).get("type") == kind)


def stream_error(streamed: Iterable[Event]) -> str | None:
    """Return what the first error object or error event of a stream says, None where there is none."""
    for event in streamed:
        if event.name != "error" and "error" not in event.data:
            continue
        data = document(event.data)
        if found := error_text(data.get("error")):
            return found
        if (event.name or data.get("type")) == "error":
            return error_text(data) or event.data or "error"
    return None


def is_whole(streamed: Sequence[Event], is_terminal: Callable[[Event], bool], is_own: Callable[[Event], bool]) -> bool:
    """Tell whether a stream is at its end, at a path that other APIs have too.

    Args:
        streamed: Its events.
        is_terminal: Tells the terminal event.
        is_own: Tells any event of this API.

    Returns:
        True once the terminal event is among them, and where there are events of which none is of this API: another's
        stream ends as it likes. One without any event was cut.
    """
    return any(map(is_terminal, streamed)) or (bool(streamed) and not any(map(is_own, streamed)))


def frame_error(streamed: Iterable[Event]) -> str | None:
    """Return what the first exception among the frames of an AWS event stream says, None where there is none."""
    return next(filter(None, (eventstream.failure(event.raw) for event in streamed)), None)


def body_error(body: dict[str, Any]) -> str | None:
    """Return what an error under a good status says: an `error`, or the body itself at Mistral and vLLM."""
    return error_text(body.get("error")) or (error_text(body) if body.get("object") == "error" else None)


def usage_counts(usage: dict[str, Any]) -> tuple[int | None, int | None]:
    """Return (input tokens, output tokens) of a `usage`, by either pair of names."""
    asked, answered = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    return (
        count(usage.get("prompt_tokens")) if asked is None else asked,
        count(usage.get("completion_tokens")) if answered is None else answered,
    )


def function_call(function: dict[str, Any]) -> ToolCall:
    """Return the call of a function whose `arguments` are text, as most APIs send them, or a value."""
    arguments = function.get("arguments")
    return ToolCall(text(function.get("name")), value_or_text(arguments) if isinstance(arguments, str) else arguments)

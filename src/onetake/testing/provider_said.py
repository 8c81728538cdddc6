"""What the scripted provider's model says, one way for every dialect."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from onetake.model import Headers
from onetake.testing.provider_http import Reply

Ending = Literal["done", "cut", "error"]
"""How a stream ends: with its terminal event, in mid-answer without one (cleanly), or in mid-answer with an error."""


class Said(TypedDict, total=False):
    """What the model says besides its text.

    Args:
        json: The text is this value as JSON.
        tool_calls: `(name, arguments)` pairs; the arguments are a JSON value, or a str that is sent as it is.
        finish: The provider's own word, where it is not the usual one.
        refusal: The model's no, in words.
        n: Number of equal choices, 1 or more (OpenAI only; in a list of texts each choice has its own).
        usage: Token counts that replace those counted from the texts, by the provider's own names.
        model: The model that is said to have served.
        prompt: The text whose length gives the input tokens.
    """

    json: Any
    tool_calls: Sequence[tuple[str, Any]]
    finish: str
    refusal: str
    n: int
    usage: Mapping[str, Any]
    model: str
    prompt: str


def json_reply(value: Any, status: int = 200, headers: Headers = ()) -> Reply:
    """Return a reply with a JSON body, compact, not escaped to ASCII."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return bytes_reply(body, "application/json", status, headers)


def text_reply(text: str, status: int = 200, headers: Headers = ()) -> Reply:
    """Return a reply with a plain text body in UTF-8."""
    return bytes_reply(text.encode(), "text/plain; charset=utf-8", status, headers)


def bytes_reply(body: bytes, content_type: str, status: int = 200, headers: Headers = ()) -> Reply:
    """Return a reply with this body."""
    return Reply(status, (("content-type", content_type), *headers), (body,) if body else ())


def stream_reply(events: Sequence[bytes], headers: Headers = ()) -> Reply:
    """Return an event stream, one piece for each event."""
    return Reply(200, (("content-type", "text/event-stream; charset=utf-8"), *headers), tuple(events), "chunked")


def token(size: int = 24) -> str:
    """Return random hex digits for ids, which no two replies share."""
    return secrets.token_hex(size)[:size]


def words(text: str) -> list[str]:
    """Split a text as models stream it: each word with the space before it."""
    return re.findall(r"\s*\S+|\s+$", text)


def tokens(text: str) -> int:
    """Return about how many tokens a text is: 1 for every 4 characters, at least 1."""
    return max(1, len(text) // 4)


def spelled(arguments: Any) -> str:
    """Return a tool call's arguments as they stand in a body."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def until(events: list[bytes], ending: Ending, error: bytes) -> list[bytes]:
    """Return a whole stream's events with the ending that was asked for; what is no `done` stops half-way."""
    if ending == "done":
        return events
    half = events[: max(1, len(events) // 2)]
    return [*half, error] if ending == "error" else half

"""Replies of the Anthropic shape: messages, plain and streamed, token counts, errors."""

from __future__ import annotations

import json
from typing import Any, Unpack

from onetake.model import Headers
from onetake.testing.provider_http import Reply
from onetake.testing.provider_said import Ending, Said, json_reply, spelled, stream_reply, token, tokens, until, words


def anthropic_message(text: str | None = None, **said: Unpack[Said]) -> Reply:
    """Make a message.

    Args:
        text: The answer.
        **said: See `Said`.
    """
    return json_reply(message_said(text, said), headers=_headers())


def anthropic_stream(text: str | None = None, *, ending: Ending = "done", **said: Unpack[Said]) -> Reply:
    """Make a streamed message, one piece for each event.

    Args:
        text: The answer, a word an event.
        ending: How the stream ends.
        **said: See `Said`.
    """
    events = [_event(data) for data in message_events(message_said(text, said))]
    error = _event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    return stream_reply(until(events, ending, error), _headers())


def anthropic_error(status: int = 500, message: str = "Internal server error", kind: str = "api_error") -> Reply:
    """Make an error reply; under status 200 it is an error object that only looks like an answer."""
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": f"req_{token()}"}
    retry = (("retry-after", "0"),) if status in (429, 529) else ()
    return json_reply(body, status, _headers() + retry)


def _headers() -> Headers:
    return (
        ("request-id", f"req_{token()}"),
        ("anthropic-organization-id", f"{token(8)}-{token(4)}-4{token(3)}-8{token(3)}-{token(12)}"),
        ("anthropic-ratelimit-requests-remaining", "3999"),
        ("set-cookie", f"__cf_bm={token(40)}; path=/; HttpOnly; Secure"),
    )


def message_events(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Take a message apart into the data of its events, the text a word an event."""
    usage = message["usage"]
    begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}, {"type": "ping"}]
    for i, block in enumerate(message["content"]):
        empty, deltas = _block_events(block)
        events.append({"type": "content_block_start", "index": i, "content_block": empty})
        events += [{"type": "content_block_delta", "index": i, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": i})
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": usage["output_tokens"]}})
    return [*events, {"type": "message_stop"}]


def _event(data: dict[str, Any]) -> bytes:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {data['type']}\ndata: {text}\n\n".encode()


def message_said(text: str | None, said: Said) -> dict[str, Any]:
    """Make the message that says this."""
    spoken = spelled(said["json"]) if "json" in said else said.get("refusal", text)
    content: list[dict[str, Any]] = [] if spoken is None else [{"type": "text", "text": spoken}]
    calls = said.get("tool_calls", ())
    content += [
        {"type": "tool_use", "id": f"toolu_{token()}", "name": name, "input": arguments} for name, arguments in calls
    ]
    usual = "refusal" if "refusal" in said else "tool_use" if calls else "end_turn"
    usage = {
        "input_tokens": tokens(said.get("prompt", "")),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": tokens(json.dumps(content)),
        "service_tier": "standard",
    }
    return {
        "id": f"msg_{token()}",
        "type": "message",
        "role": "assistant",
        "model": said.get("model", "claude-haiku-4-5-20251001"),
        "content": content,
        "stop_reason": said.get("finish", usual),
        "stop_sequence": None,
        "usage": usage | dict(said.get("usage", {})),
    }


def _block_events(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": word} for word in words(block["text"])]
    parts = words(spelled(block["input"]))
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]

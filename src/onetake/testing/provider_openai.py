"""Replies of the OpenAI shape: chat completions, plain and streamed, embeddings, errors."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import time
from collections.abc import Sequence
from typing import Any, Unpack

from onetake.model import Headers
from onetake.testing.provider_http import Reply
from onetake.testing.provider_said import (
    Ending,
    Said,
    json_reply,
    spelled,
    stream_reply,
    token,
    tokens,
    until,
    words,
)

_DIMENSIONS = 8


def openai_chat(text: str | Sequence[str] | None = None, **said: Unpack[Said]) -> Reply:
    """Make a chat completion.

    Args:
        text: The answer; a list gives each choice its own.
        **said: See `Said`.
    """
    return json_reply(_completion(text, said), headers=openai_headers())


def openai_stream(
    text: str | Sequence[str] | None = None,
    *,
    include_usage: bool = False,
    ending: Ending = "done",
    **said: Unpack[Said],
) -> Reply:
    """Make a streamed chat completion, one piece for each event.

    Args:
        text: The answer, a word an event; a list gives each choice its own.
        include_usage: Send the usage in an event of its own, as `stream_options` asks for.
        ending: How the stream ends.
        **said: See `Said`.
    """
    whole = _completion(text, said)
    shared = {k: whole[k] for k in ("id", "created", "model", "service_tier", "system_fingerprint")}
    shared = {**shared, "object": "chat.completion.chunk"} | ({"usage": None} if include_usage else {})
    choices = [
        {"index": choice["index"], "delta": delta, "logprobs": None, "finish_reason": finish}
        for choice in whole["choices"]
        for delta, finish in _deltas(choice)
    ]
    events = [data_event({**shared, "choices": [choice]}) for choice in choices]
    if include_usage:
        events.append(data_event({**shared, "choices": [], "usage": whole["usage"]}))
    events.append(b"data: [DONE]\n\n")
    error = data_event(error_body("The server had an error while processing your request", "server_error", None))
    return stream_reply(until(events, ending, error), openai_headers())


def openai_error(
    status: int = 500, message: str = "The server had an error", kind: str = "server_error", code: str | None = None
) -> Reply:
    """Make an error reply; under status 200 it is an error object that only looks like an answer."""
    retry = (("retry-after-ms", "1"),) if status in (429, 503) else ()
    return json_reply(error_body(message, kind, code), status, openai_headers() + retry)


def openai_embeddings(texts: Sequence[str], *, as_base64: bool, model: str = "text-embedding-3-small") -> Reply:
    """Make embeddings of 8 numbers, each a function of its text; *as_base64* as the request's `encoding_format`."""
    data = []
    for i, text in enumerate(texts):
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        numbers = [byte / 256 - 0.5 for byte in digest[:_DIMENSIONS]]
        packed = base64.b64encode(struct.pack(f"<{_DIMENSIONS}f", *numbers)).decode()
        data.append({"object": "embedding", "index": i, "embedding": packed if as_base64 else numbers})
    count = sum(map(tokens, texts))
    usage = {"prompt_tokens": count, "total_tokens": count}
    return json_reply({"object": "list", "data": data, "model": model, "usage": usage}, headers=openai_headers())


def openai_headers() -> Headers:
    """Return the headers that come with every reply, as many of them as a program may see."""
    return (
        ("x-request-id", f"req_{token(32)}"),
        ("openai-organization", f"org-{token()}"),
        ("openai-processing-ms", "12"),
        ("openai-version", "2020-10-01"),
        ("x-ratelimit-remaining-requests", "9999"),
        ("set-cookie", f"__cf_bm={token(40)}; path=/; HttpOnly; Secure"),
    )


def data_event(data: Any) -> bytes:
    """Return an event without a name."""
    return b"data: " + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def error_body(message: str, kind: str, code: str | None) -> dict[str, Any]:
    """Return the object that says what went wrong."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _completion(text: str | Sequence[str] | None, said: Said) -> dict[str, Any]:
    texts = [spelled(said["json"])] if "json" in said else [text] if text is None or isinstance(text, str) else text
    choices = [_choice(i, texts[i % len(texts)], said) for i in range(said.get("n", len(texts)))]
    asked = tokens(said.get("prompt", ""))
    answered = sum(tokens(json.dumps(choice["message"])) for choice in choices)
    usage = {
        "prompt_tokens": asked,
        "completion_tokens": answered,
        "total_tokens": asked + answered,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }
    return {
        "id": f"chatcmpl-{token(29)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": said.get("model", "gpt-4o-mini-2024-07-18"),
        "choices": choices,
        "usage": usage | dict(said.get("usage", {})),
        "service_tier": "default",
        "system_fingerprint": f"fp_{token(10)}",
    }


def _choice(index: int, text: str | None, said: Said) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": said.get("refusal"), "annotations": []}
    calls = said.get("tool_calls", ())
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{token()}", "type": "function", "function": {"name": name, "arguments": spelled(arguments)}}
            for name, arguments in calls
        ]
    finish = said.get("finish", "tool_calls" if calls else "stop")
    return {"index": index, "message": message, "logprobs": None, "finish_reason": finish}


def _deltas(choice: dict[str, Any]) -> list[tuple[dict[str, Any], str | None]]:
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None if message["content"] is None else ""}]
    deltas += [{"content": word} for word in words(message["content"] or "")]
    deltas += [{"refusal": word} for word in words(message["refusal"] or "")]
    for i, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        deltas.append({"tool_calls": [{"index": i, **call, "function": {**function, "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": i, "function": {"arguments": part}}]} for part in words(function["arguments"])
        ]
    return [*((delta, None) for delta in deltas), ({}, choice["finish_reason"])]

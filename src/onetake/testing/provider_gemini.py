"""Replies of the Gemini shape: content, whole, streamed as events or as one array, blocked prompts, errors."""

from __future__ import annotations

import json
from typing import Any, Unpack

from onetake.model import Headers
from onetake.testing.provider_http import Reply
from onetake.testing.provider_said import Ending, Said, bytes_reply, spelled, stream_reply, token, tokens, until, words

_JSON = "application/json; charset=UTF-8"


def gemini_content(text: str | None = None, *, thought: str | None = None, **said: Unpack[Said]) -> Reply:
    """Make a response of `generateContent`.

    Args:
        text: The answer.
        thought: What the model thought before.
        **said: See `Said`. A `refusal` is the message of a candidate that was stopped for safety.
    """
    return bytes_reply(_pretty(_content(text, thought, said)), _JSON, 200, _headers())


def gemini_stream(
    text: str | None = None,
    *,
    thought: str | None = None,
    array: bool = False,
    ending: Ending = "done",
    **said: Unpack[Said],
) -> Reply:
    """Make a response of `streamGenerateContent`, one piece for each chunk.

    Args:
        text: The answer, a word a chunk.
        thought: What the model thought before, a word a chunk.
        array: Stream one JSON array, as without `alt=sse`. One that is cut lacks its `]`.
        ending: How the stream ends.
        **said: See `gemini_content`.
    """
    whole = _content(text, thought, said)
    chunks = [{**whole, "candidates": [_candidate(part)]} for part in _pieces(whole["candidates"][0])]
    chunks[-1]["candidates"][0] |= {
        name: value for name, value in whole["candidates"][0].items() if name.startswith("finish")
    }
    spell = _element if array else _event
    pieces = until([*map(spell, chunks)], ending, spell(_error(503, "The model is overloaded.", "UNAVAILABLE")))
    if not array:
        return stream_reply(pieces, _headers())
    pieces = [b"[" + pieces[0], *(b",\r\n" + piece for piece in pieces[1:])]
    return Reply(
        200,
        (("content-type", _JSON), *_headers()),
        (*pieces, *(() if ending == "cut" else (b"]",))),
        "chunked",
    )


def gemini_blocked(reason: str = "SAFETY", *, streamed: bool = False) -> Reply:
    """Make a response to a prompt that was blocked: it has no candidates.

    Args:
        reason: `SAFETY`, `BLOCKLIST`, `PROHIBITED_CONTENT`, …
        streamed: As the only event of a stream.
    """
    body = {
        "promptFeedback": {"blockReason": reason},
        "usageMetadata": {"promptTokenCount": 4, "totalTokenCount": 4},
        "modelVersion": "gemini-2.5-flash",
        "responseId": token(23),
    }
    if streamed:
        return stream_reply([_event(body)], _headers())
    return bytes_reply(_pretty(body), _JSON, 200, _headers())


def gemini_error(
    status: int = 500, message: str = "An internal error has occurred.", kind: str = "INTERNAL", *, array: bool = False
) -> Reply:
    """Make an error reply; under status 200 it is an error object that only looks like an answer.

    Args:
        status: 200 to 599.
        message: What it says.
        kind: Google's word for it: `RESOURCE_EXHAUSTED`, `UNAVAILABLE`, …
        array: In an array, as `streamGenerateContent` without `alt=sse` answers.
    """
    body = _error(status, message, kind)
    return bytes_reply(_pretty([body] if array else body), _JSON, status, _headers())


def _headers() -> Headers:
    return (
        ("vary", "Origin, X-Origin, Referer"),
        ("server", "scaffolding on HTTPServer2"),
        ("server-timing", "gfet4t7; dur=12"),
        ("x-gemini-service-tier", "standard"),
    )


def _pretty(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"


def _event(value: Any) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ": ")).encode() + b"\r\n\r\n"


def _element(value: Any) -> bytes:
    return _pretty(value)


def _error(status: int, message: str, kind: str) -> dict[str, Any]:
    return {"error": {"code": status if status >= 400 else 503, "message": message, "status": kind}}


def _content(text: str | None, thought: str | None, said: Said) -> dict[str, Any]:
    spoken = spelled(said["json"]) if "json" in said else text
    parts: list[dict[str, Any]] = [] if thought is None else [{"text": thought, "thought": True}]
    parts += [] if spoken is None else [{"text": spoken}]
    parts += [
        {"functionCall": {"name": name, "args": arguments}, "thoughtSignature": token(44)}
        for name, arguments in said.get("tool_calls", ())
    ]
    candidate = _candidate(*parts)
    candidate["finishReason"] = said.get("finish", "SAFETY" if "refusal" in said else "STOP")
    if "refusal" in said:
        candidate["finishMessage"] = said["refusal"]
    candidate["index"] = 0
    asked, thoughts = tokens(said.get("prompt", "")), tokens(thought) if thought else 0
    answered = tokens(json.dumps(parts))
    usage = {
        "promptTokenCount": asked,
        "candidatesTokenCount": answered,
        "totalTokenCount": asked + answered + thoughts,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": asked}],
    } | ({"thoughtsTokenCount": thoughts} if thought else {})
    return {
        "candidates": [candidate],
        "usageMetadata": usage | dict(said.get("usage", {})),
        "modelVersion": said.get("model", "gemini-2.5-flash"),
        "responseId": token(23),
    }


def _candidate(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"parts": list(parts), "role": "model"}} if parts else {"content": {"role": "model"}}


def _pieces(candidate: dict[str, Any]) -> list[dict[str, Any]]:
    parts = [
        {**part, "text": word} if "text" in part else part
        for part in candidate["content"].get("parts", ())
        for word in (words(part["text"]) if "text" in part else [""])
    ]
    # The last chunk says why it ended, in a text that may be empty.
    return parts if parts and "functionCall" in parts[-1] else [*parts, {"text": ""}]

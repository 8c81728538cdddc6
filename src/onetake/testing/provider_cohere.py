"""Replies of the Cohere shape: chat of both versions of the API, whole and streamed, errors."""

from __future__ import annotations

import json
from typing import Any, Unpack

from onetake.model import Headers
from onetake.testing.provider_http import Reply
from onetake.testing.provider_said import Ending, Said, json_reply, spelled, stream_reply, token, tokens, until, words

_LINES = ("content-type", "application/stream+json")


def cohere_message(text: str | None = None, *, thought: str | None = None, **said: Unpack[Said]) -> Reply:
    """Make a response of `/v2/chat`.

    Args:
        text: The answer.
        thought: What the model thought before; before tool calls, its plan.
        **said: See `Said`.
    """
    return json_reply(_message(text, thought, said), headers=_headers())


def cohere_stream(
    text: str | None = None,
    *,
    thought: str | None = None,
    lines: bool = False,
    ending: Ending = "done",
    **said: Unpack[Said],
) -> Reply:
    """Make a streamed response of `/v2/chat`, one piece for each event.

    Args:
        text: The answer, a word an event.
        thought: See `cohere_message`; a word an event.
        lines: As newline-delimited JSON, for clients that accept no event stream.
        ending: How the stream ends.
        **said: See `Said`.
    """
    whole = _message(text, thought, said)
    start = {"message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}}
    events = [_event("message-start", id=whole["id"], delta=start)]
    for i, block in enumerate(whole["message"].get("content", ())):
        events += _block_events(i, block)
    plan = whole["message"].get("tool_plan", "")
    events += [_event("tool-plan-delta", delta={"message": {"tool_plan": word}}) for word in words(plan)]
    for i, call in enumerate(whole["message"].get("tool_calls", ())):
        events += _call_events(i, call)
    end = {"finish_reason": whole["finish_reason"], "usage": whole["usage"]}
    events.append(_event("message-end", delta=end))
    failed = _event("message-end", delta={"finish_reason": "ERROR", "error": "internal server error"})
    pieces = until(events, ending, failed)
    if not lines:
        return stream_reply(pieces, _headers())
    bare = tuple(piece.partition(b"data: ")[2].rstrip() + b"\n" for piece in pieces)
    return Reply(200, (_LINES, *_headers()), bare, "chunked")


def cohere_v1_message(text: str = "", **said: Unpack[Said]) -> Reply:
    """Make a response of `/v1/chat`.

    Args:
        text: The answer; beside tool calls, the plan.
        **said: See `Said`.
    """
    return json_reply(_response(text, said), headers=_headers())


def cohere_v1_stream(text: str = "", *, ending: Ending = "done", **said: Unpack[Said]) -> Reply:
    """Make a streamed response of `/v1/chat`, one piece for each line.

    Args:
        text: The answer, a word a line.
        ending: How the stream ends.
        **said: See `Said`.
    """
    whole = _response(text, said)
    lines = [_line("stream-start", generation_id=whole["generation_id"])]
    lines += [_line("text-generation", text=word) for word in words(whole["text"])]
    if "tool_calls" in whole:
        lines.append(_line("tool-calls-generation", text=whole["text"], tool_calls=whole["tool_calls"]))
    lines.append(_line("stream-end", True, response=whole, finish_reason=whole["finish_reason"]))
    failed = {**whole, "finish_reason": "ERROR"}
    error = _line("stream-end", True, response=failed, finish_reason="ERROR")
    return Reply(200, (_LINES, *_headers()), tuple(until(lines, ending, error)), "chunked")


def cohere_error(status: int = 500, message: str = "internal server error") -> Reply:
    """Make an error reply."""
    return json_reply({"id": token(36), "message": message}, status, _headers())


def _headers() -> Headers:
    return (("x-debug-trace-id", token(32)), ("num_tokens", "12"), ("x-endpoint-monthly-call-limit", "1000"))


def _event(kind: str, **fields: Any) -> bytes:
    data = json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"))
    return f"event: {kind}\ndata: {data}\n\n".encode()


def _line(kind: str, finished: bool = False, /, **fields: Any) -> bytes:
    data = {"is_finished": finished, "event_type": kind, **fields}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _usage(said: Said, spoken: str) -> dict[str, Any]:
    asked, answered = tokens(said.get("prompt", "")), tokens(spoken)
    return {
        "billed_units": {"input_tokens": asked, "output_tokens": answered},
        "tokens": {"input_tokens": asked + 66, "output_tokens": answered},
    }


def _message(text: str | None, thought: str | None, said: Said) -> dict[str, Any]:
    spoken = spelled(said["json"]) if "json" in said else text
    calls = said.get("tool_calls", ())
    message: dict[str, Any] = {"role": "assistant"}
    blocks = [] if thought is None or calls else [{"type": "thinking", "thinking": thought}]
    blocks += [] if spoken is None else [{"type": "text", "text": spoken}]
    message |= {"content": blocks} if blocks else {}
    message |= {"tool_plan": thought} if calls and thought else {}
    functions = [
        {"id": f"tool_{token()}", "type": "function", "function": {"name": name, "arguments": spelled(arguments)}}
        for name, arguments in calls
    ]
    message |= {"tool_calls": functions} if functions else {}
    return {
        "id": token(36),
        "message": message,
        "finish_reason": said.get("finish", "TOOL_CALL" if calls else "COMPLETE"),
        "usage": _usage(said, json.dumps(message)) | dict(said.get("usage", {})),
    }


def _block_events(index: int, block: dict[str, Any]) -> list[bytes]:
    field = block["type"]
    events = [_event("content-start", index=index, delta={"message": {"content": {**block, field: ""}}})]
    for word in words(block[field]):
        events.append(_event("content-delta", index=index, delta={"message": {"content": {field: word}}}))
    return [*events, _event("content-end", index=index)]


def _call_events(index: int, call: dict[str, Any]) -> list[bytes]:
    empty = {**call, "function": {**call["function"], "arguments": ""}}
    events = [_event("tool-call-start", index=index, delta={"message": {"tool_calls": empty}})]
    for piece in words(call["function"]["arguments"]):
        delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
        events.append(_event("tool-call-delta", index=index, delta=delta))
    return [*events, _event("tool-call-end", index=index)]


def _response(text: str, said: Said) -> dict[str, Any]:
    spoken = spelled(said["json"]) if "json" in said else text
    calls = [{"name": name, "parameters": arguments} for name, arguments in said.get("tool_calls", ())]
    return {
        "response_id": token(36),
        "text": spoken,
        "generation_id": token(36),
        "chat_history": [
            {"role": "USER", "message": said.get("prompt", "")},
            {"role": "CHATBOT", "message": spoken},
        ],
        "finish_reason": said.get("finish", "COMPLETE"),
        "meta": {"api_version": {"version": "1"}, **_usage(said, spoken), **said.get("usage", {})},
        **({"tool_calls": calls} if calls else {}),
    }

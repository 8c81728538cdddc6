"""Replies of the OpenAI Responses API: whole, and streamed in its typed events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, Literal, Unpack

from onetake.testing.provider_http import Reply
from onetake.testing.provider_openai import openai_headers
from onetake.testing.provider_said import Said, json_reply, spelled, stream_reply, token, tokens, words

ResponseEnding = Literal["done", "cut", "error", "failed"]
"""How a stream ends: with its terminal event, cleanly without one, with an `error` event, or as `response.failed`."""

_REASONS = ("max_output_tokens", "content_filter")


def openai_response(
    text: str | None = None, *, reasoning: str = "", status: str = "", commentary: str = "", **said: Unpack[Said]
) -> Reply:
    """Make a response.

    Args:
        text: The answer.
        reasoning: The summary of a reasoning item before it.
        status: `queued`, `in_progress`, `failed` or `cancelled`, where it is not what follows from `finish`.
        commentary: A message of the phase `commentary` before the final one.
        **said: See `Said`; a `finish` of `max_output_tokens` or `content_filter` makes it incomplete.
    """
    return json_reply(_response(text, reasoning, commentary, said, status), headers=openai_headers())


def openai_response_stream(
    text: str | None = None,
    *,
    reasoning: str = "",
    commentary: str = "",
    ending: ResponseEnding = "done",
    **said: Unpack[Said],
) -> Reply:
    """Make a streamed response: every event of the real sequence, a word a delta.

    Args:
        text: The answer.
        reasoning: The summary of a reasoning item before it.
        commentary: A message of the phase `commentary` before the final one.
        ending: How the stream ends; what is no `done` stops in the middle of the output.
        **said: See `openai_response`.
    """
    whole = _response(text, reasoning, commentary, said)
    started = whole | {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    steps: list[dict[str, Any]] = [
        {"type": "response.created", "response": started},
        {"type": "response.in_progress", "response": started},
        *(step for index, item in enumerate(whole["output"]) for step in _item_steps(index, item)),
    ]
    if ending == "done":
        steps.append({"type": f"response.{whole['status']}", "response": whole})
    else:
        steps = steps[: max(2, len(steps) // 2)] + _broken_off(ending, started)
    events = [_typed_event({**step, "sequence_number": number}) for number, step in enumerate(steps)]
    return stream_reply(events, openai_headers())


def _broken_off(ending: ResponseEnding, started: dict[str, Any]) -> list[dict[str, Any]]:
    error = {"code": "server_error", "message": "The model stopped"}
    if ending == "error":
        return [{"type": "error", **error, "param": None}]
    if ending == "failed":
        return [{"type": "response.failed", "response": started | {"status": "failed", "error": error}}]
    return []


def _typed_event(data: dict[str, Any]) -> bytes:
    said = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {data['type']}\ndata: {said}\n\n".encode()


def _response(text: str | None, reasoning: str, commentary: str, said: Said, status: str = "") -> dict[str, Any]:
    output = _output(text, reasoning, commentary, said)
    reason = said.get("finish")
    status = status or ("incomplete" if reason in _REASONS else "completed")
    return {
        "id": f"resp_{token(48)}",
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "error": {"code": "server_error", "message": "The model stopped"} if status == "failed" else None,
        "incomplete_details": {"reason": reason} if status == "incomplete" else None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "model": said.get("model", "gpt-5-mini-2025-08-07"),
        "output": [] if status in ("queued", "failed") else output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": None if status in ("queued", "in_progress") else _usage(output, reasoning, said),
    }


def _usage(output: list[dict[str, Any]], reasoning: str, said: Said) -> dict[str, Any]:
    asked, answered = tokens(said.get("prompt", "")), tokens(json.dumps(output))
    return {
        "input_tokens": asked,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": answered,
        "output_tokens_details": {"reasoning_tokens": tokens(reasoning) if reasoning else 0},
        "total_tokens": asked + answered,
        **said.get("usage", {}),
    }


def _output(text: str | None, reasoning: str, commentary: str, said: Said) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reasoning:
        summary = [{"type": "summary_text", "text": reasoning}]
        items.append({"id": f"rs_{token(48)}", "type": "reasoning", "summary": summary})
    if commentary:
        items.append(_message([_text_part(commentary)], phase="commentary"))
    text = spelled(said["json"]) if "json" in said else text
    parts = [] if text is None else [_text_part(text)]
    if refusal := said.get("refusal"):
        parts.append({"type": "refusal", "refusal": refusal})
    if parts:
        items.append(_message(parts, phase="final_answer") if commentary else _message(parts))
    items += [_function_call(name, arguments) for name, arguments in said.get("tool_calls", ())]
    return items


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _message(parts: list[dict[str, Any]], **more: str) -> dict[str, Any]:
    message = {"id": f"msg_{token(48)}", "type": "message", "status": "completed", "role": "assistant"}
    return {**message, "content": parts, **more}


def _function_call(name: str, arguments: Any) -> dict[str, Any]:
    call = {"id": f"fc_{token(48)}", "type": "function_call", "status": "completed", "call_id": f"call_{token()}"}
    return {**call, "name": name, "arguments": spelled(arguments)}


def _item_steps(index: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of one item: added, its parts with their deltas, done."""
    empty: dict[str, dict[str, Any]] = {
        "message": {"content": [], "status": "in_progress"},
        "reasoning": {"summary": []},
        "function_call": {"arguments": "", "status": "in_progress"},
    }
    started = item | empty[item["type"]]
    yield {"type": "response.output_item.added", "output_index": index, "item": started}
    place = {"item_id": item["id"], "output_index": index}
    if item["type"] == "function_call":
        kind = "response.function_call_arguments"
        yield from ({"type": f"{kind}.delta", **place, "delta": word} for word in words(item["arguments"]))
        yield {"type": f"{kind}.done", **place, "name": item["name"], "arguments": item["arguments"]}
    for number, part in enumerate(item.get("summary", ())):
        yield from _part_steps("response.reasoning_summary", {**place, "summary_index": number}, part)
    for number, part in enumerate(item.get("content", ())):
        yield from _part_steps("response.content", {**place, "content_index": number}, part)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _part_steps(kind: str, place: dict[str, Any], part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    field = "refusal" if part["type"] == "refusal" else "text"
    said = {"summary_text": "response.reasoning_summary_text", "output_text": "response.output_text"}
    delta = said.get(part["type"], "response.refusal")
    logprobs: dict[str, Any] = {"logprobs": []} if part["type"] == "output_text" else {}
    yield {"type": f"{kind}_part.added", **place, "part": part | {field: ""}}
    yield from ({"type": f"{delta}.delta", **place, "delta": word, **logprobs} for word in words(part[field]))
    yield {"type": f"{delta}.done", **place, field: part[field], **logprobs}
    yield {"type": f"{kind}_part.done", **place, "part": part}

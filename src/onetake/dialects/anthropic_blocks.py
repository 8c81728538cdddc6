"""Anthropic messages and the parts of their streams, put together: for every dialect that carries them.

Source: the types and the stream accumulator of the anthropic SDK 2.14.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from onetake.dialects import Promise, Reading
from onetake.dialects.asked import text_promise, tool_promise
from onetake.model import Answer, Choice, ToolCall
from onetake.picking import count, error_text, mapping, mappings, text, value_or_text

LENGTH_FINISH = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons of an answer that a token limit cut."""
REFUSAL_FINISH = frozenset({"refusal"})
"""Stop reasons of an answer that a classifier stopped."""
PAUSED_FINISH = frozenset({"pause_turn", "compaction"})
"""Stop reasons of a turn that the program must send back for it to go on: there is no answer to judge in it yet."""

_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "input_json_delta": "partial_json",
}
"""A delta's type to the field that it adds to its block."""


def assembled(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Put a message together as it would have come unstreamed; a tool's input stays in `partial_json`."""
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for part in parts:
        kind, index = part.get("type"), count(part.get("index")) or 0
        if kind == "message_start":
            message.update(mapping(part.get("message")))
        elif kind == "content_block_start":
            blocks[index] = dict(mapping(part.get("content_block")))
        elif kind == "content_block_delta":
            _add(blocks.setdefault(index, {}), mapping(part.get("delta")))
        elif kind == "message_delta":
            message.update(mapping(part.get("delta")))
            # The counts are totals; those that a delta leaves out or null keep what the start said.
            told = {name: value for name, value in mapping(part.get("usage")).items() if value is not None}
            message["usage"] = mapping(message.get("usage")) | told
        elif kind == "error":
            message["error"] = part.get("error")
    if message or blocks:
        message["content"] = [blocks[index] for index in sorted(blocks)] or message.get("content")
    return message


def _add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if (name := _DELTAS.get(text(delta.get("type")))) is not None:
        block[name] = text(block.get(name)) + text(delta.get(name))


def reading(message: dict[str, Any], error: str | None = None, *, terminal: bool = True) -> Reading:
    """Read a message.

    Args:
        message: As it came unstreamed, or `assembled`.
        error: What an error event said.
        terminal: Whether the terminal event has come.
    """
    usage = mapping(message.get("usage"))
    return Reading(
        answer=_answer(message) if isinstance(message.get("content"), list) else None,
        error=error_text(message.get("error")) or error,
        terminal=terminal,
        model=text(message.get("model")) or None,
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
    )


def _answer(message: dict[str, Any]) -> Answer:
    return Answer() if text(message.get("stop_reason")) in PAUSED_FINISH else Answer((_choice(message),))


def _choice(message: dict[str, Any]) -> Choice:
    """Read the blocks; what server tools were asked and found is envelope, not the model's word."""
    blocks = mappings(message.get("content"))
    said = "".join(text(block.get("text")) for block in blocks if block.get("type") == "text")
    thought = "".join(text(block.get("thinking")) for block in blocks if block.get("type") == "thinking")
    details = mapping(message.get("stop_details"))
    return Choice(
        text=said or None,
        tool_calls=tuple(_tool_call(block) for block in blocks if block.get("type") == "tool_use"),
        finish=text(message.get("stop_reason")) or None,
        refusal=text(details.get("explanation")) or None if details.get("type") == "refusal" else None,
        reasoning=thought or None,
    )


def _tool_call(block: dict[str, Any]) -> ToolCall:
    # A tool without arguments streams no piece, or an empty one: then the input is that of the block's start.
    streamed = text(block.get("partial_json"))
    return ToolCall(text(block.get("name")), value_or_text(streamed) if streamed else block.get("input"))


def promises(asked: dict[str, Any]) -> Iterator[Promise]:
    """Yield the output format's schema, which is always enforced, and the tools', where `strict` is true."""
    # `output_format` is the place that the beta of structured outputs used.
    for wanted in (mapping(asked.get("output_config")).get("format"), asked.get("output_format")):
        if mapping(wanted).get("type") == "json_schema":
            yield from text_promise("", mapping(wanted).get("schema"), strict=True)
    for tool in mappings(asked.get("tools")):
        yield from tool_promise(tool.get("name"), tool.get("input_schema"), tool.get("strict"))

"""Messages of Amazon's Converse shape and the parts of their streams: for Bedrock Converse, and for Nova's own bodies.

Source: the service model `bedrock-runtime` of botocore 1.44.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from onetake.dialects import Promise, Reading
from onetake.dialects.asked import text_promise, tool_promise
from onetake.model import Answer, Choice, ToolCall
from onetake.picking import count, document, error_text, mapping, mappings, text, value_or_text

LENGTH_FINISH = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons of an answer that a token limit cut."""
REFUSAL_FINISH = frozenset({"guardrail_intervened", "content_filtered"})
"""Stop reasons of an answer that a guardrail or a filter stopped."""


def assembled(parts: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Put an answer together as it would have come unstreamed; a tool's input is the text under `pieces`.

    Args:
        parts: (the event's type, what it says).
    """
    answer: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for name, part in parts:
        index = count(part.get("contentBlockIndex")) or 0
        if name == "contentBlockStart":
            blocks.setdefault(index, {}).update(mapping(part.get("start")))
        elif name == "contentBlockDelta":
            _add(blocks.setdefault(index, {}), mapping(part.get("delta")))
        elif name == "messageStop":
            answer["stopReason"] = part.get("stopReason")
        elif name == "metadata":
            answer |= {"usage": part.get("usage"), "trace": part.get("trace")}
        if name in ("messageStart", "contentBlockStart", "contentBlockDelta"):
            answer["output"] = {"message": {"content": []}}
    if "output" in answer:
        answer["output"]["message"]["content"] = [blocks[index] for index in sorted(blocks)]
    return answer


def _add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if "text" in delta:
        block["text"] = text(block.get("text")) + text(delta["text"])
    if "toolUse" in delta:
        tool = block["toolUse"] = dict(mapping(block.get("toolUse")))
        tool["pieces"] = text(tool.get("pieces")) + text(mapping(delta["toolUse"]).get("input"))
    if "reasoningContent" in delta:
        before = mapping(mapping(block.get("reasoningContent")).get("reasoningText"))
        said = text(before.get("text")) + text(mapping(delta["reasoningContent"]).get("text"))
        block["reasoningContent"] = {"reasoningText": {"text": said}}


def reading(answer: dict[str, Any], error: str | None = None, *, terminal: bool = True) -> Reading:
    """Read an answer.

    Args:
        answer: As it came unstreamed, or `assembled`.
        error: What an exception in the stream said.
        terminal: Whether the terminal event has come.
    """
    usage, trace = mapping(answer.get("usage")), mapping(answer.get("trace"))
    message = mapping(mapping(answer.get("output")).get("message"))
    said = isinstance(message.get("content"), list)
    return Reading(
        answer=Answer((_choice(mappings(message.get("content")), text(answer.get("stopReason"))),)) if said else None,
        error=error or error_text(answer.get("error")) or (None if said else text(answer.get("message")) or None),
        terminal=terminal,
        model=text(mapping(trace.get("promptRouter")).get("invokedModelId")) or None,
        input_tokens=count(usage.get("inputTokens")),
        output_tokens=count(usage.get("outputTokens")),
    )


def _choice(blocks: list[dict[str, Any]], finish: str) -> Choice:
    """Read the blocks; what server tools were asked and found is envelope, not the model's word."""
    tools = [mapping(block.get("toolUse")) for block in blocks if "toolUse" in block]
    thoughts = [mapping(mapping(block.get("reasoningContent")).get("reasoningText")) for block in blocks]
    return Choice(
        text="".join(map(_said, blocks)) or None,
        tool_calls=tuple(_tool_call(tool) for tool in tools if tool.get("type") != "server_tool_use"),
        finish=finish or None,
        reasoning="".join(text(thought.get("text")) for thought in thoughts) or None,
    )


def _said(block: dict[str, Any]) -> str:
    cited = mappings(mapping(block.get("citationsContent")).get("content"))
    return text(block.get("text")) + "".join(text(part.get("text")) for part in cited)


def _tool_call(tool: dict[str, Any]) -> ToolCall:
    # A tool without arguments streams no piece, or an empty one.
    streamed = text(tool.get("pieces"))
    return ToolCall(text(tool.get("name")), value_or_text(streamed) if streamed else tool.get("input", {}))


def promises(asked: dict[str, Any]) -> Iterator[Promise]:
    """Yield the output format's schema, which is always enforced, and the tools', where `strict` is true."""
    wanted = mapping(mapping(asked.get("outputConfig")).get("textFormat"))
    given = mapping(mapping(wanted.get("structure")).get("jsonSchema"))
    if spelled := document(text(given.get("schema"))):
        yield from text_promise(given.get("name"), spelled, strict=True)
    for tool in mappings(mapping(asked.get("toolConfig")).get("tools")):
        spec = mapping(tool.get("toolSpec"))
        yield from tool_promise(spec.get("name"), mapping(spec.get("inputSchema")).get("json"), spec.get("strict"))

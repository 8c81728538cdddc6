"""Bodies of the makers of Bedrock's models, whole or in the parts of a stream.

Anthropic's and Nova's bodies and those in the shape of chat completions are read as their own APIs are; of the others
the texts, how each ended, and Cohere's tool calls. Of makers that are not known here no answer is read.

Source: the Bedrock user guide, "Inference request parameters and response fields for foundation models".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onetake.dialects import Reading, anthropic_blocks, chat_choices, cohere_words, converse_blocks, openai_family
from onetake.model import Answer, Choice, ToolCall
from onetake.picking import count, error_text, mapping, mappings, text

_LISTS = ("results", "outputs", "generations", "completions")
"""Where several texts are: Titan's, Mistral's, Cohere's, and those of AI21's first models."""
_TEXTS = ("outputText", "generation", "text", "completion")
"""What a text is called: Titan's, Llama's, Mistral's and Cohere's, and that of Anthropic's first models."""
_FINISHES = ("completionReason", "stop_reason", "finish_reason", "finishReason")
_WORDLESS = ("embedding", "embeddings", "embeddingsByType", "images", "artifacts")
"""What a model makes that says nothing: an answer without choices."""


def reading(asked: dict[str, Any], parts: Sequence[dict[str, Any]], *, is_stream: bool) -> Reading:
    """Read what a model answered.

    Args:
        asked: The body of the request.
        parts: What the events of a stream say, or the one body.
        is_stream: Which of the two they are.
    """
    if "anthropic_version" in asked and not any("completion" in part for part in parts):
        return anthropic_blocks.reading(anthropic_blocks.assembled(parts) if is_stream else parts[0])
    events_of = ((name, mapping(part[name])) for part in parts for name in part)
    converse = converse_blocks.assembled(events_of) if is_stream else parts[0]
    if "output" in converse:
        return converse_blocks.reading(converse)
    if any(mappings(part.get("choices")) for part in parts):
        return _chat(parts, is_stream=is_stream)
    error = next(filter(None, (error_text(part.get("error")) for part in parts)), None)
    if any(map(_says_nothing, parts)):
        return Reading(Answer(), error)
    choices = _choices(parts)
    return Reading(Answer(choices) if choices else None, error or _failed(choices))


def _chat(parts: Sequence[dict[str, Any]], *, is_stream: bool) -> Reading:
    said = "delta" if is_stream else "message"
    alike = [
        part | {"choices": [_chat_choice(choice, said) for choice in mappings(part.get("choices"))]} for part in parts
    ]
    return chat_choices.streamed(alike) if is_stream else chat_choices.whole(alike[0])


def _chat_choice(choice: dict[str, Any], said: str) -> dict[str, Any]:
    """Give a choice the field *said* and the finish of a chat completion.

    Mistral's chunks hold messages, and a `stop_reason`; what is only completed, as DeepSeek's, holds its text.
    """
    message = mapping(choice.get("delta")) or mapping(choice.get("message")) or {"content": choice.get("text")}
    return choice | {said: message, "finish_reason": choice.get("finish_reason") or choice.get("stop_reason")}


def _says_nothing(part: dict[str, Any]) -> bool:
    vectors = any(isinstance(part.get(name), list | dict) for name in _WORDLESS)
    ranked = any("relevance_score" in each for each in mappings(part.get("results")))
    return vectors or ranked or any("embedding" in each for each in mappings(part.get("data")))


def _choices(parts: Sequence[dict[str, Any]]) -> tuple[Choice, ...]:
    """Join the pieces of each text; none where no part has a text or a call."""
    said: dict[int, list[str]] = {}
    finish: dict[int, str] = {}
    calls: dict[int, list[dict[str, Any]]] = {}
    for part in parts:
        for position, piece in enumerate(_pieces(part)):
            numbered = count(piece.get("index"))
            index = position if numbered is None else numbered
            words = [piece[name] for name in _TEXTS if isinstance(piece.get(name), str)]
            asked = mappings(piece.get("tool_calls")) or mappings(mapping(piece.get("response")).get("tool_calls"))
            if words or asked:
                said.setdefault(index, []).extend(words)
            calls[index] = asked or calls.get(index, [])
            finish[index] = _finish(piece) or finish.get(index, "")
    return tuple(
        Choice("".join(said[index]) or None, tuple(map(_call, calls[index])), finish[index] or None)
        for index in sorted(said)
    )


def _pieces(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what holds the texts: a list of them, or the part itself."""
    found = next(filter(None, (mappings(part.get(name)) for name in _LISTS)), None)
    if found is not None:
        return [mapping(each.get("data")) | each for each in found]
    # TwelveLabs' text is in the field that holds the message of an error elsewhere; only its answers have a finish.
    return [{"text": part.get("message")} | part] if text(part.get("finishReason")) else [part]


def _finish(piece: dict[str, Any]) -> str:
    told = (piece.get(name) for name in _FINISHES)
    return next(filter(None, (text(each) or text(mapping(each).get("reason")) for each in told)), "")


def _call(call: dict[str, Any]) -> ToolCall:
    return ToolCall(text(call.get("name")), call.get("parameters"))


def _failed(choices: Sequence[Choice]) -> str | None:
    by_cohere = (cohere_words.failed(choice.finish) for choice in choices)
    return openai_family.failed(choices) or next(filter(None, by_cohere), None)

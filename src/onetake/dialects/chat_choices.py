"""Chat completions and the chunks of their streams, put together: for every dialect that carries them.

Source: the types of the openai SDK 3.57 and of the mistralai SDK 3.7; what other providers send differently, from their
published traffic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from onetake.dialects import Promise, Reading
from onetake.dialects.answered import body_error, usage_counts
from onetake.dialects.asked import format_promise, function_promises
from onetake.dialects.openai_family import failed
from onetake.model import Answer, Choice, ToolCall
from onetake.picking import count, error_text, mapping, mappings, text, value_or_text


def promises(asked: dict[str, Any]) -> Iterator[Promise]:
    """Yield `response_format`'s schema and those of the functions; enforced only where `strict` is true."""
    yield from format_promise(asked.get("response_format"))
    yield from function_promises(mappings([tool.get("function") for tool in mappings(asked.get("tools"))]))
    yield from function_promises(mappings(asked.get("functions")))


def whole(body: dict[str, Any]) -> Reading:
    """Read a completion that came unstreamed."""
    return _reading([body], _whole(body))


def streamed(chunks: Sequence[dict[str, Any]], error: str | None = None, *, terminal: bool = True) -> Reading:
    """Read the chunks of a stream.

    Args:
        chunks: What the events say, in their order.
        error: What an error event said.
        terminal: Whether the terminal event has come.
    """
    return _reading(chunks, _assembled(chunks), error, terminal=terminal)


@dataclass(slots=True)
class _Call:
    """A tool call that its deltas fill."""

    index: int = 0
    id: str = ""
    name: str = ""
    arguments: str | dict[str, Any] = ""
    custom: bool = False

    def add(self, delta: dict[str, Any], arguments: str = "arguments") -> None:
        """Take in a piece of the call; *arguments* is the field that holds them."""
        # The name comes whole, from some servers again with every piece of the arguments.
        self.name = self.name or text(delta.get("name"))
        piece = delta.get(arguments)
        if isinstance(piece, dict):  # A few servers send an object, in one piece, where the others send its text.
            self.arguments = piece
        elif isinstance(self.arguments, str):
            self.arguments += text(piece)

    def done(self) -> ToolCall:
        """Return the call; a custom tool's input is text, whatever it looks like."""
        if self.custom or isinstance(self.arguments, dict):
            return ToolCall(self.name, self.arguments)
        return ToolCall(self.name, value_or_text(self.arguments))


@dataclass(slots=True)
class _Gathered:
    """One choice, filled by its deltas, or by its message as if that were the only one."""

    said: dict[str, str] = field(default_factory=dict)
    finish: str = ""
    calls: list[_Call] = field(default_factory=list)
    function: _Call | None = None

    def add(self, message: dict[str, Any], finish: Any, *, indexed: bool) -> None:
        """Take in a delta (its tool calls are `indexed`) or a message."""
        for kind, piece in _said(message):
            self.said[kind] = self.said.get(kind, "") + piece
        self.finish = text(finish) or self.finish
        for position, call in enumerate(mappings(message.get("tool_calls"))):
            self._add_call(_index(call, position) if indexed else position, call)
        if isinstance(legacy := message.get("function_call"), dict):
            self.function = self.function or _Call()
            self.function.add(legacy)

    def _add_call(self, index: int, delta: dict[str, Any]) -> None:
        new_id = text(delta.get("id"))
        call = next((call for call in reversed(self.calls) if call.index == index), None)
        # Gemini's twin of this API says index 0 for each of several calls; their ids tell them apart.
        if call is None or (new_id and call.id and new_id != call.id):
            call = _Call(index)
            self.calls.append(call)
        call.id = call.id or new_id
        if isinstance(custom := delta.get("custom"), dict):
            call.custom = True
            call.add(custom, "input")
        call.add(mapping(delta.get("function")))

    def done(self) -> Choice:
        """Return the choice; streams start with an empty text, so empty is the same as none."""
        calls = sorted(self.calls, key=lambda call: call.index) + ([self.function] if self.function else [])
        return Choice(
            text=self.said.get("text") or None,
            tool_calls=tuple(call.done() for call in calls),
            finish=self.finish or None,
            refusal=self.said.get("refusal") or None,
            reasoning=self.said.get("reasoning") or None,
        )


def _index(item: dict[str, Any], position: int) -> int:
    # Mistral leaves the index of tool calls out.
    index = count(item.get("index"))
    return position if index is None else index


def _whole(body: dict[str, Any]) -> list[Choice]:
    numbered = enumerate(mappings(body.get("choices")))
    choices = []
    for _, choice in sorted(numbered, key=lambda item: _index(item[1], item[0])):
        gathered = _Gathered()
        gathered.add(mapping(choice.get("message")), choice.get("finish_reason"), indexed=False)
        choices.append(gathered.done())
    return choices


def _assembled(chunks: Sequence[dict[str, Any]]) -> list[Choice]:
    choices: dict[int, _Gathered] = {}
    for chunk in chunks:
        for position, choice in enumerate(mappings(chunk.get("choices"))):
            gathered = choices.setdefault(_index(choice, position), _Gathered())
            gathered.add(mapping(choice.get("delta")), choice.get("finish_reason"), indexed=True)
    return [choices[index].done() for index in sorted(choices)]


def _said(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (field of the choice, text) for what a message or a delta says."""
    # Several servers send both spellings with the same text.
    yield "reasoning", text(message.get("reasoning_content")) or text(message.get("reasoning"))
    yield "refusal", text(message.get("refusal"))
    content = message.get("content")
    yield "text", text(content) or text(mapping(message.get("audio")).get("transcript"))
    for part in mappings(content):
        yield "text", text(part.get("text"))
        yield "refusal", text(part.get("refusal"))
        # Mistral: a part of type `thinking` that holds text parts.
        for thought in mappings(part.get("thinking")):
            yield "reasoning", text(thought.get("text"))


def _reading(
    parts: Sequence[dict[str, Any]], choices: list[Choice], error: str | None = None, *, terminal: bool = True
) -> Reading:
    usage: dict[str, Any] = {}
    for part in parts:
        # Groq puts a stream's usage under `x_groq`; where several chunks count, the last one has the total.
        usage = mapping(part.get("usage")) or mapping(mapping(part.get("x_groq")).get("usage")) or usage
    asked, answered = usage_counts(usage)
    return Reading(
        answer=Answer(tuple(choices)) if choices else None,
        error=next(filter(None, map(_error, parts)), error) or failed(choices),
        terminal=terminal,
        model=_first(parts, "model"),
        input_tokens=asked,
        output_tokens=answered,
        fingerprint=_first(parts, "system_fingerprint"),
    )


def _first(parts: Sequence[dict[str, Any]], name: str) -> str | None:
    # Azure's first chunk names no model, it carries the prompt's filter results.
    return next((said for part in parts if (said := text(part.get(name)))), None)


def _error(part: dict[str, Any]) -> str | None:
    if found := body_error(part):
        return found
    # OpenRouter: the provider behind it failed in the middle of the answer.
    return next((found for choice in mappings(part.get("choices")) if (found := error_text(choice.get("error")))), None)

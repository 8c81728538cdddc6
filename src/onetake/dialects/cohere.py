"""Cohere's chat, version 2 of the API, whole or streamed as events.

Source: the types of the cohere package 7.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from onetake.dialects import Promise, Reading, cohere_words
from onetake.events import Event, events, framing
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.picking import count, document, error_text, mapping, mappings, text, value_or_text


class Cohere:
    """The dialect of `POST …/v2/chat`."""

    name = "cohere-chat"
    version = 1
    operation = "chat"

    def speaks(self, method: str, url: str) -> bool:
        """Tell whether the path ends in `/v2/chat`, on any host, under any prefix."""
        return method == "POST" and urlsplit(url).path.rstrip("/").endswith("/v2/chat")

    def model_asked(self, request: Request) -> str | None:
        """Return the `model` of the body."""
        return text(document(request.body).get("model")) or None

    def is_terminal(self, event: Event) -> bool:
        """Tell whether an event is `message-end`, by its name or its type."""
        if event.name == "message-end":
            return True
        return "message-end" in event.data and document(event.data).get("type") == "message-end"

    def read(self, request: Request, response: Response) -> Reading:
        """Take the answer out of a response, or put it together from the events of a stream.

        What the model plans before it calls tools (`tool_plan`) is reasoning. No response says which model served.
        """
        if not framing(response.headers, response.body):
            return _reading(document(response.body))
        streamed = events(response)
        error = next((event.data or "error" for event in streamed if event.name == "error"), None)
        body = _assembled(document(event.data) for event in streamed)
        return _reading(body, error, terminal=any(map(self.is_terminal, streamed)))

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return the schema of `response_format`, always enforced, and the tools', where `strict_tools` is true."""
        return tuple(_promises(document(request.body)))

    def is_length(self, choice: Choice) -> bool:
        """Tell whether a token limit cut the answer."""
        return cohere_words.is_length(choice)

    def is_refusal(self, choice: Choice) -> bool:
        """Tell whether a filter stopped the answer."""
        return cohere_words.is_refusal(choice)


DIALECT = Cohere()


def _assembled(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Put the response together as it would have come unstreamed."""
    body: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    calls: dict[int, dict[str, Any]] = {}
    plan = ""
    for part in parts:
        kind, index, delta = text(part.get("type")), count(part.get("index")) or 0, mapping(part.get("delta"))
        said = mapping(delta.get("message"))
        if kind in ("content-start", "content-delta"):
            _add(blocks.setdefault(index, {}), mapping(said.get("content")))
        elif kind in ("tool-call-start", "tool-call-delta"):
            _add(calls.setdefault(index, {}), mapping(mapping(said.get("tool_calls")).get("function")))
        elif kind == "tool-plan-delta":
            plan += text(said.get("tool_plan"))
        elif kind == "message-end":
            body |= delta
        elif "error" in part:
            body["error"] = part["error"]
    if blocks or calls or plan or body:
        functions = [{"function": calls[index]} for index in sorted(calls)]
        content = [blocks[index] for index in sorted(blocks)]
        body["message"] = {"content": content, "tool_calls": functions, "tool_plan": plan}
    return body


def _add(held: dict[str, Any], delta: dict[str, Any]) -> None:
    for name, piece in delta.items():
        if isinstance(piece, str):
            held[name] = piece if name == "type" else text(held.get(name)) + piece


def _reading(body: dict[str, Any], error: str | None = None, *, terminal: bool = True) -> Reading:
    message = body.get("message")
    usage = body.get("usage")
    finish = body.get("finish_reason")
    return Reading(
        answer=Answer((_choice(message, finish),)) if isinstance(message, dict) else None,
        error=error_text(body.get("error")) or cohere_words.failed(finish) or error,
        terminal=terminal,
        input_tokens=cohere_words.tokens(usage, "input_tokens"),
        output_tokens=cohere_words.tokens(usage, "output_tokens"),
    )


def _choice(message: dict[str, Any], finish: Any) -> Choice:
    blocks = mappings(message.get("content"))
    thought = text(message.get("tool_plan")) + "".join(text(block.get("thinking")) for block in blocks)
    functions = mappings([call.get("function") for call in mappings(message.get("tool_calls"))])
    return Choice(
        text="".join(text(block.get("text")) for block in blocks) or None,
        tool_calls=tuple(_call(function) for function in functions),
        finish=text(finish) or None,
        reasoning=thought or None,
    )


def _call(function: dict[str, Any]) -> ToolCall:
    arguments = function.get("arguments")
    return ToolCall(text(function.get("name")), value_or_text(arguments) if isinstance(arguments, str) else arguments)


def _promises(asked: dict[str, Any]) -> Iterator[Promise]:
    yield from cohere_words.text_promises(asked)
    for tool in mappings(asked.get("tools")):
        function = mapping(tool.get("function"))
        name, schema = text(function.get("name")), function.get("parameters")
        if name and isinstance(schema, dict):
            yield Promise(f"tool:{name}", name, schema, enforced=asked.get("strict_tools") is True)

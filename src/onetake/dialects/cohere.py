"""Cohere's chat, version 2 of the API, whole or streamed as events.

Source: the types of the cohere package 7.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from onetake.dialects import Promise, Reading, cohere_words
from onetake.dialects.answered import event_kind, function_call, is_kind, is_whole, stream_error
from onetake.dialects.asked import tool_promise
from onetake.events import Event, events, framing
from onetake.model import Answer, Choice, Request, Response
from onetake.picking import count, document, error_text, mapping, mappings, text

_KINDS = ("message-", "content-", "tool-", "citation-", "debug", "error")
"""How the types of its events begin."""


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
        return is_kind(event, "message-end")

    def read(self, request: Request, response: Response) -> Reading:
        """Take the answer out of a response, or put it together from the events of a stream.

        What the model plans before it calls tools (`tool_plan`) is reasoning. No response says which model served.
        """
        if not framing(response.headers, response.body):
            return _reading(document(response.body))
        streamed = events(response)
        body = _assembled(document(event.data) for event in streamed)
        return _reading(body, stream_error(streamed), terminal=is_whole(streamed, self.is_terminal, _is_own))

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


def _is_own(event: Event) -> bool:
    return event_kind(event).startswith(_KINDS) or "error" in document(event.data)


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
        tool_calls=tuple(map(function_call, functions)),
        finish=text(finish) or None,
        reasoning=thought or None,
    )


def _promises(asked: dict[str, Any]) -> Iterator[Promise]:
    yield from cohere_words.text_promises(asked)
    for tool in mappings(asked.get("tools")):
        function = mapping(tool.get("function"))
        yield from tool_promise(function.get("name"), function.get("parameters"), asked.get("strict_tools"))

"""OpenAI responses, and all who speak them: Azure, OpenRouter, xAI, Groq, vLLM, Ollama, llama.cpp.

Source: the types of the openai SDK 3.57.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from onetake.dialects import Promise, Reading
from onetake.dialects.answered import event_kind, function_call, is_whole, stream_error
from onetake.dialects.asked import function_promises, model_asked, text_promise
from onetake.events import Event, events, framing
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.picking import count, document, error_text, mapping, mappings, text

LENGTH_FINISH = frozenset({"max_output_tokens"})
"""Reasons of an incomplete response that a token limit cut."""
REFUSAL_FINISH = frozenset({"content_filter"})
"""Reasons of an incomplete response that a filter stopped."""

_TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})
_UNFINISHED = frozenset({"queued", "in_progress", "cancelled"})

# Paths that end in a word as common as this one are of many APIs; a prefix, or an id's own shape, tells.
_POST = re.compile(r"(?:.*/(?:v\d+|openai|codex|serving-endpoints))?/responses/?")
_GET = re.compile(r".*/responses/resp_[^/]+/?")


class OpenAIResponses:
    """The dialect of `POST …/responses`, and of `GET …/responses/resp_…`, where a background response is fetched."""

    name = "openai-responses"
    version = 1
    operation = "responses"

    def speaks(self, method: str, url: str) -> bool:
        """Tell by method and path; not what only manages responses: their cancelling, deleting, items, compaction."""
        pattern = {"POST": _POST, "GET": _GET}.get(method)
        return pattern is not None and pattern.fullmatch(urlsplit(url).path) is not None

    def model_asked(self, request: Request) -> str | None:
        """Return the `model` of the body; a fetch names none."""
        return model_asked(request)

    def is_terminal(self, event: Event) -> bool:
        """Tell whether an event is the one with the response as it ended."""
        return event_kind(event) in _TERMINAL

    def read(self, request: Request, response: Response) -> Reading:
        """Take the answer out of a response, or put it together from the events of a stream.

        A response that is still under way, or was cancelled, has an answer without choices: there is nothing to judge
        in it.
        """
        if not framing(response.headers, response.body):
            body = document(response.body)
            found = _reading(body)
            unfinished = found.answer is not None and text(body.get("status")) in _UNFINISHED
            return replace(found, answer=Answer()) if unfinished else found
        streamed = events(response)
        body = _assembled([(event_kind(event), document(event.data)) for event in streamed])
        return _reading(body, stream_error(streamed), terminal=is_whole(streamed, self.is_terminal, _is_own))

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return `text.format`'s schema and those of the functions; enforced only where `strict` is true.

        Where a function leaves `strict` out, the API may hold the model to a stricter schema than the one it was sent.
        """
        asked = document(request.body)
        return (*_text_promises(asked), *_tool_promises(asked.get("tools")))

    def is_length(self, choice: Choice) -> bool:
        """Tell whether a token limit cut the answer."""
        return choice.finish in LENGTH_FINISH

    def is_refusal(self, choice: Choice) -> bool:
        """Tell whether the model refused, or a filter stopped it."""
        return bool(choice.refusal) or choice.finish in REFUSAL_FINISH


DIALECT = OpenAIResponses()


def _is_own(event: Event) -> bool:
    return event_kind(event).startswith(("response.", "error"))


_CLIENT_TOOLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "computer_call": "action",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "tool_search_call": "arguments",
    "mcp_approval_request": "arguments",
}
"""Items that ask the program to do something, to the field that says what; other calls run at the provider."""

_DELTAS = {
    "response.output_text.delta": ("content", "content_index", "text"),
    "response.refusal.delta": ("content", "content_index", "refusal"),
    "response.reasoning_text.delta": ("content", "content_index", "text"),
    "response.reasoning_summary_text.delta": ("summary", "summary_index", "text"),
}
"""An event's type to (list of the item, index in it, field) that its delta adds to."""
_ITEM_DELTAS = {
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
}
"""An event's type to the field of the item that its delta adds to."""


def _assembled(parts: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Put the response together as it would have come unstreamed: the last event has it whole, if it has its items."""
    body: dict[str, Any] = {}
    items: dict[int, _Item] = {}
    for kind, part in parts:
        body |= mapping(part.get("response"))
        index = count(part.get("output_index")) or 0
        if kind in ("response.output_item.added", "response.output_item.done"):
            items[index] = _Item(mapping(part.get("item")))
        elif kind in _DELTAS or kind in _ITEM_DELTAS:
            items.setdefault(index, _Item({})).add(kind, part)
    # Some servers leave the items out of the last event.
    if items and not mappings(body.get("output")):
        body["output"] = [items[index].done() for index in sorted(items)]
    return body


class _Item:
    """One item of the output, filled by its deltas."""

    def __init__(self, start: dict[str, Any]) -> None:
        self._start = start
        self._pieces: dict[tuple[str, int, str], str] = {}

    def add(self, kind: str, part: dict[str, Any]) -> None:
        """Take in a delta."""
        name, index, field = _DELTAS.get(kind, (_ITEM_DELTAS.get(kind, ""), "", ""))
        place = (name, count(part.get(index)) or 0, field)
        self._pieces[place] = self._pieces.get(place, "") + text(part.get("delta"))

    def done(self) -> dict[str, Any]:
        """Return the item as it would have come whole."""
        item = dict(self._start)
        lists: dict[str, list[dict[str, Any]]] = {}
        for (name, _, field), piece in sorted(self._pieces.items()):
            if field:
                lists.setdefault(name, []).append({field: piece})
            else:
                item[name] = piece
        return item | lists


def _reading(body: dict[str, Any], error: str | None = None, *, terminal: bool = True) -> Reading:
    usage = mapping(body.get("usage"))
    return Reading(
        answer=Answer((_choice(body),)) if isinstance(body.get("output"), list) else None,
        error=error_text(body.get("error")) or error or ("failed" if body.get("status") == "failed" else None),
        terminal=terminal,
        model=text(body.get("model")) or None,
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
    )


def _choice(body: dict[str, Any]) -> Choice:
    output = mappings(body.get("output"))
    said, thought, refused = _said(output)
    calls = tuple(_tool_call(item) for item in output if _asks_program(item))
    status = text(body.get("status"))
    finish = text(mapping(body.get("incomplete_details")).get("reason")) or ("" if status in _UNFINISHED else status)
    return Choice(said or None, calls, finish or None, refused or None, thought or None)


def _said(output: list[dict[str, Any]]) -> tuple[str, str, str]:
    """Return (text, reasoning, refusal). Commentary on the way to a final answer counts as reasoning."""
    messages = [item for item in output if item.get("type") == "message"]
    has_final = any(item.get("phase") == "final_answer" for item in messages)
    said = thought = refused = ""
    for item in output:
        parts = mappings(item.get("content"))
        words = "".join(text(part.get("text")) for part in parts)
        if item.get("type") == "reasoning":
            thought += "".join(text(part.get("text")) for part in mappings(item.get("summary"))) + words
        elif item.get("type") == "message":
            refused += "".join(text(part.get("refusal")) for part in parts)
            if has_final and item.get("phase") == "commentary":
                thought += words
            else:
                said += words
    return said, thought, refused


def _asks_program(item: dict[str, Any]) -> bool:
    kind = text(item.get("type"))
    if kind == "tool_search_call":
        return item.get("execution") == "client"
    # A shell call without an environment is of the time before containers.
    hosted = kind == "shell_call" and mapping(item.get("environment")).get("type") == "container_reference"
    return kind in _CLIENT_TOOLS and not hosted


def _tool_call(item: dict[str, Any]) -> ToolCall:
    kind = text(item.get("type"))
    given = item.get(_CLIENT_TOOLS[kind])
    if kind == "function_call":
        return function_call(item)
    if kind == "mcp_approval_request":
        # Named for what is asked, not for the tool that the provider would run: that is no function of the request.
        return ToolCall(kind, {"server_label": item.get("server_label"), "name": item.get("name"), "arguments": given})
    if kind == "computer_call" and given is None:
        given = item.get("actions")
    return ToolCall(text(item.get("name")) or kind.removesuffix("_call"), given)


def _text_promises(asked: dict[str, Any]) -> Iterator[Promise]:
    wanted = mapping(mapping(asked.get("text")).get("format"))
    if wanted.get("type") == "json_schema":
        yield from text_promise(wanted.get("name"), wanted.get("schema"), wanted.get("strict"))


def _tool_promises(tools: Any) -> Iterator[Promise]:
    for tool in mappings(tools):
        if tool.get("type") == "namespace":
            yield from _tool_promises(tool.get("tools"))
        elif tool.get("type") == "function":
            yield from function_promises([tool])

"""Mistral's conversations, whole or streamed as events. Its chat, its agents and its FIM are OpenAI chat's twins.

Source: the types of the mistralai package 3.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from onetake.dialects import Promise, Reading
from onetake.dialects.answered import body_error, event_kind, function_call, is_kind, is_whole
from onetake.dialects.asked import format_promise, function_promises
from onetake.events import Event, events, framing
from onetake.model import Answer, Choice, Request, Response
from onetake.picking import count, document, mapping, mappings, text

_PATH = re.compile(".*/v1/conversations(?:/[^/]+(?:/restart)?)?")
_MESSAGE, _CALL, _HANDOFF = "message.output", "function.call", "agent.handoff"
_DONE = "conversation.response.done"


class MistralConversations:
    """The dialect of `POST …/v1/conversations`, of what continues one and of what restarts one."""

    name = "mistral-conversations"
    version = 1
    operation = "conversation"

    def speaks(self, method: str, url: str) -> bool:
        """Tell by the path, on any host, under any prefix.

        OpenAI makes its conversations, which hold no answers, at the same path.
        """
        return method == "POST" and _PATH.fullmatch(urlsplit(url).path.rstrip("/")) is not None

    def model_asked(self, request: Request) -> str | None:
        """Return the `model` of the body, else its `agent_id`; one that continues names neither."""
        asked = document(request.body)
        return text(asked.get("model")) or text(asked.get("agent_id")) or None

    def is_terminal(self, event: Event) -> bool:
        """Tell whether an event is `conversation.response.done`."""
        return is_kind(event, _DONE)

    def read(self, request: Request, response: Response) -> Reading:
        """Take the answer out of a response, or put it together from the events of a stream.

        All messages of the answer are one text; tools that ran at the provider are envelope. There is no finish word.
        """
        if not framing(response.headers, response.body):
            return _reading(document(response.body))
        streamed = events(response)
        body = _assembled(document(event.data) for event in streamed)
        return _reading(body, terminal=is_whole(streamed, self.is_terminal, _is_own))

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return the schemas of `completion_args` and of the functions; enforced only where `strict` is true."""
        return tuple(_promises(document(request.body)))

    def is_length(self, choice: Choice) -> bool:
        """Return False: an answer does not say that a limit cut it."""
        return False

    def is_refusal(self, choice: Choice) -> bool:
        """Return whether there is a refusal: this API has no word for one."""
        return bool(choice.refusal)


DIALECT = MistralConversations()


def _is_own(event: Event) -> bool:
    return event_kind(event).startswith(("conversation.", "message.output", "function.call", "tool.", "agent."))


def _assembled(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Put the response together as it would have come unstreamed."""
    body: dict[str, Any] = {}
    outputs: dict[tuple[int, str], dict[str, Any]] = {}
    for part in parts:
        kind = text(part.get("type"))
        if kind in (f"{_MESSAGE}.delta", f"{_CALL}.delta"):
            place = count(part.get("output_index")) or 0, text(part.get("id"))
            _add(outputs.setdefault(place, {"type": kind.removesuffix(".delta"), "content": []}), part)
        elif kind == f"{_HANDOFF}.done":
            outputs[count(part.get("output_index")) or 0, text(part.get("id"))] = {"type": _HANDOFF}
        elif kind == _DONE:
            body["usage"] = part.get("usage")
        elif kind == "conversation.response.error":
            body["error"] = {"message": text(part.get("message")) or kind}
    if outputs or "usage" in body:
        body["outputs"] = [outputs[place] for place in sorted(outputs, key=lambda place: place[0])]
    return body


def _add(output: dict[str, Any], delta: dict[str, Any]) -> None:
    content = delta.get("content")
    output["content"].append({"type": "text", "text": content} if isinstance(content, str) else content)
    output["arguments"] = text(output.get("arguments")) + text(delta.get("arguments"))
    for name in ("name", "model"):
        output[name] = output.get(name) or delta.get(name)


def _reading(body: dict[str, Any], *, terminal: bool = True) -> Reading:
    outputs = body.get("outputs")
    usage = mapping(body.get("usage"))
    return Reading(
        answer=_answer(mappings(outputs)) if isinstance(outputs, list) else _none_of_ours(body),
        error=body_error(body),
        terminal=terminal,
        model=next((model for output in mappings(outputs) if (model := text(output.get("model")))), None),
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
    )


def _none_of_ours(body: dict[str, Any]) -> Answer | None:
    # OpenAI's: a contract has nothing to judge in it, and should not refuse it either.
    return Answer() if body.get("object") == "conversation" else None


def _answer(outputs: list[dict[str, Any]]) -> Answer:
    # A turn that ends so asks the program to go on with another agent: it holds nothing to judge yet.
    handed_over = bool(outputs) and outputs[-1].get("type") == _HANDOFF
    return Answer() if handed_over else Answer((_choice(outputs),))


def _choice(outputs: list[dict[str, Any]]) -> Choice:
    said, thought = "", ""
    for output in outputs:
        content = output.get("content") if output.get("type") == _MESSAGE else None
        said += text(content)
        for chunk in mappings(content):
            said += text(chunk.get("text"))
            thought += "".join(text(piece.get("text")) for piece in mappings(chunk.get("thinking")))
    calls = [output for output in outputs if output.get("type") == _CALL]
    return Choice(text=said or None, tool_calls=tuple(map(function_call, calls)), reasoning=thought or None)


def _promises(asked: dict[str, Any]) -> Iterator[Promise]:
    yield from format_promise(mapping(asked.get("completion_args")).get("response_format"))
    yield from function_promises(mappings([tool.get("function") for tool in mappings(asked.get("tools"))]))

"""Ollama's own API, chat and generate, whole or streamed as newline-delimited JSON.

Source: the types of the ollama package 0.6; https://github.com/ollama/ollama/blob/main/docs/api.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from onetake.dialects import Promise, Reading
from onetake.dialects.answered import function_call, is_whole
from onetake.dialects.asked import text_promise, tool_promise
from onetake.events import Event, events, framing
from onetake.model import Answer, Choice, Request, Response
from onetake.picking import count, document, error_text, mapping, mappings, text

LENGTH_FINISH = frozenset({"length"})
"""Reasons of an answer that a token limit cut."""
NOT_ASKED = frozenset({"load", "unload"})
"""Reasons of a response to a request that only put the model into memory, or out of it: it says nothing."""


class Ollama:
    """The dialect of `POST …/api/chat` and `POST …/api/generate`."""

    name = "ollama"
    version = 1
    operation = "chat"

    def speaks(self, method: str, url: str) -> bool:
        """Tell whether the path ends in `/api/chat` or `/api/generate`, on any host, under any prefix."""
        return method == "POST" and urlsplit(url).path.rstrip("/").endswith(("/api/chat", "/api/generate"))

    def model_asked(self, request: Request) -> str | None:
        """Return the `model` of the body."""
        return text(document(request.body).get("model")) or None

    def is_terminal(self, event: Event) -> bool:
        """Tell whether a line says `done`."""
        return "done" in event.data and document(event.data).get("done") is True

    def read(self, request: Request, response: Response) -> Reading:
        """Take the answer out of a response, or put it together from the lines of a stream."""
        if not framing(response.headers, response.body):
            return _reading([document(response.body)])
        streamed = events(response)
        terminal = is_whole(streamed, self.is_terminal, _is_own)
        return _reading([document(event.data) for event in streamed], terminal=terminal)

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return the schema in `format`, which is always enforced, and the tools', which never are."""
        return tuple(_promises(document(request.body)))

    def is_length(self, choice: Choice) -> bool:
        """Tell whether a token limit cut the answer."""
        return choice.finish in LENGTH_FINISH

    def is_refusal(self, choice: Choice) -> bool:
        """Return whether there is a refusal: this API has no word for one."""
        return bool(choice.refusal)


DIALECT = Ollama()


def _is_own(event: Event) -> bool:
    return not {"done", "error"}.isdisjoint(document(event.data))


def _reading(parts: list[dict[str, Any]], *, terminal: bool = True) -> Reading:
    last = parts[-1] if parts else {}
    return Reading(
        answer=_answer(parts),
        error=next((found for part in parts if (found := error_text(part.get("error")))), None),
        terminal=terminal,
        model=next((model for part in parts if (model := text(part.get("model")))), None),
        input_tokens=count(last.get("prompt_eval_count")),
        output_tokens=count(last.get("eval_count")),
    )


def _answer(parts: list[dict[str, Any]]) -> Answer | None:
    messages = [said for part in parts if (said := _message(part)) is not None]
    is_image = any(text(part.get("image")) for part in parts)
    if is_image and not any(text(message.get("content")) for message in messages):
        return Answer()
    if not messages:
        return None
    finish = next((word for part in reversed(parts) if (word := text(part.get("done_reason")))), "")
    if finish in NOT_ASKED:
        return Answer()
    calls = [call.get("function") for message in messages for call in mappings(message.get("tool_calls"))]
    choice = Choice(
        text="".join(text(message.get("content")) for message in messages) or None,
        # It sends arguments as an object; what imitates it may send their text.
        tool_calls=tuple(map(function_call, mappings(calls))),
        finish=finish or None,
        reasoning="".join(text(message.get("thinking")) for message in messages) or None,
    )
    return Answer((choice,))


def _message(part: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a response or a line says, in the shape of a chat's message; None where it says nothing."""
    if isinstance(message := part.get("message"), dict):
        return message
    if not isinstance(part.get("response"), str):
        return None
    return {"content": part["response"], "thinking": part.get("thinking")}


def _promises(asked: dict[str, Any]) -> Iterator[Promise]:
    yield from text_promise(mapping(asked.get("format")).get("title"), asked.get("format"), strict=True)
    for tool in mappings(asked.get("tools")):
        function = mapping(tool.get("function"))
        yield from tool_promise(function.get("name"), function.get("parameters"), strict=False)

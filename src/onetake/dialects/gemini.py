"""Gemini's content generation, at the Gemini API and at Vertex, whole or streamed as events or as one array.

Source: the types of google-genai 3.6; https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote, urlsplit

from onetake.dialects import Promise, Reading
from onetake.dialects.answered import stream_error
from onetake.dialects.asked import text_promise, tool_promise
from onetake.dialects.gemini_calls import Calls
from onetake.dialects.gemini_schema import json_schema
from onetake.dialects.gemini_words import LENGTH_FINISH, REFUSAL_FINISH, block_word, finish_word
from onetake.events import Event, events, framing
from onetake.model import Answer, Choice, Request, Response
from onetake.picking import count, document, error_text, mapping, mappings, text, value_or_text

_VERTEX = re.compile("/(?:projects|publishers)/")
_MODEL = re.compile(r".*/(?:models/|(?=tunedModels/|endpoints/))([^:]+):[A-Za-z]+")
_PROMISING = frozenset({"ANY", "VALIDATED"})
"""Modes of function calling in which the provider says that calls keep to their schemas."""


class Gemini:
    """The dialect of `POST …:generateContent` and `POST …:streamGenerateContent`."""

    name = "gemini"
    version = 1
    operation = "generate"

    def speaks(self, method: str, url: str) -> bool:
        """Tell whether the path ends in either verb, on any host, under any prefix (Vertex's projects)."""
        path = unquote(urlsplit(url).path)
        return method == "POST" and path.endswith((":generateContent", ":streamGenerateContent"))

    def model_asked(self, request: Request) -> str | None:
        """Return the model of the path; a tuned one or an endpoint keeps its kind: `tunedModels/mine`."""
        found = _MODEL.fullmatch(unquote(urlsplit(request.url).path))
        return found[1] if found else None

    def is_terminal(self, event: Event) -> bool:
        """Tell whether a chunk says why every candidate in it ended, or that the prompt was blocked.

        The stream has no other mark of its end. `read` knows whether other candidates are still to come. Where a server
        gives a reason in every chunk, the stream counts as finished from the first on.
        """
        if "eason" not in event.data:
            return False
        part = document(event.data)
        candidates = mappings(part.get("candidates"))
        ended = [bool(finish_word(candidate.get("finishReason"))) for candidate in candidates]
        return bool(_blocked(part)) or (bool(ended) and all(ended))

    def read(self, request: Request, response: Response) -> Reading:
        """Take the answer out of a response, or put it together from the chunks of a stream.

        The thoughts count as output, and what tools of the provider brought up as input, as both are billed: together
        they are the provider's total.
        """
        asked = document(request.body)
        wanted = count(_field(mapping(_field(asked, "generationConfig")), "candidateCount"))
        path = unquote(urlsplit(request.url).path)
        vertex = _VERTEX.search(path) is not None
        if not framing(response.headers, response.body):
            # Errors of a stream may come as an array of one.
            body = value_or_text(response.body.decode("utf-8", "surrogateescape"))
            is_empty = body == [] and path.endswith(":streamGenerateContent")
            return replace(_reading(mappings([body]) or mappings(body), vertex), terminal=not is_empty)
        streamed = events(response)
        return _reading(
            [document(event.data) for event in streamed],
            vertex,
            stream_error(streamed),
            max(wanted or 1, 1),
        )

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return the response's schema and those of the functions, all as JSON Schema.

        The response's is enforced with `responseMimeType: application/json`; a function's, in the modes in which
        the provider guarantees it.
        """
        return tuple(_promises(document(request.body)))

    def is_length(self, choice: Choice) -> bool:
        """Tell whether a token limit cut the candidate."""
        return choice.finish in LENGTH_FINISH

    def is_refusal(self, choice: Choice) -> bool:
        """Tell whether the prompt or the candidate was blocked."""
        return bool(choice.refusal) or choice.finish in REFUSAL_FINISH


DIALECT = Gemini()


@dataclass(slots=True)
class _Gathered:
    """One candidate, filled by its chunks, or by its only one."""

    vertex: bool
    said: str = ""
    thought: str = ""
    finish: str = ""
    why: str = ""
    calls: Calls = field(default_factory=Calls)

    def add(self, candidate: dict[str, Any]) -> None:
        """Take in a chunk's candidate. Code that ran at the provider, and what it printed, is envelope."""
        for part in mappings(mapping(candidate.get("content")).get("parts")):
            if part.get("thought") is True:
                self.thought += text(part.get("text"))
            else:
                self.said += text(part.get("text"))
            if isinstance(call := part.get("functionCall"), dict):
                self.calls.add(call)
        self.finish = finish_word(candidate.get("finishReason"), vertex=self.vertex) or self.finish
        self.why = text(candidate.get("finishMessage")) or self.why

    def done(self) -> Choice:
        """Return the choice."""
        return Choice(
            text=self.said or None,
            tool_calls=self.calls.done(),
            finish=self.finish or None,
            # It says other things too: that functions were called.
            refusal=(self.why or None) if self.finish in REFUSAL_FINISH else None,
            reasoning=self.thought or None,
        )


def _blocked(part: dict[str, Any]) -> str:
    feedback = mapping(part.get("promptFeedback"))
    word = block_word(feedback.get("blockReason"))
    return (text(feedback.get("blockReasonMessage")) or word) if word else ""


def _reading(parts: list[dict[str, Any]], vertex: bool, error: str | None = None, wanted: int = 0) -> Reading:
    """Read the chunks; the stream is at its end once as many candidates as *wanted* say why they ended."""
    gathered: dict[int, _Gathered] = {}
    usage: dict[str, Any] = {}
    for part in parts:
        candidates = mappings(part.get("candidates"))
        # Of those that are numbered, number 0 may go without.
        numbered = any("index" in candidate for candidate in candidates)
        for position, candidate in enumerate(candidates):
            index = count(candidate.get("index")) or (0 if numbered else position)
            gathered.setdefault(index, _Gathered(vertex)).add(candidate)
        usage |= mapping(part.get("usageMetadata"))  # each chunk has the totals so far, some leave the prompt's out
    choices = [gathered[index].done() for index in sorted(gathered)]
    ended = len(choices) >= wanted and all(choice.finish for choice in choices)
    if blocked := next(filter(None, map(_blocked, parts)), ""):
        choices = [replace(choice, refusal=choice.refusal or blocked) for choice in choices or [Choice()]]
    return Reading(
        answer=Answer(tuple(choices)) if choices else None,
        error=next((found for part in parts if (found := error_text(part.get("error")))), error),
        terminal=not wanted or ended or bool(blocked),
        model=next((model for part in parts if (model := text(part.get("modelVersion")))), None),
        input_tokens=_sum(usage, "promptTokenCount", "toolUsePromptTokenCount"),
        output_tokens=_sum(usage, "candidatesTokenCount", "thoughtsTokenCount"),
    )


def _sum(usage: dict[str, Any], *names: str) -> int | None:
    told = [count(usage.get(name)) for name in names]
    known = [number for number in told if number is not None]
    return sum(known) if known else None


def _promises(asked: dict[str, Any]) -> Iterator[Promise]:
    wanted = mapping(_field(asked, "generationConfig"))
    kind = text(_field(wanted, "responseMimeType"))
    schema = _schema(wanted, "responseSchema", "responseJsonSchema")
    # The answer to an enum's schema is a bare word, no JSON.
    if schema is not None and kind != "text/x.enum":
        yield from text_promise(schema.get("title"), schema, strict=kind == "application/json")
    calling = mapping(_field(mapping(_field(asked, "toolConfig")), "functionCallingConfig"))
    enforced = text(calling.get("mode")).upper() in _PROMISING
    for tool in mappings(asked.get("tools")):
        for function in mappings(_field(tool, "functionDeclarations")):
            schema = _schema(function, "parameters", "parametersJsonSchema")
            yield from tool_promise(function.get("name"), schema, strict=enforced)


def _schema(holder: dict[str, Any], own: str, plain: str) -> dict[str, Any] | None:
    if isinstance(schema := _field(holder, own), dict):
        return json_schema(schema)
    schema = _field(holder, plain)
    return schema if isinstance(schema, dict) else None


def _field(holder: dict[str, Any], name: str) -> Any:
    """Return a field of a request, which may be spelled in snake case."""
    value = holder.get(name)
    return holder.get(re.sub("([A-Z])", r"_\1", name).lower()) if value is None else value

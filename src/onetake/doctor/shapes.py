"""The shape of an answer: what a parser that was written for another one stumbles over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from onetake import dialects, events
from onetake.model import Answer, Choice, Request, Response, header

_FIELD = re.compile(r"\[\[ ## (\w{1,40}) ## \]\]")
"""How dspy asks a model to mark the fields of its answer."""
_TAG = re.compile(r"^<([A-Za-z_]\w{0,40})>", re.MULTILINE)
_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?```\s*", re.DOTALL)
_LONGEST = 1 << 20
"""Bytes of a text whose fields are looked at."""
_MANY = 6
_NULL = "null"


@dataclass(frozen=True, slots=True)
class Shape:
    """What an answer is made of.

    Args:
        kind: `JSON`, `text`, `a call of NAME`, `streamed …`.
        fields: Its fields, and what kind of value each holds; a null may stand for any.
    """

    kind: str
    fields: Mapping[str, str] = field(default_factory=dict)

    def is_like(self, other: Shape) -> bool:
        """Tell whether a parser of the one takes the other: the same fields, of the same kinds."""
        if (self.kind, self.fields.keys()) != (other.kind, other.fields.keys()):
            return False
        return all(
            _NULL in (value, other.fields[name]) or value == other.fields[name] for name, value in self.fields.items()
        )

    def __str__(self) -> str:
        if not self.fields:
            return self.kind
        names = list(self.fields)
        more = f", … {len(names) - _MANY} more" if len(names) > _MANY else ""
        return f"{self.kind} {{{', '.join(names[:_MANY])}{more}}}"


def distinct(shapes: Iterable[Shape]) -> list[Shape]:
    """Return shapes of which none is like another, in order."""
    found: list[Shape] = []
    for shape in shapes:
        if not any(shape.is_like(one) for one in found):
            found.append(shape)
    return found


def shape_of(request: Request, response: Response) -> Shape:
    """Return the shape of the answer in a response."""
    if response.status >= 400:
        return Shape(f"status {response.status}")
    dialect = dialects.find(request.method, request.url)
    answer = dialect.read(request, response).answer if dialect else None
    streamed = "streamed " if events.framing(response.headers, response.body[:512]) else ""
    if answer is None or not answer.choices:
        return _of_body(response, streamed)
    promised = next((one for one in (dialect.promises(request) if dialect else ()) if one.on == "text"), None)
    one = _of_answer(answer, promised.schema if promised else None)
    return Shape(streamed + one.kind, one.fields)


def said_by(request: Request, response: Response) -> Answer | bytes:
    """Return what a response says, without its ids and times where its API is known; else its bytes."""
    dialect = dialects.find(request.method, request.url)
    answer = dialect.read(request, response).answer if dialect and response.status < 400 else None
    return answer if answer is not None and answer.choices else response.body


def _of_answer(answer: Answer, schema: Mapping[str, Any] | None) -> Shape:
    choice: Choice = answer.choices[0]
    if choice.tool_calls:
        calls = {call.name: call.arguments for call in choice.tool_calls}
        fields = {f"{name}.{key}": kind for name, value in calls.items() for key, kind in _fields(value).items()}
        return Shape(f"a call of {', '.join(sorted(calls))}", fields)
    if choice.refusal:
        return Shape("a refusal")
    if schema is not None and isinstance(properties := schema.get("properties"), Mapping):
        return Shape("JSON", dict.fromkeys(sorted(map(str, properties)), _NULL))
    return _of_text(choice.text or "")


def _of_text(text: str) -> Shape:
    text = text[:_LONGEST]
    fenced = _FENCE.fullmatch(text)
    if fenced is not None or text.lstrip()[:1] in ("{", "["):
        try:
            return _of_json("JSON", json.loads(fenced[1] if fenced else text))
        except (ValueError, RecursionError):
            pass
    if fields := dict.fromkeys(sorted(set(_FIELD.findall(text)) - {"completed"}), _NULL):
        return Shape("text with fields", fields)
    if tags := dict.fromkeys(sorted(set(_TAG.findall(text))), _NULL):
        return Shape("text with tags", tags)
    return Shape("text")


def _of_body(response: Response, streamed: str) -> Shape:
    media = (header(response.headers, "content-type") or "").partition(";")[0].strip().lower()
    if streamed:
        return Shape(f"{streamed}{media or 'events'}")
    if not response.body:
        return Shape("nothing")
    try:
        return _of_json("JSON", json.loads(response.body))
    except (ValueError, RecursionError):
        return Shape(media or "bytes")


def _of_json(kind: str, value: Any) -> Shape:
    if isinstance(value, list):
        return Shape(f"{kind} list", _fields(value[0]) if value else {})
    return Shape(kind, _fields(value)) if isinstance(value, dict) else Shape(f"{kind} {_kind(value)}")


def _fields(value: Any) -> dict[str, str]:
    return {name: _kind(value[name]) for name in sorted(value)} if isinstance(value, dict) else {}


def _kind(value: Any) -> str:
    match value:
        case None:
            return _NULL
        case bool():
            return "boolean"
        case str():
            return "text"
        case list():
            return "list"
        case dict():
            return "object"
    return "number"

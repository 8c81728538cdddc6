"""Conversations in requests: what was said so far, and which of it the model said, as the answer to an earlier request.

Most APIs keep no state: each request of a conversation repeats all that came before it. So an earlier request stands in
a later one as its beginning, and what the model answered to it stands behind that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import groupby
from math import inf
from typing import Any

from onetake.dialects import Dialect
from onetake.events import events, framing
from onetake.key import canonical
from onetake.model import Choice, Request, Response
from onetake.picking import document, mapping, text, value_or_text
from onetake.strictjson import NotStrictError

_JSON = (("content-type", "application/json"),)
_MODEL_ROLES = frozenset(("assistant", "model"))
_UNSAID = frozenset(("cache_control", "cachePoint"))
"""Fields of a message that say nothing, and that clients move from one to the next as a conversation grows."""
_TEXTS = frozenset(("text", "input_text", "output_text"))
_TEXT_PART = {"type", "text"}
_OPENING = ("system", "instructions", "systemInstruction", "system_instruction", "previous_response_id", "conversation")
"""Fields beside the messages that belong to what was said."""
_RESPONSES = "openai-responses"

Item = Mapping[str, Any]
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def _blocks(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _output(item: Item) -> Item:
    return item if "type" in item else {**item, "type": "message", "content": _blocks(item.get("content"))}


def _invoked(message: Item, asked: Item) -> dict[str, Any]:
    is_anthropic = "anthropic_version" in asked
    return {"content": _blocks(message.get("content"))} if is_anthropic else {"output": {"message": message}}


_ANSWERS: Mapping[str, tuple[str, Callable[[Sequence[Item], Item], dict[str, Any]]]] = {
    "openai-chat": ("messages", lambda said, _: {"choices": [{"message": said[0]}]}),
    _RESPONSES: ("input", lambda said, _: {"output": [_output(item) for item in said]}),
    "anthropic-messages": ("messages", lambda said, _: {"content": _blocks(said[0].get("content"))}),
    "bedrock-converse": ("messages", lambda said, _: {"output": {"message": said[0]}}),
    "bedrock-invoke": ("messages", lambda said, asked: _invoked(said[0], asked)),
    "gemini": ("contents", lambda said, _: {"candidates": [{"content": said[0]}]}),
    "ollama": ("messages", lambda said, _: {"message": said[0], "done": True}),
    "cohere-chat": ("messages", lambda said, _: {"message": {**said[0], "content": _blocks(said[0].get("content"))}}),
}
"""Of each dialect that has conversations in its requests: the field, and how an answer that stands in it came."""

_FOLLOWS = b'"previous_response_id"'
_MARKS: Mapping[str, tuple[bytes, ...]] = {
    "gemini": (b'"model"',),
    _RESPONSES: (b'"assistant"', b'_call"', _FOLLOWS),
}


@dataclass(frozen=True, slots=True)
class Words:
    """What the model said, as far as a later request repeats it: no ids, no reasoning, and no spacing.

    Args:
        text: Without space around it; JSON in canonical form.
        calls: The tool calls, each as canonical JSON of its name and arguments.
    """

    text: str
    calls: frozenset[str]

    def may_be(self, answer: Words) -> bool:
        """Tell whether a program may have made these words of an answer: left some of it out, or added to it."""
        texts = self.text, answer.text
        is_alike = not self.text or (bool(answer.text) and (texts[0] in texts[1] or texts[1] in texts[0]))
        return is_alike and self.calls <= answer.calls


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model said at one place of a conversation.

    Args:
        before: The digest of all that stands before it: the state of the conversation that it was the answer in.
        after: The digest of all up to its end.
        said: The message; or the items.
    """

    before: bytes
    after: bytes
    said: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a request says of a conversation.

    Args:
        state: The digest of all of it.
        turns: What the model said in it, in order.
        follows: The id of the response that it goes on from at the provider; empty where it names none.
    """

    state: bytes
    turns: tuple[Turn, ...]
    follows: str


def repeats(dialect: str, body: bytes) -> bool:
    """Tell, by a look at its bytes alone, whether a request may repeat an answer, or go on from one.

    Args:
        dialect: Its dialect, as an entry names it: `openai-chat/1`.
        body: Its body.
    """
    return any(mark in body for mark in _MARKS.get(dialect.partition("/")[0], (b'"assistant"',)))


def length(body: bytes) -> float:
    """Return, by a look at its bytes alone, a number that is greater for a request that repeats all of another one.

    Infinite where it may go on from another one by its id.
    """
    return inf if _FOLLOWS in body else body.count(b'"role"') + body.count(b'"call_id"')


@lru_cache(64)
def has_conversations(dialect: str | None) -> bool:
    """Tell whether requests of a dialect say what was said before; it is named as an entry does."""
    return (dialect or "").partition("/")[0] in _ANSWERS


def conversation(dialect: Dialect, request: Request) -> Conversation | None:
    """Return the conversation in a request; None where it has none."""
    asked = document(request.body)
    items = asked.get(_ANSWERS[dialect.name][0]) if dialect.name in _ANSWERS else None
    if isinstance(items, str) and dialect.name == _RESPONSES:
        items = [{"role": "user", "content": items}]
    if not isinstance(items, list):
        return None
    opening = [dialect.name, dialect.model_asked(request), *(_plain(asked.get(name)) for name in _OPENING)]
    made = sha256(_dumped(opening))
    turns = []
    for is_said, group in _grouped(items, together=dialect.name == _RESPONSES):
        before = made.digest()
        for item in group:
            made.update(_said(item))
        if is_said:
            turns.append(Turn(before, made.digest(), tuple(group)))
    return Conversation(made.digest(), tuple(turns), text(asked.get("previous_response_id")))


def words_in(dialect: Dialect, request: Request, turn: Turn) -> Words | None:
    """Return what the model said in a turn, as the dialect reads it; None where it reads nothing."""
    came = _ANSWERS[dialect.name][1](turn.said, document(request.body))
    answer = dialect.read(request, Response(200, _JSON, _dumped(came))).answer
    return words_of(answer.choices[0]) if answer and answer.choices else None


def words_of(choice: Choice) -> Words:
    """Return what a choice of an answer says."""
    said = (choice.text or choice.refusal or "").strip()
    found = value_or_text(said) if said[:1] in ("{", "[") else said
    calls = (_canonical([call.name, call.arguments]) for call in choice.tool_calls)
    return Words(found if isinstance(found, str) else _canonical(found), frozenset(calls))


def response_id(response: Response) -> str:
    """Return the id that a later request may go on from; empty where there is none.

    Args:
        response: One of the API of OpenAI's responses.
    """
    if not framing(response.headers, response.body):
        return text(document(response.body).get("id"))
    said = (mapping(document(event.data).get("response")) for event in events(response))
    return next((found for one in said if (found := text(one.get("id")))), "")


def _grouped(items: Sequence[Any], *, together: bool) -> Iterator[tuple[bool, Sequence[Item]]]:
    """Yield whether the model said it, and one message; or all items *together* that it gave in one answer."""
    for is_said, group in groupby(map(mapping, items), _is_said):
        if together:
            yield is_said, list(group)
        else:
            yield from ((is_said, [item]) for item in group)


def _is_said(item: Item) -> bool:
    kind = text(item.get("type"))
    return text(item.get("role")) in _MODEL_ROLES or kind == "reasoning" or kind.endswith("_call")


def _said(item: Item) -> bytes:
    """Return what a message says, however it is written: its text alone or in parts, its type named or not."""
    if isinstance(content := item.get("content"), str) and len(item) == 2:
        return _dumped([item.get("role"), content])
    plain: dict[str, Any] = _plain(dict(item))
    if plain.get("type") == "message":
        del plain["type"]
    parts = plain.get("content")
    if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict) and parts[0].keys() == _TEXT_PART:
        plain["content"] = parts[0]["text"]
    is_short = len(plain) == 2 and isinstance(plain.get("content"), str)
    return _dumped([plain.get("role"), plain["content"]] if is_short else plain)


def _plain(value: Any) -> Any:
    """Leave out what says nothing."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {name: _plain(one) for name, one in value.items() if name not in _UNSAID}
    return {**found, "type": "text"} if text(found.get("type")) in _TEXTS else found


def _canonical(value: Any) -> str:
    try:
        return canonical.dumps(canonical.loads(_dumped(value)))
    except NotStrictError:
        return json.dumps(value, sort_keys=True)


def _dumped(value: Any) -> bytes:
    return _ENCODE(value).encode()

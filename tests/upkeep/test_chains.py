"""Which entries hold an answer that no entry gives any more, in the shapes of the APIs that carry conversations."""

from __future__ import annotations

import json

import pytest

from onetake.model import Request, Response
from onetake.testing.provider import (
    anthropic_message,
    anthropic_stream,
    bedrock_converse,
    cohere_message,
    gemini_content,
    ollama_message,
    openai_chat,
    openai_response,
    openai_response_stream,
    openai_stream,
)
from onetake.upkeep.checking import check
from onetake.upkeep.findings import Severity
from onetake.upkeep.statuses import status

OLD, NEW = "2026-03-01T10:00:00Z", "2026-03-02T10:00:00Z"
CALL = ("look", {"place": "Oslo", "days": 2})


def came(reply):
    return Response(reply.status, reply.headers, b"".join(reply.pieces))


class Api:
    """One API: where its requests go, and how a program goes on from an answer."""

    def __init__(self, url, reply, history, said, asks, body):
        self.url, self.reply = url, reply
        self.history, self.said, self.asks, self.body = history, said, asks, body

    def talk(self, answers, *, calls=(), until=9):
        """Return the calls of a conversation: each answer that came is repeated in the next request."""
        items, made = [], []
        for number, text in enumerate(answers):
            items = [*items, *self.asks(f"question {number}")]
            body = json.dumps({**self.body, self.history: items}).encode()
            request = Request("POST", self.url, (("content-type", "application/json"),), body)
            response = came(self.reply(text, tools=list(calls)) if calls else self.reply(text))
            made.append((request, response))
            items = [*items, *self.said(json.loads(response.body) if response.body[:1] == b"{" else text)]
        return made[:until]


def user(text):
    return [{"role": "user", "content": text}]


CHAT = Api(
    "https://api.openai.com/v1/chat/completions",
    openai_chat,
    "messages",
    lambda body: [body["choices"][0]["message"]],
    user,
    {"model": "m"},
)
APIS = {
    "chat": CHAT,
    "chat-stream": Api(
        CHAT.url, openai_stream, "messages", lambda text: [{"role": "assistant", "content": text}], user, {"model": "m"}
    ),
    "anthropic": Api(
        "https://api.anthropic.com/v1/messages",
        anthropic_message,
        "messages",
        lambda body: [{"role": "assistant", "content": body["content"]}],
        user,
        {"model": "m", "max_tokens": 99, "system": "Be brief."},
    ),
    "anthropic-stream": Api(
        "https://api.anthropic.com/v1/messages",
        anthropic_stream,
        "messages",
        lambda text: [{"role": "assistant", "content": text}],
        lambda text: [{"role": "user", "content": [{"type": "text", "text": text}]}],
        {"model": "m", "max_tokens": 99, "stream": True},
    ),
    "responses": Api(
        "https://api.openai.com/v1/responses", openai_response, "input", lambda body: body["output"], user, {"model": "m"}
    ),
    "gemini": Api(
        "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
        gemini_content,
        "contents",
        lambda body: [body["candidates"][0]["content"]],
        lambda text: [{"role": "user", "parts": [{"text": text}]}],
        {},
    ),
    "ollama": Api(
        "http://127.0.0.1:11434/api/chat",
        ollama_message,
        "messages",
        lambda body: [body["message"]],
        user,
        {"model": "m", "stream": False},
    ),
    "converse": Api(
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse",
        bedrock_converse,
        "messages",
        lambda body: [body["output"]["message"]],
        lambda text: [{"role": "user", "content": [{"text": text}]}],
        {},
    ),
    "cohere": Api(
        "https://api.cohere.com/v2/chat",
        cohere_message,
        "messages",
        lambda body: [{"role": "assistant", "content": body["message"]["content"]}],
        user,
        {"model": "m"},
    ),
}


@pytest.fixture
def store(folder):
    """Return a function that records calls, each at its moment; returns the files in the order of the calls."""

    def record(calls, at=OLD, *, mode="new_episodes", where="cassettes/test_a/test_b"):
        paths = []
        for request, response in calls:
            before = {path: path.read_bytes() for path in (folder.root / where).glob("*.json")}
            folder.record((request, response), contract=None, folder=where, mode=mode)
            new = [path for path in (folder.root / where).glob("*.json") if before.get(path) != path.read_bytes()]
            folder.rewrite(*new, recorded_at=at)
            paths += new
        return paths

    return record


def chained(folder):
    return [(one.path, one.origin) for one in status(folder.root).chained]


@pytest.mark.parametrize("api", APIS.values(), ids=APIS)
def test_what_holds_the_old_answer_is_named_when_turn_1_is_recorded_again(folder, store, api):
    first, second, third = store(api.talk(["Good day.", "It rains.", "Bye."]))
    assert chained(folder) == []
    store(api.talk(["Hello there!"]), NEW, mode="all")
    assert chained(folder) == [(second, first), (third, first)]

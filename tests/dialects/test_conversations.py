"""What a request says of its conversation."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake import dialects
from onetake.dialects.conversations import (
    Words,
    conversation,
    has_conversations,
    length,
    repeats,
    response_id,
    words_in,
    words_of,
)
from onetake.model import Choice, Request, Response, ToolCall
from onetake.testing.provider import openai_response, openai_response_stream

CHAT = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"
ANTHROPIC = "https://api.anthropic.com/v1/messages"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"
ASKED = {"role": "user", "content": "Hi"}


def request(url, **body):
    return Request("POST", url, (("content-type", "application/json"),), json.dumps(body).encode())


def read(url, **body):
    asked = request(url, **body)
    return conversation(dialects.find("POST", url), asked)


def said(url, **body):
    """Return the words of each turn in a request."""
    asked, dialect = request(url, **body), dialects.find("POST", url)
    return [words_in(dialect, asked, turn) for turn in conversation(dialect, asked).turns]


def test_an_earlier_request_stands_before_the_turn():
    first = read(CHAT, model="m", messages=[ASKED])
    later = read(CHAT, model="m", messages=[ASKED, {"role": "assistant", "content": "Hello"}, ASKED], temperature=0)
    (turn,) = later.turns
    assert (first.turns, turn.before, turn.after == later.state) == ((), first.state, False)


@pytest.mark.parametrize(
    "other",
    [
        {"model": "n", "messages": [ASKED]},
        {"model": "m", "messages": [{"role": "system", "content": "Hi"}]},
        {"model": "m", "messages": [{"role": "user", "content": "Hi "}]},
        {"model": "m", "messages": [ASKED, ASKED]},
        {"model": "m", "messages": [ASKED], "system": "Be brief."},
    ],
)
def test_another_model_or_message_is_another_state(other):
    assert read(ANTHROPIC, model="m", messages=[ASKED]).state != read(ANTHROPIC, **other).state


@pytest.mark.parametrize(
    ("url", "one", "other"),
    [
        (CHAT, {"messages": [ASKED]}, {"messages": [{"content": [{"type": "text", "text": "Hi"}], "role": "user"}]}),
        (RESPONSES, {"input": "Hi"}, {"input": [ASKED]}),
        (RESPONSES, {"input": [ASKED]}, {"input": [{"type": "message", **ASKED}]}),
        (RESPONSES, {"input": "Hi"}, {"input": [{**ASKED, "content": [{"type": "input_text", "text": "Hi"}]}]}),
        (
            ANTHROPIC,
            {"messages": [ASKED]},
            {
                "messages": [
                    {**ASKED, "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]}
                ]
            },
        ),
    ],
)
def test_one_message_in_several_spellings_is_one_state(url, one, other):
    assert read(url, model="m", **one).state == read(url, model="m", **other).state


CALLED = frozenset({'["look",{"place":"Oslo"}]'})
TURNS = {
    "chat": (
        CHAT,
        "messages",
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": '{"place": "Oslo"}'}}],
            }
        ],
        Words("", CALLED),
    ),
    "responses": (
        RESPONSES,
        "input",
        [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"place":"Oslo"}'},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]},
        ],
        Words("So.", CALLED),
    ),
    "responses in short": (RESPONSES, "input", [{"role": "assistant", "content": " So.\n"}], Words("So.", frozenset())),
    "anthropic": (
        ANTHROPIC,
        "messages",
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "So."},
                    {"type": "tool_use", "id": "1", "name": "look", "input": {"place": "Oslo"}},
                ],
            }
        ],
        Words("So.", CALLED),
    ),
    "gemini": (
        GEMINI,
        "contents",
        [{"role": "model", "parts": [{"text": "So."}, {"functionCall": {"name": "look", "args": {"place": "Oslo"}}}]}],
        Words("So.", CALLED),
    ),
}


@pytest.mark.parametrize(("url", "field", "items", "words"), TURNS.values(), ids=TURNS)
def test_a_turn_is_read_as_the_answer_that_it_was(url, field, items, words):
    assert said(url, model="m", **{field: [ASKED, *items, ASKED]}) == [words]


def test_each_message_of_the_model_is_a_turn_but_items_of_one_answer_are_one():
    two = [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert [one.text for one in said(CHAT, model="m", messages=[ASKED, *two])] == ["a", "b"]
    assert [one.text for one in said(RESPONSES, model="m", input=[ASKED, *two])] == ["ab"]


def test_words_are_equal_whatever_the_spacing_of_their_json():
    assert words_of(Choice('{"a": 1.0, "b": []}')) == words_of(Choice(' {"b":[],"a":1}\n'))
    assert words_of(Choice("[1] is it")) != words_of(Choice("[1]"))
    call, other = ToolCall("look", {"a": 1}), ToolCall("look", {"a": "1"})
    assert words_of(Choice(None, (call,))) != words_of(Choice(None, (other,)))


@pytest.mark.parametrize(
    ("words", "answer", "expected"),
    [
        ("one", "think: one", True),
        ("I say one", "one", True),
        ("one", "two", False),
        ("one", "", False),
        ("", "x", True),
    ],
)
def test_words_may_be_a_part_of_an_answer_or_hold_it(words, answer, expected):
    assert Words(words, frozenset()).may_be(Words(answer, frozenset({"c"}))) is expected
    assert Words(words, frozenset({"d"})).may_be(Words(answer, frozenset({"c"}))) is False


def test_the_id_of_a_response_is_read_whole_and_streamed():
    for made in (openai_response("Hi"), openai_response_stream("Hi")):
        body = b"".join(made.pieces)
        assert response_id(Response(200, made.headers, body)).encode() in body
        assert response_id(Response(200, made.headers, body)).startswith("resp_")
    assert response_id(Response(200, (), b"[]")) == ""


def test_what_is_no_conversation_is_none():
    assert read(CHAT, model="m") is None
    assert read("https://api.openai.com/v1/embeddings", model="m", input="Hi") is None
    assert (has_conversations("openai-chat/1"), has_conversations(None), has_conversations("function/1")) == (
        True,
        False,
        False,
    )


def test_a_look_at_the_bytes_tells_what_may_repeat_an_answer():
    first, later = (
        request(CHAT, messages=[ASKED]),
        request(CHAT, messages=[ASKED, {"role": "assistant", "content": "Hi"}, ASKED]),
    )
    assert [repeats("openai-chat/1", one.body) for one in (first, later)] == [False, True]
    assert length(first.body) < length(later.body)
    following = request(RESPONSES, input="Hi", previous_response_id="resp_1").body
    assert (repeats("openai-responses/1", following), length(following)) == (True, float("inf"))
    assert repeats("gemini/1", request(GEMINI, contents=[{"role": "model", "parts": []}]).body)


LEAF = st.none() | st.booleans() | st.integers() | st.sampled_from(["", "assistant", "model", "text", "[1", "{}"])
NAMES = ("role", "type", "content", "parts", "text", "tool_calls", "function", "toolUse", "functionCall", "message")
ANY = st.recursive(
    LEAF,
    lambda held: st.lists(held, max_size=3) | st.dictionaries(st.sampled_from(NAMES), held, max_size=4),
    max_leaves=9,
)
URLS = (CHAT, RESPONSES, ANTHROPIC, GEMINI, "http://127.0.0.1:1/api/chat", "https://api.cohere.com/v2/chat",
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse",
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke")  # fmt: skip


@given(st.sampled_from(URLS), st.lists(ANY | st.dictionaries(st.sampled_from(NAMES), ANY, max_size=5), max_size=5))
def test_odd_bodies_are_read_without_an_error(url, items):
    words = said(url, messages=items, input=items, contents=items)
    assert all(one is None or isinstance(one.text, str) for one in words)

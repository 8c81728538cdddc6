"""Which differences may be adopted, which with care, and which never."""

from __future__ import annotations

import json

import pytest

from onetake.key import Keyer
from onetake.model import Request
from onetake.upkeep.cautions import cautions, refusal
from onetake.upkeep.operations import operations, tree_of

CHAT = "https://api.openai.com/v1/chat/completions"
BASE = {"model": "gpt-5", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": {"type": "object"}}}
TOOL = {"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}}
OTHER_TOOL = {"type": "function", "function": {"name": "u", "parameters": {"type": "object"}}}


def request(body, url=CHAT, *headers):
    return Request("POST", url, (("content-type", "application/json"), *headers), json.dumps(body).encode())


def judged(old, new):
    found = operations(*(tree_of(Keyer().parts(one)) for one in (old, new)))
    assert found
    return refusal(found, old, new), cautions(found)


def told(old, new):
    return judged(request({**BASE, **old}), request({**BASE, **new}))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"store": False}),
        ({}, {"service_tier": "auto"}),
        ({"user": "a"}, {"user": "b"}),
        ({"metadata": {"sdk": "1"}}, {"metadata": {"sdk": "2"}}),
        ({"user": "a"}, {}),
        ({}, {"stream": False}),
        ({}, {"temperature": None}),
        ({}, {"reasoning": None}),
    ],
)
def test_a_field_that_no_answer_hangs_on_is_adopted_without_a_word(old, new):
    assert told(old, new) == ("", ())


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ({}, {"model": "gpt-6"}, "another model"),
        ({}, {"stream": True}, "as a stream"),
        ({"stream": True}, {}, "in one piece"),
        ({"stream": True}, {"stream": False}, "in one piece"),
        ({"temperature": 0}, {"temperature": 1}, "a parameter"),
        ({"max_tokens": 5}, {}, "a parameter"),
        ({}, {"response_format": SCHEMA}, "schema"),
        ({"response_format": SCHEMA}, {"response_format": {"type": "json_object"}}, "schema"),
        ({}, {"tools": [TOOL]}, "schema or the tools"),
        ({"tools": [TOOL]}, {"tools": [OTHER_TOOL]}, "schema or the tools"),
        ({"text": {}}, {"text": {"format": SCHEMA}}, "schema"),
        ({"tools": [TOOL, OTHER_TOOL]}, {"tools": [TOOL]}, "schema or the tools"),
    ],
)
def test_what_makes_another_answer_is_refused(old, new, word):
    assert word in told(old, new)[0]


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ({}, {"messages": [{"role": "system", "content": "Be very brief."}, BASE["messages"][1]]}, "prompt"),
        ({}, {"messages": [*BASE["messages"], {"role": "user", "content": "And?"}]}, "prompt"),
        ({}, {"temperature": 1}, "temperature"),
        ({}, {"stream_options": {"include_usage": True}}, "events"),
        ({"tools": [TOOL, OTHER_TOOL]}, {"tools": [OTHER_TOOL, TOOL]}, "order"),
    ],
)
def test_what_may_make_another_answer_is_told(old, new, word):
    why, said = told(old, new)
    assert why == ""
    assert word in " ".join(said)


def test_headers_and_query():
    with_beta = request(BASE, CHAT, ("anthropic-beta", "a"))
    assert judged(request(BASE), with_beta) == ("", ())
    assert judged(with_beta, request(BASE, CHAT, ("anthropic-beta", "b")))[1] == ("a header has another value",)
    assert judged(request(BASE, CHAT + "?v=1"), request(BASE, CHAT + "?v=2"))[1] == ("a query has another value",)


@pytest.mark.parametrize(
    ("new", "word"),
    [
        (request(BASE, "https://other.example/v1/chat/completions"), "another host"),
        (request(BASE, "https://api.openai.com/v1/responses"), "another call"),
        (Request("PUT", CHAT, (("content-type", "application/json"),), json.dumps(BASE).encode()), "another call"),
        (Request("POST", CHAT, (("content-type", "text/plain"),), b"x"), "whole content"),
    ],
)
def test_another_call_is_refused(new, word):
    assert word in judged(request(BASE), new)[0]


def test_a_promise_that_no_list_names_is_refused_too():
    gemini = "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent"
    old = {"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {"responseMimeType": "application/json"}}
    new = {**old, "generationConfig": {**old["generationConfig"], "responseSchema": {"type": "OBJECT"}}}
    assert "schema" in judged(request(old, gemini), request(new, gemini))[0]

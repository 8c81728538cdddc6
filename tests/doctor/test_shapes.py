"""The shapes of answers."""

from __future__ import annotations

import json

import pytest

from onetake.doctor.shapes import Shape, distinct, said_by, shape_of
from onetake.model import Request, Response

URL = "https://api.openai.com/v1/chat/completions"
JSON = (("content-type", "application/json"),)


def answer(message, *, body=None, status=200, headers=JSON, **asked):
    """Return a chat call and its answer."""
    content = {"id": "1", "choices": [{"message": {"role": "assistant", **message}, "finish_reason": "stop"}]}
    request = Request("POST", URL, JSON, json.dumps({"model": "m", "messages": [], **asked}).encode())
    return request, Response(status, headers, json.dumps(content).encode() if body is None else body)


def call(name, arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]}


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"content": "Well."}, "text"),
        ({"content": '{"a": 1, "b": "x"}'}, "JSON {a, b}"),
        ({"content": '```json\n{"a": 1}\n```'}, "JSON {a}"),
        ({"content": '[{"a": 1}]'}, "JSON list {a}"),
        ({"content": "{not json"}, "text"),
        ({"content": "[[ ## b ## ]]\nx\n[[ ## a ## ]]\ny\n[[ ## completed ## ]]"}, "text with fields {a, b}"),
        ({"content": "<label>x</label>"}, "text with tags {label}"),
        (call("add", {"b": 1, "a": 2}), "a call of add {add.a, add.b}"),
        ({"content": None, "refusal": "no"}, "a refusal"),
        ({"content": json.dumps(dict.fromkeys("abcdefgh"))}, "JSON {a, b, c, d, e, f, … 2 more}"),
    ],
)
def test_the_shape_of_what_a_model_said(message, words):
    assert str(shape_of(*answer(message))) == words


def test_a_schema_that_was_asked_for_is_the_shape():
    schema = {"type": "object", "properties": {"b": {}, "a": {}}}
    asked = {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}}
    assert str(shape_of(*answer({"content": '{"a": 1}'}, **asked))) == "JSON {a, b}"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"body": b"", "status": 429}, "status 429"),
        ({"body": b""}, "nothing"),
        ({"body": b'{"a": 1}'}, "JSON {a}"),
        ({"body": b"\xff", "headers": (("content-type", "audio/mpeg"),)}, "audio/mpeg"),
        ({"body": b"[" * 9999}, "application/json"),
    ],
)
def test_the_shape_of_other_bodies(given, words):
    assert str(shape_of(*answer({}, **given))) == words


def test_shapes_are_alike_by_fields_and_their_kinds_and_a_null_is_like_any():
    first = Shape("JSON", {"a": "text"})
    assert first.is_like(Shape("JSON", {"a": "null"}))
    assert not first.is_like(Shape("JSON", {"a": "list"}))
    assert not first.is_like(Shape("JSON", {"a": "text", "b": "text"}))
    assert not first.is_like(Shape("text"))
    assert distinct([first, Shape("text"), Shape("JSON", {"a": "null"})]) == [first, Shape("text")]


def test_ids_are_no_part_of_what_was_said():
    one = answer({"content": "x"})
    other = one[0], Response(200, JSON, one[1].body.replace(b'"id": "1"', b'"id": "2"'))
    assert said_by(*one) == said_by(*other)
    assert said_by(*one) != said_by(*answer({"content": "y"}))
    assert said_by(Request("GET", "https://x.y/z"), Response(200, (), b"a")) == b"a"

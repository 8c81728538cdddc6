"""What an API puts around an answer."""

import json
from dataclasses import replace

import pytest

from onetake.testing.provider import (
    anthropic_stream,
    bytes_reply,
    json_reply,
    openai_embeddings,
    openai_stream,
    stream_reply,
)

MESSAGES = "https://api.anthropic.com/v1/messages"
EMBEDDINGS = "https://api.openai.com/v1/embeddings"
SPEECH = "https://api.openai.com/v1/audio/speech"


def event(kind, **data):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def test_how_many_events_there_are_of_a_kind_and_keep_alives_make_no_difference(beside, found):
    old, new = anthropic_stream("one"), anthropic_stream("one two three four five six seven")
    assert len(old.pieces) < len(new.pieces)
    ping = event("ping")
    without = [piece for piece in new.pieces if piece != ping]
    for number in range(len(without)):
        pieces = (*without[:number], b": keep-alive\n\n", ping, ping, *without[number:])
        assert found(beside(old, replace(new, pieces=pieces), url=MESSAGES)) == []


def test_kinds_of_events_that_went_or_came_and_another_order_are_found(beside, found):
    first, second, third = event("a", x=1), event("b", x=1), event("c", x=1)
    end = event("message_stop")
    events = {
        name: stream_reply(made)
        for name, made in {
            "abc": [first, second, third, end],
            "ac": [first, third, end],
            "acb": [first, third, second, end],
            "abcb": [first, second, second, third, second, end],
        }.items()
    }
    assert found(beside(events["abc"], events["ac"], url=MESSAGES)) == [("warning", "events", "events", "b", None)]
    assert found(beside(events["ac"], events["abc"], url=MESSAGES)) == [("info", "events", "events", None, "b")]
    assert found(beside(events["abc"], events["acb"], url=MESSAGES)) == [
        ("warning", "events", "events", "a, b, c, message_stop", "a, c, b, message_stop")
    ]
    assert found(beside(events["abc"], events["abcb"], url=MESSAGES)) == []


def test_a_field_of_an_event_is_named_with_its_kind(beside, found):
    old, new = ([event("a", x=1), event("b", x=[1]), event("message_stop")] for _ in range(2))
    new[1] = event("b", x="1")
    assert found(beside(stream_reply(old), stream_reply(new), url=MESSAGES)) == [
        ("error", "type", "events.b$.x", "array", "string")
    ]


def test_chunks_that_have_no_name_of_their_own_are_called_by_their_object(beside, found):
    old = openai_stream("a b c")
    new = replace(old, pieces=tuple(piece.replace(b'"created":', b'"made":') for piece in old.pieces))
    assert [one[2] for one in found(beside(old, new))] == [
        "events.chat.completion.chunk$.created",
        "events.chat.completion.chunk$.made",
    ]


def test_a_stream_without_its_last_mark_lacks_it(beside, found):
    old = openai_stream("a b c")
    listed = found(beside(old, replace(old, pieces=old.pieces[:-1])))
    assert ("warning", "events", "events", "[DONE]", None) in listed


def test_answers_without_words_are_compared_by_their_shape(beside, found):
    old = openai_embeddings(["a", "b"], as_base64=False)
    assert found(beside(old, openai_embeddings(["c", "d"], as_base64=False), url=EMBEDDINGS)) == []
    packed = openai_embeddings(["a", "b"], as_base64=True)
    assert found(beside(old, packed, url=EMBEDDINGS)) == [("error", "type", "$.data[*].embedding", "array", "string")]


@pytest.mark.parametrize(("kind", "expected"), [("audio/mpeg", []), ("audio/wav", ["audio/mpeg", "audio/wav"])])
def test_a_body_of_bytes_is_compared_by_its_media_type(beside, found, kind, expected):
    compared = beside(bytes_reply(b"\xff\xf3a", "audio/mpeg"), bytes_reply(b"\xff\xf3b", kind), url=SPEECH)
    assert [list(one[3:]) for one in found(compared)] == ([expected] if expected else [])


def test_a_call_of_an_api_that_nobody_knows_is_compared_by_its_shape(beside, found):
    old, new = json_reply({"rows": [{"a": 1}]}), json_reply({"rows": {"a": 1}})
    assert found(beside(old, new, url="https://db.example/query")) == [("error", "type", "$.rows", "array", "object")]

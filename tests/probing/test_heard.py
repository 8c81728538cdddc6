"""One answer as it is compared."""

import gzip
from pathlib import Path

import pytest

from onetake.model import Request, Response
from onetake.probing.heard import NOTHING, hear
from onetake.testing.provider import openai_chat, openai_stream

ASKED = Request("POST", "https://api.openai.com/v1/chat/completions", body=b"{}")


def heard(status=200, headers=(("content-type", "application/json"),), body=b""):
    return hear(ASKED, Response(status, headers, body), (), Path())


@pytest.fixture
def said(response):
    reply = openai_chat("Hello", tool_calls=[("a", {"x": 1}), ("b", [2])], finish="length")
    return hear(ASKED, response(reply), (), Path())


def test_what_is_said_and_of_what_make_the_answer_is(said):
    assert said.said() == ["Hello", {"x": 1}, [2]]
    assert said.parts() == {"text", "tool_calls"}
    assert said.make() == {"text", "tool_calls", "is_length"}
    assert heard().make() == set()


def test_how_a_body_is_framed(response, said):
    assert said.container() == "JSON" and said.events() == []
    streamed = hear(ASKED, response(openai_stream("a b")), (), Path())
    assert streamed.container() == "sse" and len(streamed.events()) > 2
    assert heard(headers=(("content-type", "Text/HTML; charset=utf-8"),), body=b"<p>").container() == "text/html"
    assert heard(headers=(), body=b"\x00").container() == "bytes of no type"


@pytest.mark.parametrize(
    ("body", "value"),
    [(b"[1]", [1]), (b"{}", {}), (b"null", None), (b'{"a": 1}', {"a": 1}), (b"{", NOTHING), (b"", NOTHING)],
)
def test_the_json_of_a_body(body, value):
    assert heard(body=body).document() == value


def test_a_body_is_read_without_its_content_encoding():
    headers = (("content-type", "application/json"), ("content-encoding", "gzip"))
    assert heard(headers=headers, body=gzip.compress(b'{"a": 1}')).document() == {"a": 1}
    assert heard(headers=headers, body=b'{"a": 1}').document() == {"a": 1}, "a client undid it"

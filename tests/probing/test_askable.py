"""Which stored requests hang on what is not in them."""

from __future__ import annotations

import json

import pytest

from onetake import dialects
from onetake.key_specs import current
from onetake.model import Cut, Entry, Request, Response
from onetake.probing.askable import why_not, with_model

OPENAI = "https://api.openai.com/v1"


def entry(body, url=f"{OPENAI}/responses", method="POST", **fields):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = Request(method, url, (("content-type", "application/json"),), content)
    verdict, response = fields.pop("verdict", "good"), fields.pop("response", Response(200))
    return Entry(verdict, request, response, "0" * 64, 0, current({}), **fields)


CHAT = {"model": "m", "messages": [{"role": "user", "content": "file_id: file-1"}]}


def test_what_hangs_on_the_provider_is_not_asked():
    assert why_not(entry(CHAT)) == ""
    assert "previous_response_id" in why_not(entry({"model": "m", "input": "x", "previous_response_id": "resp_1"}))


@pytest.mark.parametrize(
    ("url", "method", "why"),
    [
        ("function:app.label", "CALL", "no request reaches it"),
        (f"{OPENAI}/responses/resp_1", "GET", "fetches what the provider keeps"),
        (f"{OPENAI}/files", "POST", "asks no model"),
        (f"{OPENAI}/batches", "POST", "asks no model"),
        ("https://api.openai.com/dashboard", "DELETE", "asks no model"),
        ("https://api.mistral.ai/v1/conversations/conv_1", "POST", "a conversation"),
    ],
)
def test_what_is_no_question_to_a_model_is_never_sent(url, method, why):
    assert why in why_not(entry(CHAT, url, method))


def test_a_scrubbed_prompt_is_not_asked_and_a_credential_that_was_taken_out_is_no_matter():
    taken = ("request.headers.authorization", "request.url?key", "response.body$.id")
    assert why_not(entry(CHAT, scrubbed=taken)) == ""
    assert why_not(entry(CHAT, scrubbed=(*taken, "request.body$.messages[0].content"))) == (
        "a secret was taken out of what it asks, at $.messages[0].content"
    )
    assert "its address" in why_not(entry(CHAT, f"{OPENAI}/chat/completions?tenant=%5Bsecret%201%5D"))


def test_an_import_without_its_body_is_not_asked():
    assert "without the body" in why_not(entry(b"", extra={"loose": True}))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"verdict": "left:12"}, "left:12"),
        ({"verdict": "kept:status:429"}, "429"),
        ({"verdict": "kept:cut"}, "cut"),
        ({"verdict": "reject:json"}, "a reject"),
        ({"response": Response(302, (("location", "/x"),))}, "302"),
        ({"response": Response(200, cut=Cut.PROVIDER)}, "no whole answer"),
    ],
)
def test_what_holds_no_whole_answer_has_nothing_to_be_compared(fields, said):
    assert said in why_not(entry(CHAT, **fields))
    assert why_not(entry(CHAT, verdict="kept:length")) == ""


@pytest.mark.parametrize(
    ("url", "body"),
    [
        (f"{OPENAI}/chat/completions", b'{"messages": [],  "model" : "m-1", "top_p": 0.50}'),
        ("https://generativelanguage.googleapis.com/v1beta/models/m-1:generateContent?alt=sse", b'{"contents": []}'),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/model/m-1%3A0/converse", b"{}"),
    ],
)
def test_another_model_is_put_in_and_all_else_stays(url, body):
    request = Request("POST", url, (("content-type", "application/json"),), body)
    other = with_model(request, "n-2")
    assert dialects.find("POST", url).model_asked(other) == "n-2"
    assert (other.url + other.body.decode()).replace("n-2", "m-1") == (url + body.decode()).replace("m-1%3A0", "m-1")


@pytest.mark.parametrize(
    "body",
    [b"{}", b'{"model": "m", "tools": [{"model": "m"}]}', b'{"messages": "no model"}'],
)
def test_where_the_model_cannot_be_told_it_is_not_changed(body):
    assert with_model(Request("POST", f"{OPENAI}/chat/completions", (), body), "n") is None

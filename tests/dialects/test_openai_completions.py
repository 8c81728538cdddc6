import json

import pytest

from onetake.dialects import Reading
from onetake.dialects.openai_completions import DIALECT
from onetake.model import Answer, Choice, Request, Response
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import openai_completion, openai_completion_stream

URL = "https://api.openai.com/v1/completions"
JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream"),)
USAGE = {"prompt_tokens": 5, "completion_tokens": 7}
ASKED = Request("POST", URL, body=b'{"model": "gpt-3.5-turbo-instruct", "prompt": "hi"}')


def whole(*choices, **more):
    return Response(200, JSON, json.dumps({"model": "m-1", "choices": choices, **more}).encode())


def stream(*chunks, end="data: [DONE]\n\n"):
    lines = [f"data: {json.dumps({'model': 'm-1', **chunk})}\n\n" for chunk in chunks]
    return Response(200, SSE, ("".join(lines) + end).encode())


def chunk(text, index=0, finish=None):
    return {"choices": [{"text": text, "index": index, "finish_reason": finish}]}


def reading(*choices, **more):
    return Reading(Answer(choices) if choices else None, model="m-1", **more)


CASES = (
    DialectCase(
        "text",
        ASKED,
        reading(Choice("Grüße 👋", finish="stop"), input_tokens=5, output_tokens=7, fingerprint="fp_2"),
        whole=whole({"text": "Grüße 👋", "index": 0, "finish_reason": "stop"}, usage=USAGE, system_fingerprint="fp_2"),
        stream=stream(
            chunk("Grü") | {"system_fingerprint": "fp_2"},
            chunk("ße 👋"),
            chunk("", finish="stop"),
            {"choices": [], "usage": USAGE},
        ),
        model_asked="gpt-3.5-turbo-instruct",
    ),
    DialectCase(
        "two choices, cut by the limit",
        ASKED,
        reading(Choice("one", finish="length"), Choice("two", finish="stop")),
        whole=whole(
            {"text": "two", "index": 1, "finish_reason": "stop"}, {"text": "one", "index": 0, "finish_reason": "length"}
        ),
        stream=stream(chunk("t", 1), chunk("one", 0, "length"), chunk("wo", 1, "stop")),
        model_asked="gpt-3.5-turbo-instruct",
        length=True,
    ),
    DialectCase(
        "stopped by a filter",
        Request("POST", URL, body=b'{"prompt": "x"}'),
        reading(Choice("We", finish="content_filter")),
        whole=whole({"text": "We", "finish_reason": "content_filter"}),
        stream=stream(chunk("We"), chunk("", finish="content_filter")),
        refusal=True,
    ),
    DialectCase(
        "error in the middle",
        ASKED,
        reading(Choice("We"), error="gone", terminal=False),
        stream=stream(chunk("We"), {"error": {"message": "gone"}}, end=""),
        model_asked="gpt-3.5-turbo-instruct",
    ),
    DialectCase(
        "a choice that the provider gave up",
        ASKED,
        reading(Choice("We", finish="error"), error="error"),
        whole=whole({"text": "We", "index": 0, "finish_reason": "error"}),
        stream=stream(chunk("We"), chunk("", finish="error")),
        model_asked="gpt-3.5-turbo-instruct",
    ),
)


class TestOpenAICompletions(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("POST", "https://api.deepseek.com/beta/completions"),
        ("POST", "https://x.openai.azure.com/openai/deployments/d/completions?api-version=2024-06-01"),
        ("POST", "http://localhost:11434/v1/completions/"),
    )
    silent = (
        ("GET", URL),
        ("POST", "https://api.openai.com/v1/chat/completions"),
        ("POST", "https://api.mistral.ai/v1/fim/completions"),
        ("POST", "https://api.mistral.ai/v1/agents/completions"),
        ("POST", "http://127.0.0.1:8080/completions"),
        ("POST", URL + "/cmpl-1"),
    )
    cases = CASES


@pytest.mark.parametrize("ending, terminal, error", [("cut", False, None), ("error", False, "The server stopped")])
def test_a_stream_that_stops(ending, terminal, error):
    reply = openai_completion_stream("one two three four", ending=ending)
    found = DIALECT.read(ASKED, Response(200, reply.headers, reply.body))
    assert (found.terminal, found.error) == (terminal, error)


def test_the_scripted_provider_says_the_same_in_both_forms():
    said = {"model": "m-1", "usage": USAGE, "finish": "length"}
    replies = openai_completion(["one two", "three"], **said), openai_completion_stream(["one two", "three"], **said)
    expected = reading(
        Choice("one two", finish="length"), Choice("three", finish="length"), input_tokens=5, output_tokens=7
    )
    for reply in replies:
        found = DIALECT.read(ASKED, Response(200, reply.headers, reply.body))
        assert found == expected

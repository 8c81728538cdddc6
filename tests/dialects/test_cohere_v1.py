import json

import pytest

from onetake.dialects import Promise, Reading
from onetake.dialects.cohere_v1 import DIALECT
from onetake.events import NDJSON, framing
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import cohere_v1_message, cohere_v1_stream

CHAT = "https://api.cohere.com/v1/chat"
GENERATE = "https://api.cohere.ai/v1/generate"
JSON = (("content-type", "application/json"),)
LINES = (("content-type", "application/stream+json"),)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
META = {"tokens": {"input_tokens": 9, "output_tokens": 3}, "billed_units": {"input_tokens": 2, "output_tokens": 3}}


def asking(url=CHAT, **more):
    return Request("POST", url, body=json.dumps({"model": "command-r", "message": "hi", **more}).encode())


def chat(text, finish="COMPLETE", **more):
    history = [{"role": "CHATBOT", "message": text}]
    return {"text": text, "generation_id": "1", "finish_reason": finish, "chat_history": history, "meta": META, **more}


def generated(*texts, finish="COMPLETE"):
    found = [{"id": "g", "text": text, "finish_reason": finish} for text in texts]
    return {"id": "1", "generations": found, "prompt": "hi", "meta": META}


def whole(body):
    return Response(200, JSON, json.dumps(body, ensure_ascii=False).encode())


def line(kind, *, finished=False, **more):
    data = {"is_finished": finished, "event_type": kind, **more}
    return json.dumps(data, ensure_ascii=False).encode() + b"\n"


def stream(*lines, response, finish="COMPLETE"):
    end = line("stream-end", finished=True, finish_reason=finish, response=response)
    return Response(200, LINES, b"".join([line("stream-start", generation_id="1"), *lines, end]))


def reading(*choices, **more):
    return Reading(Answer(choices), input_tokens=9, output_tokens=3, **more)


CALLS = [{"name": "add", "parameters": {"n": 1}}, {"name": "now", "parameters": {}}]
CASES = (
    DialectCase(
        "text",
        asking(response_format={"type": "json_object", "schema": SCHEMA}),
        reading(Choice("Grüße 👋", finish="COMPLETE")),
        whole=whole(chat("Grüße 👋", citations=[{"text": "nor this"}])),
        stream=stream(
            line("text-generation", text="Grü"),
            line("text-generation", text="ße 👋"),
            line("citation-generation", citations=[{"text": "nor this"}]),
            response=chat("Grüße 👋"),
        ),
        promises=(Promise("text", "", SCHEMA, True),),
        model_asked="command-r",
    ),
    DialectCase(
        "tools",
        asking(tools=[{"name": "add", "parameter_definitions": {"n": {"type": "int", "required": True}}}]),
        reading(Choice("I add.", (ToolCall("add", {"n": 1}), ToolCall("now", {})), finish="COMPLETE")),
        whole=whole(chat("I add.", tool_calls=CALLS)),
        stream=stream(
            line("text-generation", text="I add."),
            line("tool-calls-chunk", tool_call_delta={"index": 0, "name": "add"}),
            line("tool-calls-generation", text="I add.", tool_calls=CALLS),
            response=chat("I add.", tool_calls=CALLS),
        ),
        model_asked="command-r",
    ),
    DialectCase(
        "toxic",
        asking(),
        reading(Choice("He", finish="ERROR_TOXIC")),
        whole=whole(chat("He", "ERROR_TOXIC")),
        stream=stream(line("text-generation", text="He"), response=chat("He", "ERROR_TOXIC"), finish="ERROR_TOXIC"),
        model_asked="command-r",
        refusal=True,
    ),
    DialectCase(
        "the context is full",
        asking(),
        reading(Choice("He", finish="ERROR_LIMIT")),
        whole=whole(chat("He", "ERROR_LIMIT")),
        model_asked="command-r",
        length=True,
    ),
    DialectCase(
        "the provider failed under 200",
        asking(),
        reading(Choice("He", finish="ERROR"), error="ERROR"),
        whole=whole(chat("He", "ERROR")),
        stream=stream(line("text-generation", text="He"), response=chat("He", "ERROR"), finish="ERROR"),
        model_asked="command-r",
    ),
    DialectCase(
        "two generations, cut by length",
        asking(GENERATE, num_generations=2),
        reading(Choice("one", finish="MAX_TOKENS"), Choice("two", finish="MAX_TOKENS")),
        whole=whole(generated("one", "two", finish="MAX_TOKENS")),
        stream=stream(
            line("text-generation", text="two", index=1),
            line("text-generation", text="one", index=0),
            response=generated("one", "two", finish="MAX_TOKENS"),
            finish="MAX_TOKENS",
        ),
        model_asked="command-r",
        length=True,
    ),
)


class TestCohereV1(DialectConformance):
    dialect = DIALECT
    speaks = (("POST", CHAT), ("POST", GENERATE), ("POST", "http://127.0.0.1:8080/cohere/v1/chat/"))
    silent = (
        ("GET", CHAT),
        ("POST", "https://api.cohere.com/v2/chat"),
        ("POST", "https://api.cohere.com/v1/embed"),
        ("POST", "https://api.openai.com/v1/chat/completions"),
        ("POST", "https://api.writer.com/v1/chat"),
    )
    cases = CASES


def test_a_stream_without_its_end_says_what_came():
    one = Response(200, LINES, line("text-generation", text="He") + line("text-generation", text="y"))
    two = Response(200, LINES, line("text-generation", text="b", index=1) + line("text-generation", text="a", index=0))
    found = [DIALECT.read(asking(), response) for response in (one, two)]
    assert found == [
        Reading(Answer((Choice("Hey"),)), terminal=False),
        Reading(Answer((Choice("a"), Choice("b"))), terminal=False),
    ]


def test_an_error_line_is_an_error():
    said = line("text-generation", text="He") + line("stream-error", finished=True, err="out of memory")
    assert DIALECT.read(asking(), Response(200, LINES, said)).error == "out of memory"


@pytest.mark.parametrize("make", [cohere_v1_message, cohere_v1_stream])
def test_the_scripted_provider_reads_alike_in_both_forms(make):
    reply = make("a b", tool_calls=[("add", {"n": 1})], usage={"tokens": {"input_tokens": 8, "output_tokens": 7}})
    found = DIALECT.read(asking(), Response(200, reply.headers, reply.body))
    choice = Choice("a b", (ToolCall("add", {"n": 1}),), "COMPLETE")
    assert found == Reading(Answer((choice,)), input_tokens=8, output_tokens=7)


def test_the_scripted_provider_cuts_and_fails():
    cut, failed = cohere_v1_stream("a b c", ending="cut"), cohere_v1_stream("a b c", ending="error")
    found = [DIALECT.read(asking(), Response(200, reply.headers, reply.body)) for reply in (cut, failed)]
    assert [(one.error, one.terminal) for one in found] == [(None, False), ("ERROR", True)]


def test_public_answers_are_read(corpus):
    spoken = [each for each in corpus if DIALECT.speaks(each.request.method, each.request.url)]
    streams = 0
    for each in spoken:
        found = DIALECT.read(each.request, each.response)
        if each.response.status != 200:
            assert found.answer is None, each.file
            continue
        streamed = framing(each.response.headers, each.response.body) == NDJSON
        assert found.answer.choices[0].text and found.answer.choices[0].finish == "COMPLETE", each.file
        assert found.terminal and found.error is None and found.input_tokens and found.output_tokens, each.file
        if streamed:
            said = [json.loads(line) for line in each.response.body.splitlines()]
            pieces = "".join(one["text"] for one in said if one["event_type"] == "text-generation")
            assert found.answer.choices[0].text == pieces, each.file
        streams += streamed
    assert (len(spoken), streams) == (17, 4)

import json

import pytest

from onetake.contract import Contract
from onetake.dialects import Promise, Reading
from onetake.dialects.ollama import DIALECT
from onetake.events import framing
from onetake.gate import judge
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import ollama_error, ollama_message, ollama_stream

CHAT = "http://localhost:11434/api/chat"
GENERATE = "http://localhost:11434/api/generate"
JSON = (("content-type", "application/json; charset=utf-8"),)
NDJSON = (("content-type", "application/x-ndjson"),)
SCHEMA = {"type": "object", "title": "Count", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOL = {"type": "function", "function": {"name": "add", "parameters": SCHEMA}}
END = {"done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 3, "total_duration": 5}


def asking(url=CHAT, **more):
    return Request("POST", url, body=json.dumps({"model": "llama3.2", **more}).encode())


def line(message=None, **more):
    said = {"message": {"role": "assistant", **message}} if message is not None else {}
    return {"model": "llama3.2:1b", "created_at": "2026-01-01T00:00:00Z", **said, "done": False, **more}


def whole(**line):
    return Response(200, JSON, json.dumps(line, ensure_ascii=False).encode())


def stream(*lines):
    return Response(200, NDJSON, b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in lines))


def reading(choice, **more):
    return Reading(Answer((choice,)), **{"model": "llama3.2:1b", "input_tokens": 9, "output_tokens": 3, **more})


CALL = {"function": {"name": "add", "arguments": {"n": 1}}}
CASES = (
    DialectCase(
        "chat with thoughts",
        asking(format=SCHEMA),
        reading(Choice("Grüße 👋", finish="stop", reasoning="a greeting")),
        whole=whole(**line({"content": "Grüße 👋", "thinking": "a greeting"}, **END)),
        stream=stream(
            line({"content": "", "thinking": "a greet"}),
            line({"content": "", "thinking": "ing"}),
            line({"content": "Grüße "}),
            line({"content": "👋"}),
            line({"content": ""}, **END),
        ),
        promises=(Promise("text", "Count", SCHEMA, True),),
        model_asked="llama3.2",
    ),
    DialectCase(
        "generate, cut by length",
        asking(GENERATE, format="json"),
        reading(Choice("So it", finish="length", reasoning="hm")),
        whole=whole(**line(response="So it", thinking="hm", **{**END, "done_reason": "length"})),
        stream=stream(
            line(response="", thinking="hm"),
            line(response="So"),
            line(response=" it"),
            line(response="", context=[1, 2], **{**END, "done_reason": "length"}),
        ),
        model_asked="llama3.2",
        length=True,
    ),
    DialectCase(
        "tools",
        asking(tools=[TOOL]),
        reading(Choice(None, (ToolCall("add", {"n": 1}), ToolCall("now", {})), finish="stop")),
        whole=whole(
            **line({"content": "", "tool_calls": [CALL, {"function": {"name": "now", "arguments": {}}}]}, **END)
        ),
        stream=stream(
            line({"content": "", "tool_calls": [CALL]}),
            line({"content": "", "tool_calls": [{"function": {"index": 1, "name": "now", "arguments": {}}}]}),
            line({"content": ""}, **END),
        ),
        promises=(Promise("tool:add", "add", SCHEMA, False),),
        model_asked="llama3.2",
    ),
    DialectCase(
        "a model is loaded",
        asking(GENERATE),
        Reading(Answer(), model="llama3.2:1b"),
        whole=whole(**line(response="", done=True, done_reason="load")),
        stream=stream(line(response="", done=True, done_reason="load")),
        model_asked="llama3.2",
    ),
    DialectCase(
        "error under 200",
        asking(),
        Reading(error="no model"),
        whole=whole(error="no model"),
        model_asked="llama3.2",
    ),
    DialectCase(
        "error in the middle",
        asking(),
        Reading(Answer((Choice("He"),)), "unexpected EOF", False, "llama3.2:1b"),
        stream=stream(line({"content": "He"}), {"error": "unexpected EOF"}),
        model_asked="llama3.2",
    ),
)


class TestOllama(DialectConformance):
    dialect = DIALECT
    speaks = (("POST", CHAT), ("POST", GENERATE), ("POST", "https://ollama.example/proxy/api/chat/"))
    silent = (
        ("GET", CHAT),
        ("POST", "http://localhost:11434/api/show"),
        ("POST", "http://localhost:11434/api/embed"),
        ("POST", "http://localhost:11434/v1/chat/completions"),
    )
    cases = CASES


def test_br_063_a_cut_stream_is_not_finished():
    found = DIALECT.read(asking(), stream(line({"content": "Hello"})))
    assert found == Reading(Answer((Choice("Hello"),)), terminal=False, model="llama3.2:1b")


def test_an_answer_that_says_done_is_not_its_end():
    said = line({"content": '"done":true'})
    assert not DIALECT.read(asking(), stream(said)).terminal


def test_arguments_that_are_text_are_parsed():
    call = {"function": {"name": "add", "arguments": '{"n": 1}'}}
    found = DIALECT.read(asking(), whole(**line({"content": "", "tool_calls": [call]}, **END)))
    assert found.answer.choices[0].tool_calls == (ToolCall("add", {"n": 1}),)


@pytest.mark.parametrize("generate", [False, True])
@pytest.mark.parametrize("make", [ollama_message, ollama_stream])
def test_the_scripted_provider_reads_alike_in_every_form(make, generate):
    calls = [] if generate else [("add", {"n": 1})]
    reply = make("a b", thought="hm hm", generate=generate, tool_calls=calls, model="m", usage={"eval_count": 7})
    response = Response(200, reply.headers, reply.body)
    assert (framing(response.headers, response.body) is None) is (make is ollama_message)
    tools = tuple(ToolCall(*call) for call in calls)
    assert DIALECT.read(asking(), response) == Reading(
        Answer((Choice("a b", tools, "stop", None, "hm hm"),)), model="m", input_tokens=1, output_tokens=7
    )


def test_the_scripted_provider_cuts_and_fails():
    cut, failed, under_200 = (
        ollama_stream("a b c", ending="cut"),
        ollama_stream("a b c", ending="error"),
        ollama_error(200, "no"),
    )
    found = [DIALECT.read(asking(), Response(200, reply.headers, reply.body)) for reply in (cut, failed, under_200)]
    assert [(bool(one.error), one.terminal) for one in found] == [(False, False), (True, False), (True, True)]


def test_public_answers_are_read(corpus):
    found = [
        (DIALECT.model_asked(each.request), DIALECT.read(each.request, each.response))
        for each in corpus
        if DIALECT.speaks(each.request.method, each.request.url)
    ]
    assert [
        (asked, one.model, one.answer.choices[0].text.split()[0], one.answer.choices[0].finish, one.output_tokens)
        for asked, one in found
    ] == [("llama3.1", "llama3.1", "Hello!", "stop", 23), ("llama3", "llama3", "A", "stop", 58)]
    assert all(one.terminal and one.error is None for _, one in found)


@pytest.mark.parametrize("more", [{}, {"response": ""}])
def test_an_image_is_an_answer_without_choices(tmp_path, more):
    contract = Contract(SCHEMA, name="count")
    last = line(**more, image="iVBO", done=True, done_reason="stop")
    for response in (whole(**last), stream(line(completed=1, total=2), last)):
        found = judge(asking(GENERATE), response, [contract], root=tmp_path)
        assert (found.verdict, found.unjudged, found.reading.answer) == ("good", True, Answer())
    assert DIALECT.read(asking(GENERATE), whole(**line(response="a", image="iVBO", done=True))).answer.choices

import json

import pytest

from onetake import strictjson
from onetake.dialects import Promise, Reading
from onetake.dialects.cohere import DIALECT
from onetake.events import NDJSON, framing
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import cohere_error, cohere_message, cohere_stream

URL = "https://api.cohere.com/v2/chat"
JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream"),)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOL = {"type": "function", "function": {"name": "add", "parameters": SCHEMA}}
USAGE = {
    "billed_units": {"input_tokens": 2, "output_tokens": 3},
    "tokens": {"input_tokens": 9, "output_tokens": 3.0},
}


def asking(**more):
    return Request("POST", URL, body=json.dumps({"model": "command-a", "messages": [], **more}).encode())


def whole(finish="COMPLETE", **message):
    body = {"id": "1", "message": {"role": "assistant", **message}, "finish_reason": finish, "usage": USAGE}
    return Response(200, JSON, json.dumps(body, ensure_ascii=False).encode())


def event(kind, message=None, index=None, **more):
    data = {"type": kind, **({} if index is None else {"index": index}), **more}
    if message is not None:
        data["delta"] = {"message": message}
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def stream(*events, finish="COMPLETE", ended=True, **more):
    start = event("message-start", {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}, id="1")
    end = event("message-end", delta={"finish_reason": finish, "usage": USAGE, **more})
    return Response(200, SSE, b"".join([start, *events, *([end] if ended else [])]))


def block(index, field, *pieces):
    yield event("content-start", {"content": {"type": field, field: ""}}, index)
    for piece in pieces:
        yield event("content-delta", {"content": {field: piece}}, index)
    yield event("content-end", index=index)


def call(index, name, *pieces):
    function = {"name": name, "arguments": ""}
    yield event("tool-call-start", {"tool_calls": {"id": "t", "type": "function", "function": function}}, index)
    for piece in pieces:
        yield event("tool-call-delta", {"tool_calls": {"function": {"arguments": piece}}}, index)
    yield event("tool-call-end", index=index)


def reading(choice, **more):
    return Reading(Answer((choice,)), input_tokens=9, output_tokens=3, **more)


CITED = event("citation-start", {"citations": {"start": 0, "end": 2, "text": "no text of the model"}}, 0)
CASES = (
    DialectCase(
        "text and thinking",
        asking(response_format={"type": "json_object", "json_schema": {**SCHEMA, "title": "Count"}}),
        reading(Choice("Grüße 👋", finish="COMPLETE", reasoning="a greeting")),
        whole=whole(content=[{"type": "thinking", "thinking": "a greeting"}, {"type": "text", "text": "Grüße 👋"}]),
        stream=stream(
            *block(0, "thinking", "a greet", "ing"), *block(1, "text", "Grü", "ße "), CITED, *block(2, "text", "👋")
        ),
        promises=(Promise("text", "Count", {**SCHEMA, "title": "Count"}, True),),
        model_asked="command-a",
    ),
    DialectCase(
        "a plan and tools",
        asking(tools=[TOOL], strict_tools=True),
        reading(
            Choice(
                None, (ToolCall("add", {"n": 1}), ToolCall("now", {})), finish="TOOL_CALL", reasoning="add, then look"
            )
        ),
        whole=whole(
            "TOOL_CALL",
            tool_plan="add, then look",
            tool_calls=[
                {"id": "a", "type": "function", "function": {"name": "add", "arguments": '{"n": 1}'}},
                {"id": "b", "type": "function", "function": {"name": "now", "arguments": "{}"}},
            ],
        ),
        stream=stream(
            event("tool-plan-delta", {"tool_plan": "add, "}),
            event("tool-plan-delta", {"tool_plan": "then look"}),
            *call(0, "add", '{"n"', ": 1}"),
            *call(1, "now", "{}"),
            finish="TOOL_CALL",
        ),
        promises=(Promise("tool:add", "add", SCHEMA, True),),
        model_asked="command-a",
    ),
    DialectCase(
        "cut by length",
        asking(tools=[TOOL]),
        reading(Choice("So", finish="MAX_TOKENS")),
        whole=whole("MAX_TOKENS", content=[{"type": "text", "text": "So"}]),
        stream=stream(*block(0, "text", "So"), finish="MAX_TOKENS"),
        promises=(Promise("tool:add", "add", SCHEMA, False),),
        model_asked="command-a",
        length=True,
    ),
    DialectCase(
        "the provider failed under 200",
        asking(),
        reading(Choice("He", finish="ERROR"), error="ERROR"),
        whole=whole("ERROR", content=[{"type": "text", "text": "He"}]),
        stream=stream(*block(0, "text", "He"), finish="ERROR"),
        model_asked="command-a",
    ),
    DialectCase(
        "the provider says why it failed",
        asking(),
        reading(Choice("He", finish="ERROR"), error="out of memory"),
        stream=stream(*block(0, "text", "He"), finish="ERROR", error="out of memory"),
        model_asked="command-a",
    ),
)


class TestCohere(DialectConformance):
    dialect = DIALECT
    speaks = (("POST", URL), ("POST", "https://api.cohere.ai/v2/chat"), ("POST", "http://127.0.0.1:8080/x/v2/chat/"))
    silent = (
        ("GET", URL),
        ("POST", "https://api.cohere.com/v1/chat"),
        ("POST", "https://api.cohere.com/v2/embed"),
        ("POST", "https://api.cohere.com/compatibility/v1/chat/completions"),
    )
    cases = CASES


def test_br_063_a_cut_stream_is_not_finished():
    found = DIALECT.read(asking(), stream(*block(0, "text", "Hello"), ended=False))
    assert found == Reading(Answer((Choice("Hello"),)), terminal=False)


def test_a_stream_without_event_names_ends_by_its_type():
    named = stream(*block(0, "text", "message-end"))
    bare = b"".join(line for line in named.body.splitlines(True) if not line.startswith(b"event:"))
    assert DIALECT.read(asking(), Response(200, SSE, bare)) == reading(Choice("message-end", finish="COMPLETE"))


@pytest.mark.parametrize(
    ("finish", "length", "refused", "failed"),
    [
        ("COMPLETE", False, False, False),
        ("STOP_SEQUENCE", False, False, False),
        ("TOOL_CALL", False, False, False),
        ("MAX_TOKENS", True, False, False),
        ("ERROR_LIMIT", True, False, False),
        ("ERROR_TOXIC", False, True, False),
        ("ERROR", False, False, True),
        ("TIMEOUT", False, False, True),
    ],
)
def test_finish_words(finish, length, refused, failed):
    found = DIALECT.read(asking(), whole(finish, content=[{"type": "text", "text": "a"}]))
    choice = found.answer.choices[0]
    assert (DIALECT.is_length(choice), DIALECT.is_refusal(choice), bool(found.error)) == (length, refused, failed)


def test_tokens_are_those_billed_where_no_others_are_told():
    body = {"message": {"content": []}, "usage": {"billed_units": {"input_tokens": 4.0, "output_tokens": 2.5}}}
    found = DIALECT.read(asking(), Response(200, JSON, json.dumps(body).encode()))
    assert (found.input_tokens, found.output_tokens) == (4, None)


@pytest.mark.parametrize(
    ("wanted", "enforced"),
    [
        ({"type": "json_object", "schema": SCHEMA}, [True]),
        ({"type": "json_object"}, []),
        ({"type": "text", "json_schema": SCHEMA}, []),
        ({"type": "json_object", "json_schema": "x"}, []),
    ],
)
def test_a_schema_is_promised_with_a_json_answer_only(wanted, enforced):
    assert [promise.enforced for promise in DIALECT.promises(asking(response_format=wanted))] == enforced


@pytest.mark.parametrize("make", [cohere_message, cohere_stream])
def test_the_scripted_provider_reads_alike_in_both_forms(make):
    usage = {"tokens": {"input_tokens": 8, "output_tokens": 7}}
    plain = make("a b", thought="hm hm", usage=usage)
    tools = make(thought="plan it", tool_calls=[("add", {"n": 1})], usage=usage)
    found = [DIALECT.read(asking(), Response(200, reply.headers, reply.body)) for reply in (plain, tools)]
    assert found == [
        Reading(Answer((Choice("a b", finish="COMPLETE", reasoning="hm hm"),)), input_tokens=8, output_tokens=7),
        Reading(
            Answer((Choice(None, (ToolCall("add", {"n": 1}),), "TOOL_CALL", None, "plan it"),)),
            input_tokens=8,
            output_tokens=7,
        ),
    ]


def test_events_as_lines_read_alike():
    said = {"thought": "plan it", "tool_calls": [("add", {"n": 1})]}
    lines, named = (cohere_stream(lines=lines, **said) for lines in (True, False))
    found = [DIALECT.read(asking(), Response(200, reply.headers, reply.body)) for reply in (lines, named)]
    assert framing(lines.headers, lines.body) == NDJSON
    assert found[0] == found[1]
    assert found[0].terminal and found[0].answer.choices[0].tool_calls == (ToolCall("add", {"n": 1}),)


def test_the_scripted_provider_cuts_and_fails():
    cut, failed = cohere_stream("a b c", ending="cut"), cohere_stream("a b c", ending="error")
    found = [DIALECT.read(asking(), Response(200, reply.headers, reply.body)) for reply in (cut, failed)]
    assert [(one.error, one.terminal) for one in found] == [(None, False), ("internal server error", True)]
    assert cohere_error(429).status == 429


def test_public_answers_are_read(corpus):
    spoken = [each for each in corpus if DIALECT.speaks(each.request.method, each.request.url)]
    assert len(spoken) >= 3
    for each in spoken:
        body, found = strictjson.loads(each.response.body), DIALECT.read(each.request, each.response)
        assert framing(each.response.headers, each.response.body) is None
        assert found.answer.choices[0].text == body["message"]["content"][0]["text"], each.file
        assert found.answer.choices[0].finish == "COMPLETE", each.file
        assert found.output_tokens == body["usage"]["tokens"]["output_tokens"], each.file

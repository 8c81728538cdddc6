import json

import pytest

from onetake import strictjson
from onetake.dialects import Promise, Reading
from onetake.dialects.anthropic_messages import DIALECT
from onetake.events import events, framing
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.testing.dialects import DialectCase, DialectConformance

URL = "https://api.anthropic.com/v1/messages"
JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream; charset=utf-8"),)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FORMAT = {"type": "json_schema", "schema": SCHEMA}


def asking(**more):
    return Request(
        "POST", URL, body=json.dumps({"model": "claude-x", "max_tokens": 9, "messages": [], **more}).encode()
    )


def message(*content, stop="end_turn", **more):
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x-1",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 3, "cache_read_input_tokens": 100},
        **more,
    }
    return Response(200, JSON, json.dumps(body, ensure_ascii=False).encode())


def stream(*blocks, stop="end_turn", more=None, ended=True):
    """Each block is (its start, its deltas)."""
    usage = {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 100}
    start = {
        "id": "msg_1",
        "type": "message",
        "model": "claude-x-1",
        "content": [],
        "stop_reason": None,
        "usage": usage,
    }
    said = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, (block, *deltas) in enumerate(blocks):
        said.append({"type": "content_block_start", "index": index, "content_block": block})
        said += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        said.append({"type": "content_block_stop", "index": index})
    stopped = {"stop_reason": stop, "stop_sequence": None, **(more or {})}
    said.append({"type": "message_delta", "delta": stopped, "usage": {"input_tokens": None, "output_tokens": 3}})
    said += [{"type": "message_stop"}] if ended else []
    return Response(200, SSE, b"".join(map(event, said)))


def event(data):
    return f"event: {data['type']}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def text_delta(text):
    return {"type": "text_delta", "text": text}


def input_delta(text):
    return {"type": "input_json_delta", "partial_json": text}


def reading(choice, **more):
    return Reading(Answer((choice,)), model="claude-x-1", input_tokens=9, output_tokens=3, **more)


NO_TEXT = {"type": "text", "text": ""}
CASES = (
    DialectCase(
        "text in two blocks, around a server tool",
        asking(stream=True),
        reading(Choice("Grüße 👋", finish="end_turn")),
        whole=message(
            {"type": "text", "text": "Grüße "},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "hi"}},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"title": "no text of the model"}]},
            {"type": "text", "text": "👋", "citations": [{"cited_text": "nor this"}]},
        ),
        stream=stream(
            (NO_TEXT, text_delta("Grü"), text_delta("ße ")),
            ({"type": "server_tool_use", "name": "web_search", "input": {}}, input_delta('{"query": "hi"}')),
            ({"type": "web_search_tool_result", "content": [{"title": "no text of the model"}]},),
            (NO_TEXT, {"type": "citations_delta", "citation": {"cited_text": "nor this"}}, text_delta("👋")),
        ),
        model_asked="claude-x",
    ),
    DialectCase(
        "thinking and tools",
        asking(tools=[{"name": "add", "input_schema": SCHEMA, "strict": True}, {"name": "now", "input_schema": {}}]),
        reading(
            Choice(None, (ToolCall("add", {"n": 1}), ToolCall("now", {})), finish="tool_use", reasoning="one, then now")
        ),
        whole=message(
            {"type": "thinking", "thinking": "one, then now", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "c2VjcmV0"},
            {"type": "tool_use", "id": "a", "name": "add", "input": {"n": 1}},
            {"type": "tool_use", "id": "b", "name": "now", "input": {}},
            stop="tool_use",
        ),
        stream=stream(
            (
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "one, "},
                {"type": "thinking_delta", "thinking": "then now"},
                {"type": "signature_delta", "signature": "c2ln"},
            ),
            ({"type": "redacted_thinking", "data": "c2VjcmV0"},),
            ({"type": "tool_use", "id": "a", "name": "add", "input": {}}, input_delta(""), input_delta('{"n": 1}')),
            ({"type": "tool_use", "id": "b", "name": "now", "input": {}}, input_delta("")),
            stop="tool_use",
        ),
        promises=(Promise("tool:add", "add", SCHEMA, True), Promise("tool:now", "now", {}, False)),
        model_asked="claude-x",
    ),
    DialectCase(
        "cut by length in a tool's input",
        asking(output_config={"effort": "low", "format": FORMAT}),
        reading(Choice(tool_calls=(ToolCall("add", '{"n": '),), finish="max_tokens")),
        stream=stream(({"type": "tool_use", "name": "add", "input": {}}, input_delta('{"n": ')), stop="max_tokens"),
        promises=(Promise("text", "", SCHEMA, True),),
        model_asked="claude-x",
        length=True,
    ),
    DialectCase(
        "context window exceeded",
        asking(output_format=FORMAT),
        reading(Choice("So", finish="model_context_window_exceeded")),
        whole=message({"type": "text", "text": "So"}, stop="model_context_window_exceeded"),
        stream=stream(({"type": "text", "text": "So"},), stop="model_context_window_exceeded"),
        promises=(Promise("text", "", SCHEMA, True),),
        model_asked="claude-x",
        length=True,
    ),
    DialectCase(
        "refusal",
        asking(),
        reading(Choice(finish="refusal", refusal="bio")),
        whole=message(stop="refusal", stop_details={"type": "refusal", "category": "bio", "explanation": "bio"}),
        stream=stream(stop="refusal", more={"stop_details": {"type": "refusal", "explanation": "bio"}}),
        model_asked="claude-x",
        refusal=True,
    ),
    DialectCase(
        "error object under 200",
        asking(),
        Reading(error="Overloaded"),
        whole=Response(200, JSON, b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'),
        model_asked="claude-x",
    ),
    DialectCase(
        "error event in the middle",
        asking(),
        Reading(Answer((Choice("He"),)), "Overloaded", False, "claude-x-1", 9, 1),
        stream=Response(
            200,
            SSE,
            stream((NO_TEXT, text_delta("He"))).body.partition(b"event: content_block_stop")[0]
            + event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        ),
        model_asked="claude-x",
    ),
)


class TestAnthropicMessages(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("POST", URL + "?beta=true"),
        ("POST", "http://localhost:8080/anthropic/v1/messages/"),
    )
    silent = (
        ("GET", URL),
        ("POST", URL + "/count_tokens"),
        ("POST", URL + "/batches"),
        ("POST", "https://api.openai.com/v1/threads/thread_1/messages"),
        ("CALL", "function:app/v1/messages"),
    )
    cases = CASES


def test_an_error_event_without_an_object_is_an_error():
    assert DIALECT.read(asking(), Response(200, SSE, b"event: error\ndata: gone\n\n")).error == "gone"


def test_a_stream_without_event_names_ends_by_its_type():
    named = stream((NO_TEXT, text_delta("message_stop")))
    bare = Response(200, SSE, b"".join(line for line in named.body.splitlines(True) if not line.startswith(b"event:")))
    assert DIALECT.read(asking(), bare) == reading(Choice("message_stop", finish="end_turn"))
    assert [DIALECT.is_terminal(each) for each in events(bare)].count(True) == 1


def test_an_event_that_is_no_strict_json_says_nothing():
    bad = b'event: content_block_delta\ndata: {"index": 0, "index": 0, "delta": NaN}\n\n'
    response = stream((NO_TEXT, text_delta("a")))
    assert DIALECT.read(asking(), Response(200, SSE, bad + response.body)) == DIALECT.read(asking(), response)


def test_br_063_a_cut_stream_is_not_finished():
    found = DIALECT.read(asking(), stream((NO_TEXT, text_delta("Hello")), ended=False))
    assert found == reading(Choice("Hello", finish="end_turn"), terminal=False)


def test_stop_reasons_are_the_sdks():
    words = set(pytest.importorskip("anthropic.types.stop_reason").StopReason.__args__)
    assert {w for w in words if DIALECT.is_length(Choice(finish=w))} == {"max_tokens", "model_context_window_exceeded"}
    assert {w for w in words if DIALECT.is_refusal(Choice(finish=w))} == {"refusal"}


@pytest.mark.parametrize("case", [case for case in CASES if case.whole and case.stream], ids=lambda case: case.name)
def test_the_sdk_puts_streams_together_in_the_same_way(case):
    sdk = pytest.importorskip("anthropic.lib.streaming._messages")
    together, buffers = None, {}
    for each in events(case.stream):
        data = json.loads(each.data)
        if data["type"] != "ping":
            together = sdk.accumulate_event(event=data, current_snapshot=together, json_bufs=buffers)
    said, choice = together.content, DIALECT.read(case.request, case.stream).answer.choices[0]
    assert "".join(b.text for b in said if b.type == "text") == (choice.text or "")
    assert [(b.name, b.input) for b in said if b.type == "tool_use"] == [
        (c.name, c.arguments) for c in choice.tool_calls
    ]
    assert together.stop_reason == choice.finish


def _messages(corpus):
    return [each for each in corpus if DIALECT.speaks(each.request.method, each.request.url)]


def test_every_public_message_is_read(corpus):
    found_any = _messages(corpus)
    assert len(found_any) >= 27
    for each in found_any:
        found = DIALECT.read(each.request, each.response)
        if each.response.status == 200:
            choice = found.answer.choices[0]
            assert (choice.text or choice.tool_calls) and choice.finish, each.file
            assert found.terminal and found.error is None, each.file
            assert found.input_tokens and found.output_tokens and found.model, each.file
        else:
            assert found.answer is None and found.error, each.file


def test_public_message_streams_give_their_answers(corpus):
    streamed = [each for each in _messages(corpus) if framing(each.response.headers, each.response.body)]
    answers = [DIALECT.read(each.request, each.response).answer.choices[0] for each in streamed]
    assert [(bool(a.text), [c.name for c in a.tool_calls], a.finish) for a in answers] == [
        (True, [], "end_turn"),
        (False, ["pelican_name_generator"] * 2, "tool_use"),
        (True, [], "end_turn"),
    ]


def test_public_message_facts_are_those_of_the_body(corpus):
    for each in _messages(corpus):
        if each.response.status != 200 or framing(each.response.headers, each.response.body):
            continue
        body, found = strictjson.loads(each.response.body), DIALECT.read(each.request, each.response)
        assert found.model == body["model"], each.file
        assert (found.input_tokens, found.output_tokens) == (
            body["usage"]["input_tokens"],
            body["usage"]["output_tokens"],
        ), each.file
        assert [c.name for c in found.answer.choices[0].tool_calls] == [
            block["name"] for block in body["content"] if block["type"] == "tool_use"
        ], each.file

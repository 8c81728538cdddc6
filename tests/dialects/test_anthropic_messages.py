import json
from dataclasses import replace
from pathlib import Path

import pytest

from onetake import dialects, gate
from onetake.contract import Contract
from onetake.dialects import Promise, Reading
from onetake.dialects.anthropic_blocks import PAUSED_FINISH
from onetake.dialects.anthropic_messages import DIALECT
from onetake.events import events
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.testing.dialects import DialectCase, DialectConformance

URL = "https://api.anthropic.com/v1/messages"
VERTEX = "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic/models/claude-x@1"
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
        ("POST", f"{VERTEX}:rawPredict"),
        ("POST", f"{VERTEX}:streamRawPredict?alt=sse"),
    )
    silent = (
        ("GET", URL),
        ("POST", URL + "/count_tokens"),
        ("POST", URL + "/batches"),
        ("POST", "https://api.openai.com/v1/threads/thread_1/messages"),
        ("CALL", "function:app/v1/messages"),
        ("GET", f"{VERTEX}:rawPredict"),
        ("POST", f"{VERTEX}:predict"),
        ("POST", VERTEX.replace("claude-x@1", "count-tokens") + ":rawPredict"),
        ("POST", VERTEX.replace("anthropic", "mistralai") + ":rawPredict"),
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
    beta = set(pytest.importorskip("anthropic.types.beta.beta_stop_reason").BetaStopReason.__args__)
    assert beta | words >= PAUSED_FINISH
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


@pytest.mark.parametrize("finish", ["pause_turn", "compaction"])
def test_a_turn_that_the_program_sends_back_holds_no_answer_yet(finish):
    searching = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    body = {"model": "claude-x", "content": [{"type": "text", "text": "Let me look."}, searching]}
    response = Response(200, JSON, json.dumps(body | {"stop_reason": finish}).encode())
    assert DIALECT.read(asking(), response) == Reading(Answer(), model="claude-x")
    asked = asking(output_config={"format": FORMAT})
    found = gate.judge(asked, response, [Contract(SCHEMA, name="numbers")], root=Path())
    assert (found.verdict, found.unjudged) == ("good", True)


def test_on_vertex_the_model_is_in_the_path():
    asked = Request("POST", f"{VERTEX}:rawPredict", body=b'{"anthropic_version": "vertex-2023-10-16"}')
    assert dialects.find("POST", asked.url) is DIALECT
    assert DIALECT.model_asked(asked) == "claude-x@1"


def test_the_sdks_vertex_client_is_spoken():
    httpx2, sdk = pytest.importorskip("httpx2"), pytest.importorskip("anthropic")
    asked = []

    def answering(request):
        asked.append(Request(request.method, str(request.url), body=request.content))
        return httpx2.Response(400)

    client = sdk.AnthropicVertex(
        region="eu",
        project_id="p",
        access_token="t",
        http_client=httpx2.Client(transport=httpx2.MockTransport(answering)),
    )
    for streamed in (False, True):
        with pytest.raises(sdk.BadRequestError):
            client.messages.create(model="claude-x@1", max_tokens=9, messages=[], stream=streamed)
    assert [dialects.find(each.method, each.url) for each in asked] == [DIALECT, DIALECT]
    assert [DIALECT.model_asked(each) for each in asked] == ["claude-x@1"] * 2


def test_on_vertex_the_gate_knows_a_stream_that_ended_and_a_contract_that_is_broken():
    asked = Request("POST", f"{VERTEX}:streamRawPredict?alt=sse", body=b'{"stream": true}')
    text = (NO_TEXT, text_delta("hello"))
    failing = b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Over"}}\n\n'
    cut = stream(text, ended=False)
    numbers = Contract(SCHEMA, name="numbers")

    def verdict(response, *contracts):
        return gate.judge(asked, response, contracts, root=Path()).verdict

    assert verdict(stream(text)) == "good"
    assert verdict(stream(text), numbers) == "reject:violation"
    assert verdict(cut) == "reject:cut"
    assert verdict(replace(cut, body=cut.body + failing)) == "pass:error"

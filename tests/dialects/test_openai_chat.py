import json

import pytest

from onetake.dialects import Promise, Reading
from onetake.dialects.openai_chat import DIALECT
from onetake.events import events
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.testing.dialects import DialectCase, DialectConformance

URL = "https://api.openai.com/v1/chat/completions"
VERTEX = "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/mistralai/models/codestral-2"
JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream; charset=utf-8"),)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def asking(**more):
    return Request("POST", URL, body=json.dumps({"model": "gpt-4o", "messages": [], **more}).encode())


def completion(*choices, **more):
    numbered = [{"index": n, **choice} for n, choice in enumerate(choices)]
    body = {"id": "c1", "object": "chat.completion", "model": "gpt-4o-1", "choices": numbered, **more}
    return Response(200, JSON, json.dumps(body, ensure_ascii=False).encode())


def stream(*chunks, end="data: [DONE]\n\n", headers=SSE):
    common = {"id": "c1", "object": "chat.completion.chunk", "model": "gpt-4o-1"}
    said = "".join(f"data: {json.dumps({**common, **chunk}, ensure_ascii=False)}\n\n" for chunk in chunks)
    return Response(200, headers, (said + end).encode())


def delta(index=0, finish=None, **said):
    return {"choices": [{"index": index, "delta": said, "finish_reason": finish}]}


def call_delta(**call):
    return delta(tool_calls=[call])


def reading(*choices, **more):
    return Reading(answer=Answer(choices) if choices else None, model="gpt-4o-1", **more)


USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}

CASES = (
    DialectCase(
        "text",
        asking(),
        reading(Choice("Grüße 👋", finish="stop"), input_tokens=9, output_tokens=3, fingerprint="fp_1"),
        whole=completion(
            {"message": {"role": "assistant", "content": "Grüße 👋", "refusal": None}, "finish_reason": "stop"},
            usage=USAGE,
            system_fingerprint="fp_1",
        ),
        stream=stream(
            delta(role="assistant", content="", refusal=None) | {"system_fingerprint": "fp_1", "usage": None},
            delta(content="Grü"),
            delta(content="ße 👋"),
            delta(finish="stop"),
            {"choices": [], "usage": USAGE},
        ),
        model_asked="gpt-4o",
    ),
    DialectCase(
        "two choices",
        asking(n=2),
        reading(Choice("one", finish="stop"), Choice("two", finish="length")),
        whole=completion(
            {"index": 1, "message": {"content": "two"}, "finish_reason": "length"},
            {"index": 0, "message": {"content": "one"}, "finish_reason": "stop"},
        ),
        stream=stream(
            delta(1, content="t"),
            delta(0, content="on"),
            delta(1, content="wo", finish="length"),
            delta(0, content="e", finish="stop"),
        ),
        model_asked="gpt-4o",
    ),
    DialectCase(
        "tool calls",
        asking(
            tools=[
                {"type": "function", "function": {"name": "add", "parameters": SCHEMA, "strict": True}},
                {"type": "function", "function": {"name": "sub", "parameters": SCHEMA}},
                {"type": "custom", "custom": {"name": "grep"}},
            ]
        ),
        reading(
            Choice(
                tool_calls=(
                    ToolCall("add", {"n": 1}),
                    ToolCall("sub", '{"n": 2'),
                    ToolCall("grep", "42"),
                    ToolCall("now", ""),
                ),
                finish="tool_calls",
            )
        ),
        whole=completion(
            {
                "message": {
                    "content": None,
                    "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "add", "arguments": '{"n": 1}'}},
                        {"id": "b", "type": "function", "function": {"name": "sub", "arguments": '{"n": 2'}},
                        {"id": "c", "type": "custom", "custom": {"name": "grep", "input": "42"}},
                        {"id": "d", "type": "function", "function": {"name": "now", "arguments": ""}},
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ),
        stream=stream(
            delta(role="assistant", content=None),
            call_delta(index=0, id="a", type="function", function={"name": "add", "arguments": ""}),
            call_delta(index=1, id="b", type="function", function={"name": "sub", "arguments": '{"n"'}),
            call_delta(index=0, function={"arguments": '{"n": 1}'}),
            call_delta(index=1, function={"arguments": ": 2"}),
            call_delta(index=2, id="c", type="custom", custom={"name": "grep", "input": "4"}),
            call_delta(index=2, custom={"input": "2"}),
            call_delta(index=3, id="d", function={"name": "now"}),
            delta(finish="tool_calls"),
        ),
        promises=(Promise("tool:add", "add", SCHEMA, True), Promise("tool:sub", "sub", SCHEMA, False)),
        model_asked="gpt-4o",
    ),
    DialectCase(
        "legacy function call",
        asking(functions=[{"name": "add", "parameters": SCHEMA}]),
        reading(Choice(tool_calls=(ToolCall("add", {"n": 1}),), finish="function_call")),
        whole=completion(
            {"message": {"function_call": {"name": "add", "arguments": '{"n":1}'}}, "finish_reason": "function_call"}
        ),
        stream=stream(
            delta(function_call={"name": "add", "arguments": ""}),
            delta(function_call={"arguments": '{"n"'}),
            delta(function_call={"arguments": ":1}"}),
            delta(finish="function_call"),
        ),
        promises=(Promise("tool:add", "add", SCHEMA, False),),
        model_asked="gpt-4o",
    ),
    DialectCase(
        "refusal",
        asking(
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "numbers", "strict": True, "schema": SCHEMA},
            }
        ),
        reading(Choice(refusal="I can't.", finish="stop")),
        whole=completion({"message": {"content": None, "refusal": "I can't."}, "finish_reason": "stop"}),
        stream=stream(delta(refusal="I "), delta(refusal="can't."), delta(finish="stop")),
        promises=(Promise("text", "numbers", SCHEMA, True),),
        model_asked="gpt-4o",
        refusal=True,
    ),
    DialectCase(
        "content filter",
        asking(response_format={"type": "json_schema", "json_schema": {"name": "numbers", "schema": SCHEMA}}),
        reading(Choice("Well", finish="content_filter")),
        whole=completion({"message": {"content": "Well"}, "finish_reason": "content_filter"}),
        stream=stream(delta(content="Well"), delta(finish="content_filter")),
        promises=(Promise("text", "numbers", SCHEMA, False),),
        model_asked="gpt-4o",
        refusal=True,
    ),
    DialectCase(
        "reasoning, both spellings, cut by length",
        asking(),
        reading(Choice("5", finish="length", reasoning="2+3")),
        whole=completion(
            {"message": {"content": "5", "reasoning": "2+3", "reasoning_content": "2+3"}, "finish_reason": "length"}
        ),
        stream=stream(delta(reasoning="2"), delta(reasoning_content="+3"), delta(content="5", finish="length")),
        model_asked="gpt-4o",
        length=True,
    ),
    DialectCase(
        "Mistral: parts, thinking, calls without index",
        asking(),
        reading(
            Choice("five", (ToolCall("a", {}), ToolCall("b", {})), "model_length", reasoning="2+3"), input_tokens=1
        ),
        whole=completion(
            {
                "message": {
                    "content": [
                        {"type": "thinking", "thinking": [{"type": "text", "text": "2+3"}]},
                        {"type": "text", "text": "fi"},
                        {"type": "text", "text": "ve"},
                    ],
                    "tool_calls": [
                        {"id": "1", "function": {"name": "a", "arguments": "{}"}},
                        {"id": "2", "function": {"name": "b", "arguments": {}}},
                    ],
                },
                "finish_reason": "model_length",
            },
            usage={"prompt_tokens": 1},
        ),
        stream=stream(
            delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "2+3"}]}]),
            delta(content=[{"type": "text", "text": "fi"}]),
            delta(content="ve"),
            delta(
                finish="model_length",
                tool_calls=[
                    {"id": "1", "function": {"name": "a", "arguments": "{}"}},
                    {"id": "2", "function": {"name": "b", "arguments": {}}},
                ],
            )
            | {"usage": {"prompt_tokens": 1}},
        ),
        model_asked="gpt-4o",
        length=True,
    ),
    DialectCase(
        "Groq: usage under x_groq; Gemini: index 0 for every call",
        asking(stream=True),
        reading(
            Choice(tool_calls=(ToolCall("a", 1), ToolCall("b", 2)), finish="stop"), input_tokens=9, output_tokens=3
        ),
        stream=stream(
            call_delta(index=0, id="x", function={"name": "a", "arguments": "1"}),
            call_delta(index=0, id="y", function={"name": "b", "arguments": "2"}),
            delta(finish="stop") | {"x_groq": {"usage": USAGE}},
            headers=JSON,
        ),
        model_asked="gpt-4o",
    ),
    DialectCase(
        "error object under 200",
        asking(),
        Reading(error="out of cheese"),
        whole=Response(200, JSON, b'{"error": {"message": "out of cheese", "type": "server_error"}}'),
        model_asked="gpt-4o",
    ),
    DialectCase(
        "error event in the middle",
        asking(),
        reading(Choice("Hel"), error="overloaded", terminal=False),
        stream=stream(delta(content="Hel"), end='event: error\ndata: {"error": {"message": "overloaded"}}\n\n'),
        model_asked="gpt-4o",
    ),
    DialectCase(
        "OpenRouter: the choice failed",
        asking(),
        reading(Choice("Hel", finish="error"), error="upstream gone"),
        stream=stream(
            delta(content="Hel"),
            {
                "choices": [
                    {
                        "index": 0,
                        "delta": {},
                        "finish_reason": "error",
                        "error": {"code": 502, "message": "upstream gone"},
                    }
                ]
            },
        ),
        model_asked="gpt-4o",
    ),
)


class TestOpenAIChat(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("POST", "https://x.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-06-01"),
        ("POST", "http://localhost:11434/v1/chat/completions"),
        ("POST", "https://api.groq.com/openai/v1/chat/completions/"),
        ("POST", "https://x.openai.azure.com/openai/v1/chat/completions"),
        ("POST", "https://x.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview"),
        ("POST", "https://api.mistral.ai/v1/fim/completions"),
        ("POST", "https://api.mistral.ai/v1/agents/completions"),
        ("POST", "http://127.0.0.1:8080/chat/completions"),
        ("POST", f"{VERTEX}:rawPredict"),
        ("POST", f"{VERTEX}:streamRawPredict"),
    )
    silent = (
        ("GET", URL),
        ("POST", "https://api.openai.com/v1/completions"),
        ("GET", URL + "/chatcmpl-1"),
        ("POST", URL + "/chatcmpl-1"),
        ("POST", "https://api.openai.com/v1/responses?next=/chat/completions"),
        ("CALL", "function:app.chat/completions"),
        ("POST", f"{VERTEX}:predict"),
        ("POST", VERTEX.replace("mistralai", "anthropic") + ":rawPredict"),
    )
    cases = CASES


def test_the_sdk_puts_streams_together_in_the_same_way():
    state_class = pytest.importorskip("openai.lib.streaming.chat").ChatCompletionStreamState
    chunk_class = pytest.importorskip("openai.types.chat").ChatCompletionChunk
    case = next(case for case in CASES if case.name == "text")
    state = state_class()
    for event in events(case.stream):
        if not DIALECT.is_terminal(event):
            state.handle_chunk(chunk_class.model_validate({"created": 1, **json.loads(event.data)}))
    message = state.get_final_completion().choices[0].message
    assert DIALECT.read(case.request, case.stream).answer.choices[0].text == message.content

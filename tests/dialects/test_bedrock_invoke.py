import base64
import json
from dataclasses import replace

import pytest

from onetake.dialects import Promise, Reading
from onetake.dialects.bedrock_invoke import DIALECT
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import bedrock_exception, bedrock_frame

HOST = "https://bedrock-runtime.us-east-1.amazonaws.com"
URL = f"{HOST}/model/some.model-v1%3A0/invoke"
JSON = (("content-type", "application/json"),)
COUNTED = (
    *JSON,
    ("X-Amzn-Bedrock-Input-Token-Count", "9"),
    ("X-Amzn-Bedrock-Output-Token-Count", "3"),
)
AWS = (("content-type", "application/vnd.amazon.eventstream"),)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
METRICS = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 9, "outputTokenCount": 3, "firstByteLatency": 1}}
CLAUDE = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": []}


def asking(**body):
    return Request("POST", URL, body=json.dumps(body).encode())


def answer(body, headers=COUNTED):
    return Response(200, headers, json.dumps(body, ensure_ascii=False).encode())


def stream(*parts):
    return Response(200, AWS, b"".join(map(chunk, parts)))


def chunk(part):
    data = json.dumps(part, ensure_ascii=False).encode()
    return bedrock_frame("chunk", {"bytes": base64.b64encode(data).decode()})


def reading(choice, **more):
    return Reading(Answer((choice,)), input_tokens=9, output_tokens=3, **more)


def block(index, start, *deltas):
    return (
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    )


START = {"type": "message_start", "message": {"model": "claude-x", "content": [], "usage": {"input_tokens": 9}}}
CASES = (
    DialectCase(
        "Anthropic: thinking, text and a tool",
        asking(**CLAUDE, tools=[{"name": "add", "input_schema": SCHEMA}]),
        reading(Choice("One.", (ToolCall("add", {"n": 1}),), finish="tool_use", reasoning="hm"), model="claude-x"),
        whole=answer(
            {
                "model": "claude-x",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                    {"type": "text", "text": "One."},
                    {"type": "tool_use", "id": "t", "name": "add", "input": {"n": 1}},
                ],
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 9, "output_tokens": 3},
            },
            JSON,
        ),
        stream=stream(
            START,
            *block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "hm"}),
            *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "One."}),
            *block(
                2,
                {"type": "tool_use", "id": "t", "name": "add", "input": {}},
                {"type": "input_json_delta", "partial_json": '{"n":'},
                {"type": "input_json_delta", "partial_json": " 1}"},
            ),
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
            {"type": "message_stop", **METRICS},
        ),
        promises=(Promise("tool:add", "add", SCHEMA, False),),
        model_asked="some.model-v1:0",
    ),
    DialectCase(
        "Nova: its bodies are those of Converse",
        asking(toolConfig={"tools": [{"toolSpec": {"name": "add", "inputSchema": {"json": SCHEMA}, "strict": True}}]}),
        reading(Choice("Grüße", (ToolCall("add", {"n": 1}),), finish="tool_use")),
        whole=answer(
            {
                "output": {
                    "message": {"content": [{"text": "Grüße"}, {"toolUse": {"name": "add", "input": {"n": 1}}}]}
                },
                "stopReason": "tool_use",
                "usage": {"inputTokens": 9, "outputTokens": 3},
            },
            JSON,
        ),
        stream=stream(
            {"messageStart": {"role": "assistant"}},
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Grü"}}},
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "ße"}}},
            {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"name": "add"}}}},
            {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"n": 1}'}}}},
            {"messageStop": {"stopReason": "tool_use"}},
            {"metadata": {"usage": {"inputTokens": 9, "outputTokens": 3}}, **METRICS},
        ),
        after=1,
        promises=(Promise("tool:add", "add", SCHEMA, True),),
        model_asked="some.model-v1:0",
    ),
    DialectCase(
        "Titan",
        asking(inputText="hi"),
        reading(Choice("Grüße", finish="LENGTH")),
        whole=answer(
            {
                "inputTextTokenCount": 9,
                "results": [{"tokenCount": 3, "outputText": "Grüße", "completionReason": "LENGTH"}],
            }
        ),
        stream=stream(
            {"outputText": "Grü", "index": 0, "completionReason": None, "inputTextTokenCount": 9},
            {"outputText": "ße", "index": 0, "completionReason": "LENGTH", "inputTextTokenCount": None, **METRICS},
        ),
        model_asked="some.model-v1:0",
        length=True,
    ),
    DialectCase(
        "Llama",
        asking(prompt="hi"),
        reading(Choice("Grüße", finish="stop")),
        whole=answer({"generation": "Grüße", "prompt_token_count": 9, "stop_reason": "stop"}),
        stream=stream(
            {"generation": "Grü", "stop_reason": None},
            {"generation": "ße", "stop_reason": None},
            {"generation": "", "stop_reason": "stop", **METRICS},
        ),
        model_asked="some.model-v1:0",
    ),
    DialectCase(
        "Mistral",
        asking(prompt="hi"),
        reading(Choice("Grüße", finish="length")),
        whole=answer({"outputs": [{"text": "Grüße", "stop_reason": "length"}]}),
        stream=stream(
            {"outputs": [{"text": "Grü", "stop_reason": None}]},
            {"outputs": [{"text": "ße", "stop_reason": "length"}], **METRICS},
        ),
        model_asked="some.model-v1:0",
        length=True,
    ),
    DialectCase(
        "Cohere",
        asking(message="hi"),
        reading(Choice("Grüße", finish="ERROR_TOXIC")),
        whole=answer({"text": "Grüße", "finish_reason": "ERROR_TOXIC", "chat_history": [{"message": "hi"}]}),
        stream=stream(
            {"event_type": "stream-start", "is_finished": False},
            {"event_type": "text-generation", "text": "Grüße", "is_finished": False},
            {"event_type": "stream-end", "finish_reason": "ERROR_TOXIC", "response": {"text": "Grüße"}, **METRICS},
        ),
        model_asked="some.model-v1:0",
        refusal=True,
    ),
    DialectCase(
        "AI21 and others in the shape of chat completions",
        asking(messages=[]),
        reading(Choice("Grüße", finish="stop")),
        whole=answer({"choices": [{"index": 0, "message": {"content": "Grüße"}, "finish_reason": "stop"}]}),
        stream=stream(
            {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Grü"}, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {"content": "ße"}, "finish_reason": "stop"}]},
            {"choices": [], **METRICS},
        ),
        model_asked="some.model-v1:0",
    ),
    DialectCase(
        "stopped by a guardrail",
        asking(prompt="hi"),
        reading(Choice("Sorry.", finish="stop", refusal="INTERVENED")),
        whole=answer({"generation": "Sorry.", "stop_reason": "stop", "amazon-bedrock-guardrailAction": "INTERVENED"}),
        stream=stream(
            {"generation": "Sorry.", "stop_reason": "stop", "amazon-bedrock-guardrailAction": "INTERVENED", **METRICS}
        ),
        model_asked="some.model-v1:0",
        refusal=True,
    ),
    DialectCase(
        "exception in the middle",
        asking(**CLAUDE),
        Reading(Answer((Choice("He"),)), "throttlingException: Too many requests", False, "claude-x", 9),
        stream=Response(
            200,
            AWS,
            stream(START, *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "He"})).body
            + bedrock_exception(),
        ),
        model_asked="some.model-v1:0",
    ),
    DialectCase(
        "error object under 200",
        asking(prompt="hi"),
        Reading(error="Malformed input request"),
        whole=answer({"message": "Malformed input request"}, JSON),
        model_asked="some.model-v1:0",
    ),
    DialectCase(
        "an embedding says nothing",
        asking(inputText="hi"),
        Reading(Answer(), input_tokens=9, output_tokens=3),
        whole=answer({"embedding": [0.5, 1.0], "inputTextTokenCount": 9}),
        model_asked="some.model-v1:0",
    ),
)


class TestBedrockInvoke(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("POST", URL + "-with-response-stream"),
        ("POST", "http://localhost:4000/bedrock/model/arn:aws:bedrock:us-east-1:1:custom/a/invoke"),
    )
    silent = (
        ("GET", URL),
        ("POST", URL + "-with-bidirectional-stream"),
        ("POST", f"{HOST}/model/some.model/converse"),
        ("POST", f"{HOST}/model//invoke"),
        ("POST", f"{HOST}/async-invoke"),
        ("CALL", "function:app/model/a/invoke"),
    )
    cases = CASES


def test_a_text_that_speaks_of_the_end_is_not_the_end():
    said = 'say "message_stop", messageStop and amazon-bedrock-invocationMetrics'
    delta = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": said})
    assert DIALECT.read(asking(**CLAUDE), stream(START, *delta)).terminal is False


def test_the_errors_of_a_maker_in_its_stream():
    failed = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert DIALECT.read(asking(**CLAUDE), stream(START, failed)).error == "Overloaded"
    assert DIALECT.read(asking(prompt="hi"), stream({"error": {"message": "gone"}})).error == "gone"


@pytest.mark.parametrize("told", ["", "nine", "-1", "9" * 30])
def test_a_count_that_is_none(told):
    response = replace(CASES[2].whole, headers=(*JSON, ("x-amzn-bedrock-input-token-count", told)))
    assert DIALECT.read(CASES[2].request, response).input_tokens is None


def test_a_public_stream_is_read(corpus):
    (each,) = [e for e in corpus if DIALECT.speaks(e.request.method, e.request.url) and e.response.status == 200]
    found = DIALECT.read(each.request, each.response)
    (choice,) = found.answer.choices
    assert choice.text.startswith("\nDatadog is a monitoring") and choice.finish == "LENGTH"
    assert (found.terminal, found.error, found.input_tokens, found.output_tokens) == (True, None, 18, 51)
    assert DIALECT.is_length(choice)

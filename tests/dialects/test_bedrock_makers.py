import base64
import json
from pathlib import Path

import pytest

from onetake import gate
from onetake.contract import Contract
from onetake.dialects import Promise, Reading
from onetake.dialects.bedrock_invoke import DIALECT
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import bedrock_frame

URL = "https://bedrock-runtime.us-east-1.amazonaws.com/model/some.model/invoke"
JSON = (("content-type", "application/json"),)
AWS = (("content-type", "application/vnd.amazon.eventstream"),)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
METRICS = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 9, "outputTokenCount": 3}}
STRICT = {"type": "json_schema", "json_schema": {"name": "numbers", "schema": SCHEMA, "strict": True}}
LOOSE_TOOL = {"type": "function", "function": {"name": "add", "parameters": SCHEMA}}


def asking(**body):
    return Request("POST", URL, JSON, json.dumps(body).encode())


def whole(**body):
    headers = (*JSON, ("x-amzn-bedrock-input-token-count", "9"), ("x-amzn-bedrock-output-token-count", "3"))
    return Response(200, headers, json.dumps(body, ensure_ascii=False).encode())


def stream(*parts):
    """The parts, the last with the metrics that Bedrock adds."""
    said = [json.dumps(part, ensure_ascii=False).encode() for part in (*parts[:-1], parts[-1] | METRICS)]
    frames = (bedrock_frame("chunk", {"bytes": base64.b64encode(part).decode()}) for part in said)
    return Response(200, AWS, b"".join(frames))


def reading(*choices, **more):
    return Reading(Answer(choices), input_tokens=9, output_tokens=3, **more)


def chunk(delta, finish=None, **more):
    return {"model": "openai.gpt-oss", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def case(name, expected, *, asked=None, promises=(), **more):
    return DialectCase(
        name, asked or asking(prompt="hi"), expected, model_asked="some.model", promises=promises, **more
    )


CASES = (
    case(
        "gpt-oss: reasoning, text and tool calls in the shape of a chat",
        reading(
            Choice("Both.", (ToolCall("add", {"n": 1}), ToolCall("now", {})), "tool_calls", reasoning="hm"),
            model="openai.gpt-oss",
        ),
        asked=asking(messages=[], response_format=STRICT, tools=[LOOSE_TOOL]),
        promises=(Promise("text", "numbers", SCHEMA, True), Promise("tool:add", "add", SCHEMA, False)),
        whole=Response(
            200,
            JSON,
            json.dumps(
                {
                    "model": "openai.gpt-oss",
                    "choices": [
                        {
                            "message": {
                                "content": "Both.",
                                "reasoning": "hm",
                                "tool_calls": [
                                    {"id": "a", "function": {"name": "add", "arguments": '{"n": 1}'}},
                                    {"id": "b", "function": {"name": "now", "arguments": "{}"}},
                                ],
                            },
                            "finish_reason": "tool_calls",
                        }
                    ],
                    "usage": {"prompt_tokens": 9, "completion_tokens": 3},
                }
            ).encode(),
        ),
        stream=stream(
            chunk({"reasoning": "hm"}),
            chunk({"content": "Both."}),
            chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "add", "arguments": '{"n"'}}]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]}),
            chunk({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "now", "arguments": "{}"}}]}),
            chunk({}, "tool_calls"),
        ),
    ),
    case(
        "Mistral's chat: messages in the chunks, and a stop_reason",
        reading(Choice("Grüße", finish="length")),
        whole=whole(choices=[{"index": 0, "message": {"content": "Grüße"}, "stop_reason": "length"}]),
        stream=stream(
            {"choices": [{"index": 0, "message": {"content": "Grü"}, "stop_reason": None}]},
            {"choices": [{"index": 0, "message": {"content": "ße"}, "stop_reason": "length"}]},
        ),
        length=True,
    ),
    case(
        "DeepSeek: two completions",
        reading(Choice("one", finish="stop"), Choice("two", finish="length")),
        whole=whole(choices=[{"text": "one", "stop_reason": "stop"}, {"text": "two", "stop_reason": "length"}]),
        stream=stream(
            {"choices": [{"text": "on"}, {"text": "t"}]},
            {"choices": [{"text": "e", "stop_reason": "stop"}, {"text": "wo", "stop_reason": "length"}]},
        ),
    ),
    case(
        "Cohere's first models: generations",
        reading(Choice("one", finish="MAX_TOKENS"), Choice("two", finish="COMPLETE")),
        whole=whole(
            generations=[
                {"id": "a", "text": "one", "finish_reason": "MAX_TOKENS"},
                {"id": "b", "text": "two", "finish_reason": "COMPLETE"},
            ]
        ),
        stream=stream(
            {"index": 0, "text": "on", "is_finished": False},
            {"index": 1, "text": "two", "is_finished": False},
            {"index": 0, "text": "e", "is_finished": False},
            {"index": 1, "is_finished": True, "finish_reason": "COMPLETE"},
            {"index": 0, "is_finished": True, "finish_reason": "MAX_TOKENS"},
        ),
        length=True,
    ),
    case(
        "Command R: tool calls",
        reading(Choice("I will add.", (ToolCall("add", {"n": 1}),), "COMPLETE")),
        whole=whole(text="I will add.", tool_calls=[{"name": "add", "parameters": {"n": 1}}], finish_reason="COMPLETE"),
        stream=stream(
            {"event_type": "text-generation", "text": "I will add."},
            {"event_type": "tool-calls-generation", "tool_calls": [{"name": "add", "parameters": {"n": 1}}]},
            {
                "event_type": "stream-end",
                "finish_reason": "COMPLETE",
                "response": {"text": "I will add.", "tool_calls": [{"name": "add", "parameters": {"n": 1}}]},
            },
        ),
    ),
    case(
        "Command R: the context is full",
        reading(Choice("Half", finish="ERROR_LIMIT")),
        whole=whole(text="Half", finish_reason="ERROR_LIMIT"),
        stream=stream({"text": "Half"}, {"event_type": "stream-end", "finish_reason": "ERROR_LIMIT"}),
        length=True,
    ),
    case(
        "Command R: failed",
        reading(Choice("Half", finish="ERROR"), error="ERROR"),
        whole=whole(text="Half", finish_reason="ERROR"),
        stream=stream({"text": "Half"}, {"event_type": "stream-end", "finish_reason": "ERROR"}),
    ),
    case(
        "Claude 2: a completion, through the SDK too",
        reading(Choice(" Hi there", finish="stop_sequence")),
        asked=asking(anthropic_version="bedrock-2023-05-31", prompt="\n\nHuman: hi\n\nAssistant:"),
        whole=whole(completion=" Hi there", stop_reason="stop_sequence", stop="\n\nHuman:"),
        stream=stream(
            {"completion": " Hi", "stop_reason": None}, {"completion": " there", "stop_reason": "stop_sequence"}
        ),
    ),
    case(
        "AI21's first models",
        reading(Choice("Hi", finish="length")),
        whole=whole(id=1, completions=[{"data": {"text": "Hi", "tokens": []}, "finishReason": {"reason": "length"}}]),
        length=True,
    ),
    case(
        "TwelveLabs: what a video is about",
        reading(Choice("A cat.", finish="stop")),
        whole=whole(message="A cat.", finishReason="stop"),
    ),
    case(
        "two texts of Mistral",
        reading(Choice("a", finish="stop"), Choice("b", finish="stop")),
        whole=whole(outputs=[{"text": "a", "stop_reason": "stop"}, {"text": "b", "stop_reason": "stop"}]),
    ),
)


class TestMakers(DialectConformance):
    dialect = DIALECT
    speaks = (("POST", URL),)
    silent = (("POST", URL + "/x"),)
    cases = CASES


@pytest.mark.parametrize(
    "body",
    [
        {"embedding": [0.5], "inputTextTokenCount": 9},
        {"embeddingsByType": {"binary": [1, 0]}, "inputTextTokenCount": 9},
        {"embeddings": [[0.5]], "response_type": "embeddings_floats"},
        {"embeddings": {"float": [[0.5]], "int8": [[1]]}, "response_type": "embeddings_by_type"},
        {"results": [{"index": 1, "relevance_score": 0.9}]},
        {"data": [{"embedding": [0.5], "startSec": 0}]},
        {"images": ["aGk="]},
        {"result": "success", "artifacts": [{"base64": "aGk=", "finishReason": "SUCCESS"}]},
    ],
)
def test_what_says_nothing_is_good_and_unjudged_under_a_contract(body):
    found = gate.judge(asking(inputText="hi"), whole(**body), [Contract(SCHEMA, name="numbers")], root=Path())
    assert (found.verdict, found.unjudged, found.reading.answer) == ("good", True, Answer())


@pytest.mark.parametrize("body", [{"taskId": "7"}, {"results": [{"index": 1}]}, {"data": [{"id": 1}]}, {"choices": []}])
def test_of_no_known_maker_no_answer_is_read(body):
    assert DIALECT.read(asking(prompt="hi"), whole(**body)).answer is None


def test_the_promise_of_gpt_oss_is_enforced():
    asked = asking(messages=[], response_format=STRICT)
    for said, verdict in (('{"n": 1}', "good"), ('{"n": "one"}', "reject:violation")):
        body = {"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}
        assert gate.judge(asked, whole(**body), root=Path()).verdict == verdict


@pytest.mark.parametrize("finish, verdict", [("ERROR", "pass:error"), ("TIMEOUT", "pass:error"), ("COMPLETE", "good")])
def test_what_cohere_could_not_finish_passes(finish, verdict):
    body = {"text": "Half", "finish_reason": finish}
    assert gate.judge(asking(message="hi"), whole(**body), root=Path()).verdict == verdict

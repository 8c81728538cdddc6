import json

import pytest

from onetake.dialects import Promise, Reading
from onetake.dialects.bedrock_converse import DIALECT
from onetake.events import framing
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import bedrock_exception, bedrock_frame

HOST = "https://bedrock-runtime.eu-west-1.amazonaws.com"
MODEL = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
URL = f"{HOST}/model/{MODEL.replace(':', '%3A')}/converse"
ARN = f"arn:aws:bedrock:eu-west-1:123456789012:inference-profile/{MODEL}"
JSON = (("content-type", "application/json"),)
AWS = (("content-type", "application/vnd.amazon.eventstream"),)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FORMAT = {"type": "json_schema", "structure": {"jsonSchema": {"name": "number", "schema": json.dumps(SCHEMA)}}}


def asking(**more):
    return Request("POST", URL, body=json.dumps({"messages": [], **more}).encode())


def answer(*content, stop="end_turn", **more):
    body = {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": stop,
        "usage": {"inputTokens": 9, "outputTokens": 3, "totalTokens": 12},
        "metrics": {"latencyMs": 99},
        **more,
    }
    return Response(200, JSON, json.dumps(body, ensure_ascii=False).encode())


def stream(*blocks, stop="end_turn", ended=True, **more):
    """Each block is (its start or None, its deltas)."""
    said = [bedrock_frame("messageStart", {"role": "assistant"})]
    for index, (start, *deltas) in enumerate(blocks):
        if start:
            said.append(bedrock_frame("contentBlockStart", {"contentBlockIndex": index, "start": start}))
        said += [bedrock_frame("contentBlockDelta", {"contentBlockIndex": index, "delta": delta}) for delta in deltas]
        said.append(bedrock_frame("contentBlockStop", {"contentBlockIndex": index}))
    if ended:
        usage = {"inputTokens": 9, "outputTokens": 3, "totalTokens": 12}
        said.append(bedrock_frame("messageStop", {"stopReason": stop}))
        said.append(bedrock_frame("metadata", {"usage": usage, "metrics": {"latencyMs": 99}, **more}))
    return Response(200, AWS, b"".join(said))


def pieces(*texts):
    return [{"toolUse": {"input": text}} for text in texts]


def reading(choice, **more):
    return Reading(Answer((choice,)), input_tokens=9, output_tokens=3, **more)


ROUTED = {"trace": {"promptRouter": {"invokedModelId": "arn:aws:bedrock:::foundation-model/small"}}}
CASES = (
    DialectCase(
        "text in two blocks, one with citations, from a routed model",
        asking(),
        reading(Choice("Grüße 👋", finish="end_turn"), model="arn:aws:bedrock:::foundation-model/small"),
        whole=answer(
            {"text": "Grüße "},
            {"citationsContent": {"content": [{"text": "👋"}], "citations": [{"title": "no text of the model"}]}},
            **ROUTED,
        ),
        stream=stream(
            (None, {"text": "Grü"}, {"text": "ße "}),
            (None, {"text": "👋"}, {"citation": {"title": "no text of the model"}}),
            **ROUTED,
        ),
        after=1,
        model_asked=MODEL,
    ),
    DialectCase(
        "reasoning and tools",
        asking(
            toolConfig={
                "tools": [
                    {"toolSpec": {"name": "add", "inputSchema": {"json": SCHEMA}, "strict": True}},
                    {"toolSpec": {"name": "now", "inputSchema": {"json": {}}}},
                    {"systemTool": {"name": "nova_grounding"}},
                    {"cachePoint": {"type": "default"}},
                ]
            }
        ),
        reading(
            Choice(None, (ToolCall("add", {"n": 1}), ToolCall("now", {})), finish="tool_use", reasoning="one, then now")
        ),
        whole=answer(
            {"reasoningContent": {"reasoningText": {"text": "one, then now", "signature": "c2ln"}}},
            {"reasoningContent": {"redactedContent": "c2VjcmV0"}},
            {"toolUse": {"toolUseId": "s", "name": "search", "input": {"q": 1}, "type": "server_tool_use"}},
            {"toolUse": {"toolUseId": "a", "name": "add", "input": {"n": 1}}},
            {"toolUse": {"toolUseId": "b", "name": "now", "input": {}}},
            stop="tool_use",
        ),
        stream=stream(
            (
                None,
                {"reasoningContent": {"text": "one, "}},
                {"reasoningContent": {"text": "then now"}},
                {"reasoningContent": {"signature": "c2ln"}},
            ),
            (None, {"reasoningContent": {"redactedContent": "c2VjcmV0"}}),
            ({"toolUse": {"toolUseId": "s", "name": "search", "type": "server_tool_use"}}, *pieces('{"q": 1}')),
            ({"toolUse": {"toolUseId": "a", "name": "add"}}, *pieces("", '{"n"', ": 1}")),
            ({"toolUse": {"toolUseId": "b", "name": "now"}}, *pieces("")),
            stop="tool_use",
        ),
        after=1,
        promises=(Promise("tool:add", "add", SCHEMA, True), Promise("tool:now", "now", {}, False)),
        model_asked=MODEL,
    ),
    DialectCase(
        "cut by length in a tool's input",
        asking(outputConfig={"textFormat": FORMAT}),
        reading(Choice(tool_calls=(ToolCall("add", '{"n": '),), finish="max_tokens")),
        stream=stream(({"toolUse": {"name": "add"}}, *pieces('{"n": ')), stop="max_tokens"),
        after=1,
        promises=(Promise("text", "number", SCHEMA, True),),
        model_asked=MODEL,
        length=True,
    ),
    DialectCase(
        "stopped by a guardrail",
        asking(),
        reading(Choice("Sorry.", finish="guardrail_intervened")),
        whole=answer({"text": "Sorry."}, stop="guardrail_intervened", trace={"guardrail": {"actionReason": "x"}}),
        stream=stream((None, {"text": "Sorry."}), stop="guardrail_intervened"),
        after=1,
        model_asked=MODEL,
        refusal=True,
    ),
    DialectCase(
        "error object under 200",
        asking(),
        Reading(error="The security token is expired."),
        whole=Response(200, JSON, b'{"message": "The security token is expired."}'),
        model_asked=MODEL,
    ),
    DialectCase(
        "exception in the middle",
        asking(),
        Reading(Answer((Choice("He"),)), "modelStreamErrorException: gone", terminal=False),
        stream=Response(
            200,
            AWS,
            stream((None, {"text": "He"}), ended=False).body + bedrock_exception("modelStreamErrorException", "gone"),
        ),
        model_asked=MODEL,
    ),
)


class TestBedrockConverse(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("POST", URL + "-stream"),
        ("POST", f"{HOST}/model/{ARN.replace(':', '%3A').replace('/', '%2F')}/converse"),
        ("POST", f"http://127.0.0.1:8080/bedrock/model/{ARN}/converse-stream"),
    )
    silent = (
        ("GET", URL),
        ("POST", f"{HOST}/model/{MODEL}/invoke"),
        ("POST", f"{HOST}/model/{MODEL}/count-tokens"),
        ("POST", f"{HOST}/model/converse"),
        ("POST", f"{HOST}/model//converse"),
        ("POST", f"{HOST}/model/{MODEL}/converse/more"),
        ("POST", "https://api.example/v1/converse"),
        ("CALL", "function:app/model/a/converse"),
    )
    cases = CASES


@pytest.mark.parametrize("path", [ARN, ARN.replace(":", "%3A").replace("/", "%2F")])
def test_the_model_is_in_the_path_however_it_is_quoted(path):
    assert DIALECT.model_asked(Request("POST", f"{HOST}/model/{path}/converse-stream")) == ARN


def test_a_caller_that_leaves_before_the_usage_has_the_whole_answer():
    whole = stream((None, {"text": "Hello"}))
    left = Response(200, AWS, whole.body.partition(bedrock_frame("messageStop", {"stopReason": "end_turn"}))[0])
    assert DIALECT.read(asking(), left).terminal is False
    stopped = Response(200, AWS, left.body + bedrock_frame("messageStop", {"stopReason": "end_turn"}))
    assert DIALECT.read(asking(), stopped) == Reading(Answer((Choice("Hello", finish="end_turn"),)))


def test_an_exception_behind_the_last_word_is_an_error_all_the_same():
    whole = stream((None, {"text": "Hello"}))
    found = DIALECT.read(asking(), Response(200, AWS, whole.body + bedrock_exception()))
    assert found.error == "throttlingException: Too many requests"


def test_a_damaged_frame_ends_the_answer():
    whole = stream((None, {"text": "Hello "}, {"text": "there"})).body
    at = whole.index(b"there")
    damaged = Response(200, AWS, whole[:at] + b"T" + whole[at + 1 :])
    assert DIALECT.read(asking(), damaged) == Reading(Answer((Choice("Hello "),)), terminal=False)


def test_br_063_a_cut_stream_is_not_finished():
    found = DIALECT.read(asking(), stream((None, {"text": "Hello"}), ended=False))
    assert found == Reading(Answer((Choice("Hello"),)), terminal=False)


def test_a_format_that_is_no_schema_promises_nothing():
    for schema in ("not JSON", "[]", "", None, {}):
        spelled = {"type": "json_schema", "structure": {"jsonSchema": {"schema": schema}}}
        assert DIALECT.promises(asking(outputConfig={"textFormat": spelled})) == ()


def test_stop_reasons_are_the_service_models():
    loaders = pytest.importorskip("botocore.loaders")
    words = loaders.Loader().load_service_model("bedrock-runtime", "service-2")["shapes"]["StopReason"]["enum"]
    lengths = {word for word in words if DIALECT.is_length(Choice(finish=word))}
    refusals = {word for word in words if DIALECT.is_refusal(Choice(finish=word))}
    assert lengths == {"max_tokens", "model_context_window_exceeded"}
    assert refusals == {"guardrail_intervened", "content_filtered"}
    assert set(words) - lengths - refusals == {
        *("end_turn", "tool_use", "stop_sequence"),
        *("malformed_model_output", "malformed_tool_use"),
    }


def test_public_answers_are_read(corpus):
    said = {}
    for each in corpus:
        if DIALECT.speaks(each.request.method, each.request.url):
            found = DIALECT.read(each.request, each.response)
            (choice,) = found.answer.choices
            assert found.terminal and found.error is None and found.input_tokens and found.output_tokens, each.file
            streamed = framing(each.response.headers, each.response.body)
            said[DIALECT.model_asked(each.request)] = (
                streamed,
                (choice.text or "")[:20],
                [call.name for call in choice.tool_calls],
                choice.finish,
                [promise.enforced for promise in DIALECT.promises(each.request)],
            )
    assert said == {
        "mistral.devstral-2-123b": (None, "", ["top_song"], "tool_use", [False]),
        "amazon.titan-text-lite-v1": ("eventstream", "I am here and ready ", [], "max_tokens", []),
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0": ("eventstream", '{"city":"Paris","cou', [], "end_turn", [True]),
        "us.amazon.nova-micro-v1:0": (None, "The capital of Franc", [], "max_tokens", []),
    }

import json

import pytest

from onetake.dialects import bedrock_converse, bedrock_invoke
from onetake.eventstream import failure, frames
from onetake.model import Request, Response
from onetake.testing.provider import (
    bedrock_converse as converse_reply,
)
from onetake.testing.provider import (
    bedrock_converse_stream,
    bedrock_error,
    bedrock_exception,
    bedrock_invoke_stream,
)
from onetake.testing.provider import bedrock_invoke as invoke_reply
from onetake.testing.provider_bedrock import bedrock_echo
from onetake.testing.provider_http import Reply

HOST = "http://127.0.0.1:1/model/m"
CONVERSE = Request("POST", f"{HOST}/converse")
CLAUDE = {"anthropic_version": "bedrock-2023-05-31"}
SAID = {"tool_calls": [("add", {"n": 1})], "finish": "max_tokens", "prompt": "four letters a token"}
MAKERS = ("anthropic", "nova", "titan", "llama", "mistral")


def read(dialect, request, reply: Reply):
    return dialect.read(request, Response(reply.status, reply.headers, reply.body))


def invoking(maker):
    return Request("POST", f"{HOST}/invoke", body=json.dumps(CLAUDE if maker == "anthropic" else {}).encode())


@pytest.mark.parametrize("said", [{}, SAID, {"refusal": "no"}, {"json": {"a": [1, "é"]}}])
def test_whole_and_streamed_answers_say_the_same(said):
    whole = read(bedrock_converse.DIALECT, CONVERSE, converse_reply("Grüße an alle", **said))
    assert read(bedrock_converse.DIALECT, CONVERSE, bedrock_converse_stream("Grüße an alle", **said)) == whole
    assert whole.answer and whole.input_tokens and whole.output_tokens


@pytest.mark.parametrize("maker", MAKERS)
def test_every_maker_says_it_whole_and_streamed(maker):
    dialect, request = bedrock_invoke.DIALECT, invoking(maker)
    whole = read(dialect, request, invoke_reply(maker, "Grüße an alle", finish="why", prompt="abcd" * 7))
    streamed = read(dialect, request, bedrock_invoke_stream(maker, "Grüße an alle", finish="why", prompt="abcd" * 7))
    assert streamed == whole
    (choice,) = whole.answer.choices
    assert (choice.text, choice.finish, whole.input_tokens, whole.terminal) == ("Grüße an alle", "why", 7, True)


@pytest.mark.parametrize(
    "reply", [bedrock_converse_stream, lambda text, ending: bedrock_invoke_stream("titan", text, ending=ending)]
)
def test_the_endings_of_a_stream(reply):
    done, cut, error = (reply("one two three four", ending=ending) for ending in ("done", "cut", "error"))
    assert all(b"".join(frame.raw for frame in frames(each.body)) == each.body for each in (done, cut, error))
    assert 0 < len(cut.pieces) < len(done.pieces) and len(error.pieces) == len(cut.pieces) + 1
    assert [failure(each.pieces[-1]) for each in (done, cut, error)] == [
        None,
        None,
        "throttlingException: Too many requests",
    ]


def test_errors():
    reply = bedrock_error(424, "gone", "ModelErrorException")
    assert (reply.status, json.loads(reply.body)) == (424, {"message": "gone"})
    assert ("x-amzn-errortype", "ModelErrorException") in reply.headers
    assert failure(bedrock_exception("internalServerException", "oh")) == "internalServerException: oh"


@pytest.mark.parametrize(
    "operation, body, sign",
    [
        ("invoke", CLAUDE, "content"),
        ("invoke", {"inputText": "hi"}, "results"),
        ("invoke", {"prompt": "hi", "max_gen_len": 7}, "generation"),
        ("invoke", {"prompt": "hi"}, "outputs"),
        ("invoke", {"messages": []}, "output"),
        ("converse", {"messages": []}, "output"),
    ],
)
def test_the_echo_answers_in_the_shape_of_the_request(operation, body, sign):
    whole = json.loads(bedrock_echo(f"/model/m/{operation}", body, "said", "asked").body)
    assert sign in whole and "said" in json.dumps(whole)


@pytest.mark.parametrize("choice", [{"any": {}}, {"tool": {"name": "b"}}])
def test_the_echo_calls_the_tool_that_the_request_insists_on(choice):
    schema = {"type": "object", "properties": {"t": {"type": "string"}}}
    tools = [{"toolSpec": {"name": name, "inputSchema": {"json": schema}}} for name in "ab"]
    body = {"toolConfig": {"tools": [{"cachePoint": {}}, *tools], "toolChoice": choice}}
    found = read(bedrock_converse.DIALECT, CONVERSE, bedrock_echo("/model/m/converse-stream", body, "said", ""))
    (call,) = found.answer.choices[0].tool_calls
    assert (call.name, call.arguments) == ("a" if "any" in choice else "b", {"t": "said"})

import json

import pytest

from onetake.dialects import Promise, Reading
from onetake.dialects.gemini import DIALECT
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import gemini_error, gemini_stream

HOST = "https://generativelanguage.googleapis.com/v1beta"
URL = f"{HOST}/models/gemini-2.5-flash:generateContent"
VERTEX = (
    "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google/models/"
    "gemini-2.5-pro:generateContent"
)
JSON = (("content-type", "application/json; charset=UTF-8"),)
STREAM = (("content-type", "text/event-stream"),)
BLOCKED = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}}
OWN = {
    "type": "OBJECT",
    "title": "Count",
    "properties": {"n": {"type": "INTEGER", "nullable": True}},
    "required": ["n"],
    "propertyOrdering": ["n"],
}
MEANT = {
    "type": "object",
    "title": "Count",
    "properties": {"n": {"type": ["integer", "null"]}},
    "required": ["n"],
}


def asking(url=URL, **more):
    return Request("POST", url, body=json.dumps({"contents": [{"parts": [{"text": "hi"}]}], **more}).encode())


def content(*parts, finish="STOP", **more):
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {}) | more]}


def chunk(*parts, finish=None, usage=None, **more):
    usage = usage or {"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 4}
    return {
        **content(*parts, finish=finish, **more),
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash-001",
        "responseId": "r",
    }


def whole(body):
    return Response(200, JSON, json.dumps(body, ensure_ascii=False, indent=2).encode())


def stream(*chunks):
    said = "".join(f"data: {json.dumps(one, ensure_ascii=False)}\r\n\r\n" for one in chunks)
    return Response(200, STREAM, said.encode())


def array(*chunks, end=""):
    body = "[" + ",\r\n".join(json.dumps(one, ensure_ascii=False, indent=2) + "\n" for one in chunks).rstrip("\n")
    return Response(200, JSON, (body + end).encode())


def reading(choice, **more):
    facts = {"model": "gemini-2.5-flash-001", "input_tokens": 9, "output_tokens": 7}
    return Reading(Answer((choice,)), **(facts | more))


CODE = ({"executableCode": {"language": "PYTHON", "code": "1"}}, {"codeExecutionResult": {"output": "1"}})
TEXT = reading(Choice("Grüße 👋", finish="STOP", reasoning="a greeting"))
TEXT_CHUNKS = (
    chunk({"text": "a greet", "thought": True}, usage={"promptTokenCount": 9, "thoughtsTokenCount": 2}),
    chunk({"text": "ing", "thought": True}, {"text": "Grü"}, usage={"promptTokenCount": 9, "thoughtsTokenCount": 4}),
    chunk({"text": "ße "}, *CODE),
    chunk({"text": "👋"}, finish="STOP", usage={"candidatesTokenCount": 3}),
)
CALLING = {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}
CASES = (
    DialectCase(
        "text, thoughts, code that ran there",
        asking(generationConfig={"responseMimeType": "application/json", "responseSchema": OWN}),
        TEXT,
        whole=whole(
            chunk(
                {"text": "a greeting", "thought": True},
                {"text": "Grüße "},
                *CODE,
                {"text": "👋", "thoughtSignature": "c2ln"},
                finish="STOP",
            )
        ),
        stream=stream(*TEXT_CHUNKS),
        promises=(Promise("text", "Count", MEANT, True),),
        model_asked="gemini-2.5-flash",
    ),
    DialectCase(
        "one array",
        asking(f"{HOST}/tunedModels/mine:streamGenerateContent?key=k"),
        TEXT,
        stream=array(*TEXT_CHUNKS),
        model_asked="tunedModels/mine",
    ),
    DialectCase(
        "tools",
        asking(
            VERTEX,
            tools=[
                {"functionDeclarations": [{"name": "add", "parameters": OWN}, {"name": "now"}]},
                {"googleSearch": {}},
                {"function_declarations": [{"name": "sub", "parametersJsonSchema": MEANT}]},
            ],
            **CALLING,
        ),
        reading(Choice(None, (ToolCall("add", {"n": 1}), ToolCall("now", {})), finish="STOP")),
        whole=whole(
            chunk(
                {"functionCall": {"name": "add", "args": {"n": 1}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "now"}},
                finish="STOP",
                finishMessage="Model generated function call(s).",
            )
        ),
        stream=stream(
            chunk({"functionCall": {"name": "add", "args": {"n": 1}}}),
            chunk({"functionCall": {"name": "now", "args": {}}}, finish="STOP"),
        ),
        promises=(Promise("tool:add", "add", MEANT, True), Promise("tool:sub", "sub", MEANT, True)),
        model_asked="gemini-2.5-pro",
    ),
    DialectCase(
        "cut by length",
        asking(generation_config={"response_mime_type": "application/json", "response_json_schema": MEANT}),
        reading(Choice('{"n": ', finish="MAX_TOKENS")),
        whole=whole(chunk({"text": '{"n": '}, finish="MAX_TOKENS")),
        stream=stream(chunk({"text": '{"n"'}), chunk({"text": ": "}, finish="MAX_TOKENS")),
        promises=(Promise("text", "Count", MEANT, True),),
        model_asked="gemini-2.5-flash",
        length=True,
    ),
    DialectCase(
        "stopped in the middle",
        asking(tools=[{"functionDeclarations": [{"name": "add", "parameters": OWN}]}]),
        reading(Choice("Once", finish="RECITATION", refusal="It is known.")),
        whole=whole(chunk({"text": "Once"}, finish="RECITATION", finishMessage="It is known.")),
        stream=stream(chunk({"text": "Once"}), chunk(finish="RECITATION", finishMessage="It is known.")),
        promises=(Promise("tool:add", "add", MEANT, False),),
        model_asked="gemini-2.5-flash",
        refusal=True,
    ),
    DialectCase(
        "prompt blocked",
        asking(),
        Reading(Answer((Choice(refusal="PROHIBITED_CONTENT"),)), input_tokens=4),
        whole=whole(
            {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}}
        ),
        stream=stream(
            {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}}
        ),
        model_asked="gemini-2.5-flash",
        refusal=True,
    ),
    DialectCase(
        "two candidates, out of order",
        asking(generationConfig={"candidateCount": 2}),
        Reading(Answer((Choice("zero", finish="STOP"), Choice("one", finish="SAFETY")))),
        whole=whole(
            {
                "candidates": [
                    {**content({"text": "one"}, finish="SAFETY")["candidates"][0], "index": 1},
                    {"content": {"parts": [{"text": "zero"}]}, "finishReason": "STOP"},
                ]
            }
        ),
        stream=stream(
            {"candidates": [{"content": {"parts": [{"text": "o"}]}, "index": 1}]},
            {"candidates": [{"content": {"parts": [{"text": "ze"}]}, "index": 0}]},
            {
                "candidates": [
                    {"content": {"parts": [{"text": "ne"}]}, "finishReason": "SAFETY", "index": 1},
                    {"content": {"parts": [{"text": "ro"}]}, "finishReason": "STOP"},
                ]
            },
        ),
        model_asked="gemini-2.5-flash",
    ),
    DialectCase(
        "error object under 200",
        asking(),
        Reading(error="Overloaded"),
        whole=whole({"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}),
        model_asked="gemini-2.5-flash",
    ),
    DialectCase(
        "error in the middle",
        asking(),
        reading(Choice("He"), error="Overloaded", terminal=False),
        stream=stream(chunk({"text": "He"}), {"error": {"code": 503, "message": "Overloaded"}}),
        model_asked="gemini-2.5-flash",
    ),
)


class TestGemini(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("POST", VERTEX),
        ("POST", f"{HOST}/models/gemini-2.5-flash:streamGenerateContent?alt=sse&key=k"),
        ("POST", "http://127.0.0.1:8080/gemini/v1beta/tunedModels/mine:generateContent"),
        ("POST", f"{HOST}/models/g%3AgenerateContent"),
        ("POST", "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/g:streamGenerateContent?alt=sse"),
    )
    silent = (
        ("GET", URL),
        ("POST", f"{HOST}/models/gemini-2.5-flash:countTokens"),
        ("POST", f"{HOST}/models/gemini-2.5-flash:embedContent"),
        ("POST", f"{HOST}/models/gemini-2.5-flash:batchGenerateContent"),
        ("POST", f"{HOST}/openai/chat/completions"),
        ("POST", f"{HOST}/cachedContents"),
    )
    cases = CASES


@pytest.mark.parametrize("end", ["", "\n]", "\n]\n"])
def test_an_array_reads_as_events_do(end):
    assert DIALECT.read(asking(), array(*TEXT_CHUNKS, end=end)) == TEXT


def test_an_array_without_a_finish_reason_is_not_finished():
    found = DIALECT.read(asking(), array(*TEXT_CHUNKS[:3], end="\n]"))
    assert not found.terminal
    assert found.answer.choices[0].text == "Grüße "


@pytest.mark.parametrize("array_of_one", [False, True])
def test_an_error_is_read_alone_and_in_an_array(array_of_one):
    reply = gemini_error(200, "Overloaded", "UNAVAILABLE", array=array_of_one)
    assert DIALECT.read(asking(), Response(200, reply.headers, reply.body)).error == "Overloaded"


def test_an_error_in_the_middle_of_an_array_is_found():
    reply = gemini_stream("a b c d", array=True, ending="error")
    found = DIALECT.read(asking(), Response(200, reply.headers, reply.body))
    assert (found.error, found.terminal) == ("The model is overloaded.", False)


def test_a_block_behind_some_text_is_a_refusal():
    blocked = {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "unsafe"}}
    found = DIALECT.read(asking(), stream(chunk({"text": "He"}), blocked))
    assert found.answer.choices == (Choice("He", refusal="unsafe"),)
    assert found.terminal

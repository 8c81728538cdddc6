"""What a request to Gemini promises of its answer, and how the gate holds the answer to it."""

import json

import pytest

from onetake.dialects.gemini import DIALECT
from onetake.gate import Kind, judge
from onetake.model import Request, Response

URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent"
JSON = (("content-type", "application/json; charset=UTF-8"),)
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


def saying(text):
    candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": "STOP", "index": 0}
    return Response(200, JSON, json.dumps({"candidates": [candidate]}).encode())


@pytest.mark.parametrize(
    ("config", "enforced"),
    [
        ({"responseMimeType": "application/json", "responseSchema": OWN}, [True]),
        ({"responseSchema": OWN}, [False]),
        ({"responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING", "enum": ["a", "b"]}}, []),
        ({"responseMimeType": "application/json"}, []),
        ({"responseMimeType": "application/json", "responseJsonSchema": MEANT}, [True]),
    ],
)
def test_a_schema_is_promised_with_a_json_answer_only(config, enforced):
    assert [promise.enforced for promise in DIALECT.promises(asking(generationConfig=config))] == enforced


@pytest.mark.parametrize(("mode", "enforced"), [("ANY", True), ("VALIDATED", True), ("any", True), ("AUTO", False)])
def test_tools_are_promised_in_the_modes_that_hold_the_model_to_them(mode, enforced):
    tools = [{"functionDeclarations": [{"name": "add", "parameters": OWN}]}]
    asked = asking(tools=tools, toolConfig={"functionCallingConfig": {"mode": mode}})
    assert [promise.enforced for promise in DIALECT.promises(asked)] == [enforced]


@pytest.mark.parametrize(
    ("said", "kind", "reason"),
    [
        ('{"n": 1}', Kind.GOOD, ""),
        ('{"n": null}', Kind.GOOD, ""),
        ('{"n": "1"}', Kind.REJECT, "violation"),
        ("{}", Kind.REJECT, "violation"),
    ],
)
def test_the_gate_holds_an_answer_to_the_own_dialect(tmp_path, said, kind, reason):
    asked = asking(generationConfig={"responseMimeType": "application/json", "responseSchema": OWN})
    found = judge(asked, saying(said), root=tmp_path)
    assert (found.kind, found.reason) == (kind, reason)

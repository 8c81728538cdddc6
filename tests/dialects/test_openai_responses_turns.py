import json
from pathlib import Path

import pytest

from onetake import gate
from onetake.contract import Contract
from onetake.dialects import Reading
from onetake.dialects.openai_responses import DIALECT
from onetake.model import Answer, Request, Response, ToolCall

JSON = (("content-type", "application/json"),)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
NUMBERS = Contract(SCHEMA, name="numbers")
STRICT = {"format": {"type": "json_schema", "name": "numbers", "schema": SCHEMA, "strict": True}}


def asking(**more):
    return Request("POST", "https://api.openai.com/v1/responses", body=json.dumps({"model": "gpt-5", **more}).encode())


def body(*output, status="completed"):
    said = {"object": "response", "status": status, "model": "gpt-5-1", "output": list(output)}
    return Response(200, JSON, json.dumps(said).encode())


def test_what_the_program_must_do_is_a_tool_call_what_the_provider_did_is_none():
    output = (
        {"type": "web_search_call", "action": {"type": "search", "query": "q"}},
        {"type": "mcp_call", "name": "roll", "arguments": "{}", "output": "4"},
        {"type": "function_call_output", "output": "4"},
        {"type": "computer_call", "action": {"type": "screenshot"}},
        {"type": "computer_call", "actions": [{"type": "wait"}]},
        {"type": "local_shell_call", "action": {"command": ["ls"]}},
        {"type": "shell_call", "action": {"commands": ["ls"]}},
        {"type": "apply_patch_call", "operation": {"type": "delete_file", "path": "a"}},
    )
    assert DIALECT.read(asking(), body(*output)).answer.choices[0].tool_calls == (
        ToolCall("computer", {"type": "screenshot"}),
        ToolCall("computer", [{"type": "wait"}]),
        ToolCall("local_shell", {"command": ["ls"]}),
        ToolCall("shell", {"commands": ["ls"]}),
        ToolCall("apply_patch", {"type": "delete_file", "path": "a"}),
    )


SHELL = {"type": "shell_call", "action": {"commands": ["ls"]}, "status": "completed"}
LOOK_FOR = {"type": "tool_search_call", "arguments": {"q": "crm"}, "status": "completed"}
APPROVE = {"type": "mcp_approval_request", "id": "a", "server_label": "dice", "name": "roll", "arguments": "{}"}


def said(text):
    return {"type": "message", "content": [{"type": "output_text", "text": text}]}


@pytest.mark.parametrize(
    "item, call",
    [
        (APPROVE, ToolCall("mcp_approval_request", {"server_label": "dice", "name": "roll", "arguments": "{}"})),
        (LOOK_FOR | {"execution": "client"}, ToolCall("tool_search", {"q": "crm"})),
        (SHELL | {"environment": {"type": "local"}}, ToolCall("shell", {"commands": ["ls"]})),
        (SHELL | {"environment": None}, ToolCall("shell", {"commands": ["ls"]})),
    ],
)
def test_a_turn_that_asks_the_program_keeps_no_promise_of_a_text(item, call):
    assert DIALECT.read(asking(), body(item)).answer.choices[0].tool_calls == (call,)
    found = gate.judge(asking(text=STRICT), body(item), [NUMBERS], root=Path())
    assert (found.verdict, found.unjudged) == ("good", True)


@pytest.mark.parametrize(
    "item",
    [
        LOOK_FOR | {"execution": "server"},
        SHELL | {"environment": {"type": "container_reference", "container_id": "c"}},
        {"type": "mcp_call", "name": "roll", "arguments": "{}", "output": "4"},
    ],
)
def test_what_ran_at_the_provider_does_not_hide_the_text(item):
    for text, verdict in (('{"n": 1}', "good"), ('{"n": "one"}', "reject:violation")):
        assert gate.judge(asking(text=STRICT), body(item, said(text)), root=Path()).verdict == verdict
        found = gate.judge(asking(), body(item, said(text)), [NUMBERS], root=Path())
        assert (found.verdict, found.unjudged) == (verdict, False)


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelled"])
def test_a_response_that_did_not_end_keeps_no_promise(status):
    response = body(said("half of i"), status=status)
    assert DIALECT.read(asking(), response) == Reading(Answer(), model="gpt-5-1")
    found = gate.judge(asking(text=STRICT), response, [NUMBERS], root=Path())
    assert (found.verdict, found.unjudged) == ("good", True)

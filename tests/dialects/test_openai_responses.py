import json

import pytest

from onetake.dialects import Promise, Reading
from onetake.dialects.openai_responses import DIALECT
from onetake.events import events
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import openai_response, openai_response_stream

URL = "https://api.openai.com/v1/responses"
JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream; charset=utf-8"),)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
USAGE = {"input_tokens": 9, "output_tokens": 3}


def asking(**more):
    return Request("POST", URL, body=json.dumps({"model": "gpt-5", "input": "hi", **more}).encode())


def replied(reply):
    return Response(reply.status, reply.headers, reply.body)


def slim(value):
    """Leave out what no dialect reads: the suite cuts a body at every byte and spoils every value."""
    if isinstance(value, list):
        return [slim(item) for item in value]
    if not isinstance(value, dict):
        return value
    unread = {"id", "item_id", "call_id", "created_at", "logprobs", "annotations", "role", "metadata", "tools", "usage"}
    unread |= {"instructions", "temperature", "top_p", "tool_choice", "parallel_tool_calls", "sequence_number"}
    unread |= {"max_output_tokens", "object"}
    kept = {key: slim(item) for key, item in value.items() if key not in unread}
    return kept | ({"usage": USAGE} if value.get("usage") else {})


def both(*text, **said):
    """One answer in both forms, from the scripted provider."""
    whole, streamed = openai_response(*text, model="gpt-5-1", **said), openai_response_stream(*text, **said)
    steps = [slim(json.loads(event.data)) for event in events(replied(streamed))]
    kept = [
        step for step in steps if not step["type"].endswith(("in_progress", "part.added", "part.done", "_text.done"))
    ]
    for step in kept:
        step.get("response", {}).update(model="gpt-5-1")
    return {"whole": Response(200, JSON, json.dumps(slim(json.loads(whole.body))).encode()), "stream": stream(*kept)}


def reading(choice, **more):
    return Reading(Answer((choice,)), model="gpt-5-1", input_tokens=9, output_tokens=3, **more)


def body(*output, status="completed", **more):
    said = {"object": "response", "status": status, "model": "gpt-5-1", "output": list(output), **more}
    return Response(200, JSON, json.dumps(said).encode())


def stream(*steps, headers=SSE, named=True, end=""):
    lines = [f"event: {step['type']}\n" * named + f"data: {json.dumps(step)}\n\n" for step in steps]
    return Response(200, headers, ("".join(lines) + end).encode())


def step(kind, **more):
    return {"type": f"response.{kind}", **more}


TOOLS = [
    {"type": "function", "name": "add", "parameters": SCHEMA, "strict": True},
    {"type": "function", "name": "sub", "parameters": SCHEMA},
    {"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "find", "parameters": SCHEMA}]},
    {"type": "custom", "name": "grep"},
    {"type": "web_search"},
]
STRICT = {"format": {"type": "json_schema", "name": "numbers", "schema": SCHEMA, "strict": True}}
LOOSE = {"format": {"type": "json_schema", "name": "numbers", "schema": SCHEMA}}

CASES = (
    DialectCase(
        "text",
        asking(),
        reading(Choice("Grüße 👋 an alle", finish="completed")),
        **both("Grüße 👋 an alle"),
        model_asked="gpt-5",
    ),
    DialectCase(
        "tool calls after words and reasoning",
        asking(tools=TOOLS, text=LOOSE),
        reading(
            Choice(
                "One moment.",
                (ToolCall("add", {"n": 1}), ToolCall("sub", '{"n": 2'), ToolCall("now", "")),
                "completed",
                reasoning="They want both.",
            )
        ),
        **both(
            "One moment.",
            reasoning="They want both.",
            tool_calls=[("add", {"n": 1}), ("sub", '{"n": 2'), ("now", "")],
        ),
        promises=(
            Promise("text", "numbers", SCHEMA, False),
            Promise("tool:add", "add", SCHEMA, True),
            Promise("tool:sub", "sub", SCHEMA, False),
            Promise("tool:find", "find", SCHEMA, False),
        ),
        model_asked="gpt-5",
    ),
    DialectCase(
        "refusal",
        asking(text=STRICT),
        reading(Choice(refusal="I can't help with that.", finish="completed")),
        **both(refusal="I can't help with that."),
        promises=(Promise("text", "numbers", SCHEMA, True),),
        model_asked="gpt-5",
        refusal=True,
    ),
    DialectCase(
        "cut by the limit",
        asking(max_output_tokens=16),
        reading(Choice('{"n": ', finish="max_output_tokens", reasoning="Long")),
        **both('{"n": ', reasoning="Long", finish="max_output_tokens"),
        model_asked="gpt-5",
        length=True,
    ),
    DialectCase(
        "stopped by a filter",
        asking(),
        reading(Choice("Well", finish="content_filter")),
        **both("Well", finish="content_filter"),
        model_asked="gpt-5",
        refusal=True,
    ),
    DialectCase(
        "commentary before the final answer",
        asking(text=STRICT),
        reading(Choice('{"n": 1}', finish="completed", reasoning="Let me count.")),
        **both('{"n": 1}', commentary="Let me count."),
        promises=(Promise("text", "numbers", SCHEMA, True),),
        model_asked="gpt-5",
    ),
    DialectCase(
        "a stream whose last event has no items, and no event names",
        asking(),
        Reading(Answer((Choice("Hello", (ToolCall("grep", "42"),), "completed", reasoning="ab"),)), model="gpt-5-1"),
        stream=stream(
            step("created", response={"status": "in_progress", "model": "gpt-5-1", "output": []}),
            step("output_item.added", output_index=0, item={"type": "reasoning", "summary": []}),
            step("reasoning_text.delta", output_index=0, content_index=0, delta="a"),
            step("reasoning_text.delta", output_index=0, content_index=1, delta="b"),
            step("output_item.added", output_index=1, item={"type": "message", "content": []}),
            step("output_text.delta", output_index=1, content_index=0, delta="Hel"),
            step("output_text.delta", output_index=1, content_index=0, delta="lo"),
            step("output_item.added", output_index=2, item={"type": "custom_tool_call", "name": "grep", "input": ""}),
            step("custom_tool_call_input.delta", output_index=2, delta="4"),
            step("custom_tool_call_input.delta", output_index=2, delta="2"),
            step("completed", response={"status": "completed", "output": []}),
            headers=JSON,
            named=False,
        ),
        model_asked="gpt-5",
    ),
    DialectCase(
        "a response in the background, not begun",
        asking(background=True),
        Reading(Answer(), model="gpt-5-1"),
        whole=body(status="queued"),
        model_asked="gpt-5",
    ),
    DialectCase(
        "a response in the background, fetched half-way",
        Request("GET", URL + "/resp_1"),
        Reading(Answer(), model="gpt-5-1"),
        whole=body({"type": "message", "content": [{"text": "half of i"}]}, status="in_progress"),
    ),
    DialectCase(
        "a response in the background, fetched whole",
        Request("GET", URL + "/resp_1?stream=true&starting_after=4"),
        reading(Choice("Here it is.", finish="completed")),
        **both("Here it is."),
    ),
    DialectCase(
        "failed",
        asking(),
        Reading(Answer((Choice(finish="failed"),)), error="The model stopped", model="gpt-5-1"),
        whole=body(status="failed", error={"code": "server_error", "message": "The model stopped"}),
        stream=stream(
            step("created", response={"status": "in_progress", "model": "gpt-5-1", "output": []}),
            step("failed", response={"status": "failed", "error": {"code": "e", "message": "The model stopped"}}),
        ),
        model_asked="gpt-5",
    ),
    DialectCase(
        "error event",
        asking(),
        Reading(error="Too much", terminal=False),
        stream=stream({"type": "error", "code": "rate_limit_exceeded", "message": "Too much", "param": None}),
        model_asked="gpt-5",
    ),
    DialectCase(
        "error object under 200",
        asking(),
        Reading(error="out of cheese"),
        whole=Response(200, JSON, b'{"error": {"message": "out of cheese", "type": "server_error"}}'),
        model_asked="gpt-5",
    ),
)


class TestOpenAIResponses(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("POST", URL + "/"),
        ("POST", "https://x.openai.azure.com/openai/responses?api-version=2025-03-01-preview"),
        ("POST", "https://x.openai.azure.com/openai/v1/responses"),
        ("POST", "https://openrouter.ai/api/v1/responses"),
        ("POST", "http://127.0.0.1:4000/responses"),
        ("GET", URL + "/resp_68af4030?include=reasoning"),
    )
    silent = (
        ("GET", URL),
        ("DELETE", URL + "/resp_68af4030"),
        ("GET", URL + "/resp_68af4030/input_items"),
        ("POST", URL + "/resp_68af4030/cancel"),
        ("POST", URL + "/compact"),
        ("POST", URL + "/input_tokens"),
        ("POST", "https://api.openai.com/v1/conversations"),
        ("POST", "http://localhost:8000/forms/7/responses"),
        ("GET", "http://localhost:8000/v1/responses/7"),
        ("POST", "https://api.openai.com/v1/chat/completions?next=/v1/responses"),
    )
    cases = CASES


def test_a_stream_that_stops_keeps_what_came():
    cut = replied(openai_response_stream("one two three four five six", ending="cut", model="gpt-5-1"))
    found = DIALECT.read(asking(), cut)
    assert not found.terminal
    assert found.error is None
    assert found.answer == Answer((Choice("one two"),))


@pytest.mark.parametrize("ending, terminal", [("error", False), ("failed", True)])
def test_a_stream_that_fails_says_why(ending, terminal):
    found = DIALECT.read(asking(), replied(openai_response_stream("one two three", ending=ending)))
    assert (found.error, found.terminal) == ("The model stopped", terminal)


def test_a_failed_response_without_an_error_is_an_error():
    assert DIALECT.read(asking(), body(status="failed", error=None)).error == "failed"


def test_every_event_that_ends_a_stream_in_the_sdk_is_terminal():
    module = pytest.importorskip("openai.types.responses")
    union = module.ResponseStreamEvent.__args__[0].__args__
    kinds = [variant.model_fields["type"].annotation.__args__[0] for variant in union]
    whole = [each for each, kind in zip(union, kinds, strict=True) if "response" in each.model_fields]
    ends = {each.model_fields["type"].annotation.__args__[0] for each in whole}
    terminal = {kind for kind in kinds if DIALECT.is_terminal(events(stream({"type": kind}))[0])}
    assert terminal == ends - {"response.created", "response.in_progress", "response.queued"}


def test_the_reasons_of_an_incomplete_response_are_the_sdks():
    module = pytest.importorskip("openai.types.responses.response")
    reasons = module.IncompleteDetails.model_fields["reason"].annotation.__args__[0].__args__
    assert {word for word in reasons if DIALECT.is_length(Choice(finish=word))} == {"max_output_tokens"}
    assert {word for word in reasons if DIALECT.is_refusal(Choice(finish=word))} == {"content_filter"}

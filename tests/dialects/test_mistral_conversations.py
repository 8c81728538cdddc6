import json

from onetake.dialects import Promise, Reading, find
from onetake.dialects.mistral_conversations import DIALECT
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.testing.dialects import DialectCase, DialectConformance

URL = "https://api.mistral.ai/v1/conversations"
JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream; charset=utf-8"),)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12, "connector_tokens": 4}


def asking(url=URL, **more):
    return Request("POST", url, body=json.dumps({"inputs": "hi", **more}).encode())


def whole(*outputs):
    body = {"object": "conversation.response", "conversation_id": "c", "outputs": list(outputs), "usage": USAGE}
    return Response(200, JSON, json.dumps(body, ensure_ascii=False).encode())


def event(kind, **more):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more}, ensure_ascii=False)}\n\n".encode()


def stream(*events, ended=True):
    end = [event("conversation.response.done", usage=USAGE)] if ended else []
    return Response(200, SSE, b"".join([event("conversation.response.started", conversation_id="c"), *events, *end]))


def message(content, **more):
    return {"type": "message.output", "id": "m", "role": "assistant", "content": content, "model": "m-1", **more}


def delta(content, index=0, name="m"):
    return event("message.output.delta", id=name, output_index=index, content=content, model="m-1")


def call(name, arguments):
    return {"type": "function.call", "id": "f", "tool_call_id": "t", "name": name, "arguments": arguments}


def call_delta(name, arguments, index):
    return event(
        "function.call.delta", id=f"f{index}", output_index=index, tool_call_id="t", name=name, arguments=arguments
    )


def reading(choice, **more):
    return Reading(Answer((choice,)), **{"model": "m-1", "input_tokens": 9, "output_tokens": 3, **more})


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "a greeting"}]}
CASES = (
    DialectCase(
        "text around a tool that ran there",
        asking(
            model="mistral-small",
            completion_args={
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "count", "schema": SCHEMA, "strict": True},
                }
            },
        ),
        reading(Choice("Grüße 👋", reasoning="a greeting")),
        whole=whole(
            message([THOUGHT, {"type": "text", "text": "Grüße "}]),
            {"type": "tool.execution", "name": "web_search", "arguments": '{"query": "hi"}'},
            message("👋"),
        ),
        stream=stream(
            delta(THOUGHT),
            delta({"type": "text", "text": "Grü"}),
            delta("ße "),
            event("tool.execution.started", output_index=1, id="x", name="web_search", arguments="{}"),
            event("tool.execution.done", output_index=1, id="x", name="web_search"),
            delta("👋", 2, "m2"),
        ),
        promises=(Promise("text", "count", SCHEMA, True),),
        model_asked="mistral-small",
    ),
    DialectCase(
        "functions",
        asking(
            f"{URL}/conv_1/restart",
            agent_id="ag_1",
            tools=[{"type": "function", "function": {"name": "add", "parameters": SCHEMA}}, {"type": "web_search"}],
        ),
        reading(Choice(None, (ToolCall("add", {"n": 1}), ToolCall("now", {}))), model=None),
        whole=whole(call("add", '{"n": 1}'), call("now", {})),
        stream=stream(call_delta("add", '{"n"', 0), call_delta("add", ": 1}", 0), call_delta("now", "{}", 1)),
        promises=(Promise("tool:add", "add", SCHEMA, False),),
        model_asked="ag_1",
    ),
    DialectCase(
        "error in the middle",
        asking(f"{URL}/conv_1"),
        Reading(Answer((Choice("He"),)), "out of memory", False, "m-1"),
        stream=stream(
            delta("He"), event("conversation.response.error", message="out of memory", code=500), ended=False
        ),
    ),
    DialectCase(
        "error object under 200",
        asking(),
        Reading(error="Overloaded"),
        whole=Response(200, JSON, b'{"object": "error", "message": "Overloaded", "type": "service_unavailable"}'),
    ),
    DialectCase(
        "a conversation of OpenAI",
        Request("POST", "https://api.openai.com/v1/conversations", body=b'{"items": []}'),
        Reading(Answer()),
        whole=Response(200, JSON, b'{"id": "conv_1", "object": "conversation", "created_at": 1}'),
    ),
)


class TestMistralConversations(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("POST", f"{URL}/conv_1"),
        ("POST", f"{URL}/conv_1/restart"),
        ("POST", "http://127.0.0.1:8080/mistral/v1/conversations/"),
    )
    silent = (
        ("GET", f"{URL}/conv_1"),
        ("POST", "https://api.openai.com/v1/conversations/conv_1/items"),
        ("POST", "https://api.mistral.ai/v1/agents/completions"),
    )
    cases = CASES


def test_br_063_a_cut_stream_is_not_finished():
    found = DIALECT.read(asking(), stream(delta("Hello"), ended=False))
    assert found == Reading(Answer((Choice("Hello"),)), terminal=False, model="m-1")


def test_the_other_answers_of_mistral_are_those_of_openai_chat():
    for path in ("chat/completions", "agents/completions", "fim/completions"):
        assert find("POST", f"https://api.mistral.ai/v1/{path}").name == "openai-chat", path
    assert find("POST", "https://api.mistral.ai/v1/embeddings").name == "openai-embeddings"


def test_a_turn_that_hands_over_to_another_agent_holds_no_answer_yet():
    handed = {"type": "agent.handoff", "id": "h", "previous_agent_id": "a", "next_agent_id": "b"}
    done = event("agent.handoff.done", id="h", output_index=1, next_agent_id="b", next_agent_name="B")
    expected = Reading(Answer(), model="m-1", input_tokens=9, output_tokens=3)
    assert DIALECT.read(asking(), whole(message("One moment."), handed)) == expected
    assert DIALECT.read(asking(), stream(delta("One moment."), done)) == expected
    went_on = DIALECT.read(asking(), whole(handed, message("Here.")))
    assert went_on.answer == Answer((Choice("Here."),))

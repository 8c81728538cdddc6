"""What a request hangs on that is not in it."""

import json

import pytest

from onetake.model import Request
from onetake.probing.state import state

OPENAI = "https://api.openai.com/v1/responses"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/g:generateContent"


def asked(body, url=OPENAI):
    return state(Request("POST", url, (), json.dumps(body).encode()))


def items(*found):
    return {"model": "m", "input": list(found)}


CHAT = {"model": "m", "messages": [{"role": "user", "content": "file_id: file-1"}]}
FILE = {"file_id": "own"}
REQUEST = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "x"}
APPROVED = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}


@pytest.mark.parametrize(
    "body",
    [
        CHAT,
        {**CHAT, "previous_response_id": None, "conversation": "", "container": {"skills": []}},
        {**CHAT, "session_id": "my-run", "plugins": [{"id": "web"}], "metadata": FILE},
        {**CHAT, "prompt": "prompt-1"},
        {**CHAT, "tools": [{"function": {"parameters": {"properties": {"file_id": {"type": "string"}}}}}]},
        {**CHAT, "tools": [{"input_schema": {"required": ["file_id"], "file_ids": ["x"]}}]},
        {**CHAT, "response_format": {"json_schema": {"schema": {"$defs": {"file_ids": ["a"]}}}}},
        {**CHAT, "messages": [{"content": [{"type": "tool_use", "input": FILE}]}]},
        {**CHAT, "messages": [{"content": [{"type": "mcp_tool_use", "input": FILE}]}]},
        {**CHAT, "messages": [{"content": [{"toolResult": {"content": [{"json": FILE}]}}]}]},
        {**CHAT, "messages": [{"role": "assistant", "audio": {"data": "aGk="}}]},
        {**CHAT, "documents": [{"data": FILE}]},
        {**CHAT, "documents": [FILE]},
        {**CHAT, "tool_results": [{"outputs": [FILE]}]},
        {"contents": [{"parts": [{"functionResponse": {"name": "f", "response": FILE}}]}]},
        {"contents": [{"parts": [{"fileData": {"fileUri": "https://www.youtube.com/watch?v=x"}}]}]},
        {"contents": [{"parts": [{"file_data": {"file_uri": "https://youtu.be/x"}}]}]},
        items({"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}),
        items({"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "Hm"}]}),
        items({"type": "image_generation_call", "id": "ig_1", "result": "aGk="}),
        items(REQUEST, APPROVED),
        {**items(), "tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]},
        {**items(), "tools": [{"type": "custom", "name": "x"}]},
    ],
)
def test_what_holds_all_that_is_asked_hangs_on_nothing(body):
    assert asked(body) == ""


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"model": "m", "input": "x", "previous_response_id": "resp_1"}, "previous_response_id"),
        ({"model": "m", "input": "x", "conversation": "conv_1"}, "conversation"),
        ({"model": "m", "input": "x", "conversation": {"id": "conv_1"}}, "conversation"),
        ({"prompt": {"id": "pmpt_1", "version": "2"}}, "prompt"),
        ({**CHAT, "container": "container_1"}, "container"),
        ({**CHAT, "container": {"skills": [{"type": "custom", "skill_id": "skill_1"}]}}, "custom"),
        ({**CHAT, "messages": [{"role": "assistant", "audio": {"id": "audio_1"}}]}, "audio"),
        (items({"type": "input_file", "file_id": "file-1"}), "file_id"),
        (items({"type": "item_reference", "id": "msg_1"}), "item_reference"),
        (items({"id": "msg_1"}), "item_reference"),
        (items({"type": "reasoning", "id": "rs_1", "summary": []}), "reasoning"),
        (items({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": None}), "reasoning"),
        (items({"type": "image_generation_call", "id": "ig_1"}), "image_generation_call"),
        (items(APPROVED), "mcp_approval_response"),
        ({**items(), "tools": [{"type": "code_interpreter", "container": "cntr_1"}]}, "code_interpreter"),
        ({**items(), "tools": [{"type": "file_search", "vector_store_ids": ["vs"]}]}, "vector_store"),
        ({"contents": [], "cachedContent": "cachedContents/1"}, "cachedContent"),
        ({"contents": [{"parts": [{"fileData": {"fileUri": "gs://bucket/a"}}]}]}, "fileUri"),
        ({"contents": [{"parts": [{"fileData": {"fileUri": "files/a"}}]}]}, "fileUri"),
        ({"contents": [{"parts": [{"fileData": {"fileUri": "https://[x"}}]}]}, "fileUri"),
    ],
)
def test_what_the_provider_keeps_is_named(body, why):
    assert why in asked(body)


@pytest.mark.parametrize("host", ["generativelanguage.googleapis.com", "gemini.example"])
def test_a_file_at_the_provider_is_kept_there_whatever_host_is_asked(host):
    body = {"contents": [{"parts": [{"fileData": {"fileUri": f"https://{host}/v1beta/files/a"}}]}]}
    assert "fileUri" in asked(body, GEMINI.replace("generativelanguage.googleapis.com", "gemini.example"))


def test_a_conversation_that_goes_on_is_kept():
    assert "a conversation" in asked({}, "https://api.mistral.ai/v1/conversations/conv_1")


def test_a_body_that_is_nested_deep_is_walked():
    body = FILE
    for _ in range(400):
        body = [body]
    assert "file_id" in asked(items(body))

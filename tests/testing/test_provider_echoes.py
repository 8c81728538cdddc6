"""What the provider answers by itself in the shapes of Gemini, Ollama and Cohere, as their dialects read it."""

import json
from pathlib import Path

import httpx
import pytest

from onetake.gate import judge
from onetake.model import Answer, Request, Response

SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
OWN = {"type": "OBJECT", "properties": {"label": {"type": "STRING"}}, "required": ["label"]}
USER = [{"role": "user", "content": "hi"}]
CONTENTS = [{"role": "user", "parts": [{"text": "hi"}]}]
BLOCKS = [{"role": "user", "content": [{"text": "hi"}]}]
FORMAT = {"type": "json_schema", "schema": SCHEMA}
STRICT = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}}
STRUCTURE = {
    "textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"name": "reply", "schema": json.dumps(SCHEMA)}}}
}
GEMINI = "/v1beta/models/g"
TOOL = {"type": "function", "function": {"name": "say", "parameters": SCHEMA}}


def asked(path, body):
    return Request("POST", "http://127.0.0.1" + path, body=json.dumps(body).encode())


def judged(provider, path, body):
    got = httpx.post(provider.url + path, json=body)
    request = Request("POST", provider.url + path, body=got.request.content)
    response = Response(got.status_code, tuple(got.headers.items()), got.content)
    return judge(request, response, root=Path())


def read(provider, path, body):
    return judged(provider, path, body).reading


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{GEMINI}:generateContent", {"contents": CONTENTS}),
        (f"{GEMINI}:streamGenerateContent?alt=sse", {"contents": CONTENTS}),
        (f"{GEMINI}:streamGenerateContent", {"contents": CONTENTS}),
        ("/api/chat", {"model": "m", "messages": USER}),
        ("/api/chat", {"model": "m", "messages": USER, "stream": False}),
        ("/api/generate", {"model": "m", "prompt": "hi"}),
        ("/api/generate", {"model": "m", "prompt": "hi", "stream": False}),
        ("/v2/chat", {"model": "m", "messages": USER}),
        ("/v2/chat", {"model": "m", "messages": USER, "stream": True}),
        ("/v1/chat", {"model": "m", "message": "hi"}),
        ("/v1/chat", {"model": "m", "message": "hi", "stream": True}),
    ],
)
def test_the_echo_is_numbered_and_whole(provider, path, body):
    for number in (1, 2):
        found = read(provider, path, body)
        assert found.answer.choices[0].text == f"answer {number} to: hi"
        assert found.terminal and found.error is None and found.answer.choices[0].finish


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (
            f"{GEMINI}:generateContent",
            {
                "contents": CONTENTS,
                "generationConfig": {"responseMimeType": "application/json", "responseSchema": OWN},
            },
        ),
        ("/api/chat", {"model": "m", "messages": USER, "format": SCHEMA}),
        ("/v1/chat/completions", {"messages": USER, "response_format": STRICT}),
        ("/v1/responses", {"input": "hi", "text": {"format": FORMAT | {"name": "reply", "strict": True}}}),
        ("/v1/messages", {"messages": USER, "output_config": {"format": FORMAT}}),
        ("/v1/messages", {"messages": USER, "output_config": {"format": FORMAT}, "stream": True}),
        ("/model/m/converse", {"messages": BLOCKS, "outputConfig": STRUCTURE}),
        ("/model/m/converse-stream", {"messages": BLOCKS, "outputConfig": STRUCTURE}),
        ("/model/m/invoke", {"anthropic_version": "1", "messages": USER, "output_config": {"format": FORMAT}}),
        ("/v1/chat", {"model": "m", "message": "hi", "response_format": {"type": "json_object", "schema": SCHEMA}}),
        (
            "/v2/chat",
            {"model": "m", "messages": USER, "response_format": {"type": "json_object", "json_schema": SCHEMA}},
        ),
    ],
)
def test_a_schema_is_filled(provider, path, body):
    found = judged(provider, path, body)
    assert json.loads(found.reading.answer.choices[0].text) == {"label": "answer 1 to: hi"}
    assert (found.verdict, [each.enforced for each in found.dialect.promises(asked(path, body))]) == ("good", [True])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (
            f"{GEMINI}:streamGenerateContent",
            {
                "contents": CONTENTS,
                "tools": [{"functionDeclarations": [{"name": "say", "parameters": OWN}]}],
                "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
            },
        ),
        ("/v2/chat", {"model": "m", "messages": USER, "tools": [TOOL], "tool_choice": "REQUIRED", "stream": True}),
    ],
)
def test_a_tool_that_is_insisted_on_is_called(provider, path, body):
    (call,) = read(provider, path, body).answer.choices[0].tool_calls
    assert (call.name, call.arguments) == ("say", {"label": "answer 1 to: hi"})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{GEMINI}:embedContent", {"content": {"parts": [{"text": "a"}]}}),
        (f"{GEMINI}:batchEmbedContents", {"requests": [{"content": {"parts": [{"text": "a"}]}}]}),
        ("/v1/publishers/google/models/text-embedding-005:predict", {"instances": [{"content": "a"}]}),
        ("/api/embed", {"model": "m", "input": "a"}),
        ("/api/embeddings", {"model": "m", "prompt": "a"}),
        ("/v1/embed", {"model": "m", "texts": ["a"]}),
        ("/v2/embed", {"model": "m", "texts": ["a"]}),
        ("/v2/rerank", {"model": "m", "query": "q", "documents": ["a", "b"]}),
    ],
)
def test_vectors_are_answers_without_choices(provider, path, body):
    assert read(provider, path, body).answer == Answer()

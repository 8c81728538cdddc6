"""What the fields of requests mean, and whose words stand in a prompt."""

from __future__ import annotations

import pytest

from onetake import dialects
from onetake.dialects.fields import Field, Speaker, field, has_words, speaker

ROLES = [("user", Speaker.PERSON), ("system", Speaker.PERSON), ("assistant", Speaker.MODEL), ("tool", Speaker.TOOL)]


@pytest.mark.parametrize(
    ("dialect", "name", "meaning"),
    [
        ("openai-chat", "messages", Field.PROMPT),
        ("openai-chat", "input", Field.OTHER),
        ("openai-responses", "input", Field.PROMPT),
        ("openai-responses", "prompt", Field.CONTEXT),
        ("openai-responses", "text", Field.PARAMETER),
        ("anthropic-messages", "output_format", Field.SCHEMA),
        ("ollama", "format", Field.SCHEMA),
        ("ollama", "context", Field.CONTEXT),
        ("gemini", "system_instruction", Field.PROMPT),
        ("gemini", "systemInstruction", Field.PROMPT),
        ("function", "arguments", Field.ARGUMENTS),
        ("openai-chat", "store", Field.OTHER),
        (None, "input", Field.PROMPT),
        (None, "topK", Field.PARAMETER),
        (None, "prompt", Field.PROMPT),
        ("of nobody", "responseFormat", Field.SCHEMA),
    ],
)
def test_a_name_means_what_its_api_means_by_it(dialect, name, meaning):
    assert field((name, 0, "x"), dialect) is meaning


def test_a_schema_inside_of_parameters_is_a_schema():
    assert field(("generationConfig", "responseSchema", "type"), "gemini") is Field.SCHEMA
    assert field(("generationConfig", "seed"), "gemini") is Field.PARAMETER
    assert field(("text", "format"), "openai-responses") is Field.SCHEMA


def test_every_api_whose_answers_have_words_is_in_the_table():
    wordless = (
        "embeddings",
        "images",
        "speech",
        "transcriptions",
        "transcription",
        "moderation",
        "files",
        "batches",
        "rerank",
        "ocr",
    )
    spoken = {one.name for one in dialects.known() if one.operation not in (*wordless, "call")}
    assert {name for name in spoken if not has_words(name)} == set()
    assert not has_words("openai-embeddings")
    assert not has_words(None)


@pytest.mark.parametrize(("role", "who"), ROLES)
def test_a_role_says_whose_words_they_are(role, who):
    body = {"messages": [{"role": role, "content": "a", "x": 1}, {"role": role, "content": [{"text": "b"}]}]}
    assert speaker(body, ("messages", 0, "content")) is who
    assert speaker(body, ("messages", 1, "content", 0, "text")) is who


@pytest.mark.parametrize(
    ("block", "name", "who"),
    [
        ({"type": "text", "text": "a"}, "text", Speaker.PERSON),
        ({"type": "tool_result", "content": "a"}, "content", Speaker.TOOL),
        ({"type": "tool_use", "input": {"text": "a"}}, "input", Speaker.MODEL),
        ({"type": "image", "data": "a"}, "data", Speaker.NOBODY),
        ({"type": "text", "id": "a"}, "id", Speaker.NOBODY),
        ({"type": "function_call_output", "output": "a"}, "output", Speaker.TOOL),
        ({"type": "output_text", "text": "a"}, "text", Speaker.MODEL),
        ({"toolResult": {"content": "a"}}, "toolResult", Speaker.TOOL),
    ],
)
def test_a_block_says_whose_words_it_holds(block, name, who):
    assert speaker({"messages": [{"role": "user", "content": [block]}]}, ("messages", 0, "content", 0, name)) is who


@pytest.mark.parametrize("steps", [("messages",), ("messages", 7, "content"), ("messages", 0), ("nothing", "there")])
def test_a_place_without_a_text_is_nobodys(steps):
    assert speaker({"messages": [{"role": "user", "content": "a"}]}, steps) is Speaker.NOBODY


def test_a_text_at_the_top_is_the_programs_own():
    assert speaker({"prompt": "a", "input": ["b"]}, ("prompt",)) is Speaker.PERSON
    assert speaker({"prompt": "a", "input": ["b"]}, ("input", 0)) is Speaker.PERSON

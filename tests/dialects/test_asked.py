import pytest

from onetake import dialects
from onetake.dialects import Promise
from onetake.dialects.asked import format_promise, model_asked, path_model, tool_promise, vertex_path
from onetake.model import Request

AZURE = "https://x.openai.azure.com/openai/deployments/my%20own/{}?api-version=2024-06-01"
FORM = (("Content-Type", "multipart/form-data; boundary=b"),)


def form(*fields):
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{text}\r\n' for name, more, text in fields
    ]
    return "".join(parts).encode() + b"--b--\r\n"


@pytest.mark.parametrize(
    "path, dialect",
    [
        ("chat/completions", "openai-chat"),
        ("completions", "openai-completions"),
        ("embeddings", "openai-embeddings"),
        ("images/generations", "openai-images"),
        ("images/edits", "openai-images"),
        ("audio/speech", "openai-speech"),
        ("audio/transcriptions", "openai-transcriptions"),
        ("audio/translations", "openai-transcriptions"),
    ],
)
def test_a_deployment_in_the_path_is_the_model(path, dialect):
    url = AZURE.format(path)
    found = dialects.find("POST", url)
    assert found.name == dialect
    assert found.model_asked(Request("POST", url, body=b"{}")) == "my own"
    assert found.model_asked(Request("POST", url, body=b'{"model": "gpt-5"}')) == "gpt-5"


def test_a_forms_model_is_a_field_not_a_file():
    url = "https://api.openai.com/v1/audio/transcriptions"
    body = form(
        ("file", '; filename="a.txt"', "model"), ("model", '; filename="m.bin"', "no"), ("model", "", "whisper-1")
    )
    assert model_asked(Request("POST", url, FORM, body)) == "whisper-1"
    assert model_asked(Request("POST", url, FORM, form(("language", "", "de")))) is None
    assert model_asked(Request("POST", url, FORM, body[:-4])) is None
    assert model_asked(Request("POST", url, (("content-type", "multipart/form-data"),), body)) is None
    assert model_asked(Request("POST", AZURE.format("audio/transcriptions"), FORM, form())) == "my own"


VERTEX = "https://aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/{}/models/{}:{}"


@pytest.mark.parametrize(
    "publisher, model, verb, found",
    [
        ("anthropic", "claude-sonnet-4-5@20250929", "rawPredict", "claude-sonnet-4-5@20250929"),
        ("anthropic", "a%3Bb", "streamRawPredict", "a;b"),
        ("ai21", "jamba", "rawPredict", "jamba"),
        ("mistralai", "codestral", "rawPredict", None),
        ("anthropic", "claude", "predict", None),
        ("anthropic", "claude", "StreamRawPredict", None),
        ("anthropic", "count-tokens", "rawPredict", None),
        ("anthropic", "a%3ArawPredict%3Ab", "rawPredict", "a:rawPredict:b"),
        ("anthropic", "count-tokens-9", "rawPredict", "count-tokens-9"),
    ],
)
def test_the_model_of_a_publisher_on_vertex(publisher, model, verb, found):
    pattern = vertex_path("anthropic", "ai21")
    url = VERTEX.format(publisher, model, verb)
    assert path_model(url + "?alt=sse", pattern) == found
    assert path_model(url.replace(f":{verb}", f"%3A{verb}"), pattern) == found


def test_only_an_object_is_a_schema_and_only_true_is_strict():
    assert [*tool_promise("f", {"type": "object"}, True)] == [Promise("tool:f", "f", {"type": "object"}, True)]
    assert [*tool_promise("f", {}, "true")] == [Promise("tool:f", "f", {}, False)]
    assert [*tool_promise("", {}, True), *tool_promise(1, {}, True), *tool_promise("f", [], True)] == []
    named = {"name": "n", "schema": {}, "strict": True}
    assert [*format_promise({"type": "json_schema", "json_schema": named})] == [Promise("text", "n", {}, True)]
    assert [*format_promise({"type": "json_object", "json_schema": named}), *format_promise(None)] == []

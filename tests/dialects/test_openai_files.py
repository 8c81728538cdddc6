import json

import pytest

from onetake.contract import Contract
from onetake.dialects import Reading
from onetake.dialects.openai_files import DIALECT
from onetake.gate import judge
from onetake.model import Answer, Request, Response
from onetake.testing.dialects import DialectCase, DialectConformance

URL = "https://api.openai.com/v1/files"
LABELS = Contract({"type": "object"}, name="labels")
JSON = (("content-type", "application/json"),)
FORM = (("content-type", "multipart/form-data; boundary=b"),)
UPLOAD = (
    b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n{"model": "gpt-5"}\n\r\n--b--\r\n'
)


class TestOpenAIFiles(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("GET", URL + "?purpose=batch"),
        ("GET", URL + "/file-1"),
        ("DELETE", URL + "/file-1"),
        ("POST", "https://x.openai.azure.com/openai/files?api-version=2024-10-21"),
        ("POST", "https://x.openai.azure.com/openai/v1/files"),
        ("POST", "https://api.openai.com/v1/uploads"),
        ("POST", "https://api.openai.com/v1/uploads/upload_1/parts"),
        ("POST", "https://api.openai.com/v1/uploads/upload_1/complete"),
        ("POST", "http://localhost:8000/v1/files"),
    )
    silent = (
        ("GET", URL + "/file-1/content"),
        ("PUT", URL + "/file-1"),
        ("POST", "https://api.openai.com/v1/vector_stores/vs_1/files"),
    )
    cases = (
        DialectCase(
            "upload",
            Request("POST", URL, FORM, UPLOAD),
            Reading(Answer()),
            whole=Response(200, JSON, b'{"object": "file", "id": "file-1", "bytes": 3, "status": "processed"}'),
        ),
        DialectCase(
            "list",
            Request("GET", URL),
            Reading(Answer()),
            whole=Response(200, JSON, b'{"object": "list", "data": [{"id": "file-1"}], "has_more": false}'),
        ),
        DialectCase(
            "error object under 200",
            Request("POST", URL, FORM, UPLOAD),
            Reading(error="too big"),
            whole=Response(200, JSON, b'{"error": {"message": "too big"}}'),
        ),
    )


def test_public_files_are_read(corpus):
    found = [each for each in corpus if DIALECT.speaks(each.request.method, each.request.url)]
    methods = sorted((each.request.method, each.request.url.split("/")[2]) for each in found)
    assert methods == [
        ("DELETE", "api.anthropic.com"),
        ("GET", "api.openai.com"),
        ("POST", "api.anthropic.com"),
        ("POST", "api.openai.com"),
        ("POST", "api.openai.com"),
    ]
    for each in found:
        assert "id" in json.loads(each.response.body)
        assert DIALECT.read(each.request, each.response) == Reading(Answer()), each.file


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b'{"name": "x"}'),
        ("application/json", b'[{"name": "x"}]'),
        ("application/json", b'["x"]'),
        ("image/png", b"\x89PNG\r\n\x1a\n"),
        ("text/plain", b"x"),
        ("", b"x"),
        ("application/x-ndjson", b'{"name": "x"}\n'),
        ("text/event-stream", b'data: {"name": "x"}\n\n'),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_others_have_at_these_paths_is_not_judged(tmp_path, method, kind, body):
    asked = Request(method, "https://api.acme.example/v1/files/f1")
    found = judge(asked, Response(200, (("content-type", kind),), body), [LABELS], root=tmp_path)
    assert (found.verdict, found.unjudged) == ("good", True)


@pytest.mark.parametrize("contracts", [[], [LABELS]])
@pytest.mark.parametrize(("method", "status"), [("DELETE", 204), ("DELETE", 200), ("POST", 204)])
def test_a_deletion_that_says_nothing_is_an_answer(tmp_path, method, status, contracts):
    asked = Request(method, URL + "/file-1")
    found = judge(asked, Response(status, JSON, b""), contracts, root=tmp_path)
    assert (found.verdict, found.reading.answer) == ("good", Answer())


@pytest.mark.parametrize("body", [b"", b'{"id": "file-1"'])
def test_what_is_labelled_json_and_is_none_is_refused(tmp_path, body):
    assert judge(Request("GET", URL), Response(200, JSON, body), root=tmp_path).verdict == "reject:json"

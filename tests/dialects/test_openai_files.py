import json

from onetake.dialects import Reading
from onetake.dialects.openai_files import DIALECT
from onetake.model import Answer, Request, Response
from onetake.testing.dialects import DialectCase, DialectConformance

URL = "https://api.openai.com/v1/files"
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
    )
    silent = (
        ("GET", URL + "/file-1/content"),
        ("PUT", URL + "/file-1"),
        ("POST", "https://api.openai.com/v1/vector_stores/vs_1/files"),
        ("POST", "http://127.0.0.1:8000/v1/files"),
        ("POST", "http://localhost:8000/v1/files"),
        ("POST", "http://[::1]:8000/v1/files"),
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

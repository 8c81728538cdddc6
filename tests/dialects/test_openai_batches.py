import json

from onetake.dialects import Reading
from onetake.dialects.openai_batches import DIALECT
from onetake.model import Answer, Request, Response
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import openai_batch

URL = "https://api.openai.com/v1/batches"
JSON = (("content-type", "application/json"),)


class TestOpenAIBatches(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("GET", URL),
        ("GET", URL + "/batch_1"),
        ("POST", URL + "/batch_1/cancel"),
        ("POST", "https://x.openai.azure.com/openai/batches?api-version=2024-10-21"),
        ("POST", "http://127.0.0.1:8000/v1/batches"),
    )
    silent = (
        ("DELETE", URL + "/batch_1"),
        ("POST", "https://api.anthropic.com/v1/messages/batches"),
    )
    cases = (
        DialectCase(
            "begun",
            Request("POST", URL, body=b'{"input_file_id": "file-1", "endpoint": "/v1/chat/completions"}'),
            Reading(Answer()),
            whole=Response(200, JSON, openai_batch().body),
        ),
        DialectCase(
            "done, with its model and usage",
            Request("GET", URL + "/batch_1"),
            Reading(Answer(), model="gpt-5", input_tokens=3, output_tokens=4),
            whole=Response(
                200,
                JSON,
                b'{"id": "batch_1", "errors": {"data": []}, "model": "gpt-5",'
                b' "usage": {"input_tokens": 3, "output_tokens": 4}}',
            ),
        ),
    )


def test_public_batches_are_read(corpus):
    found = [each for each in corpus if DIALECT.speaks(each.request.method, each.request.url)]
    assert [each.request.method for each in found] == ["POST"] + ["GET"] * 7
    statuses = {json.loads(each.response.body)["status"] for each in found}
    assert {"validating", "completed"} <= statuses
    assert {DIALECT.read(each.request, each.response) for each in found} == {Reading(Answer())}

import json

import pytest

from onetake.dialects import Reading
from onetake.dialects.openai_images import DIALECT
from onetake.model import Answer, Request, Response
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import openai_image_stream

URL = "https://api.openai.com/v1/images/generations"
EDITS = "https://api.openai.com/v1/images/edits"
JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream"),)
FORM = (("Content-Type", 'multipart/form-data; boundary="b"'),)
USAGE = {"input_tokens": 11, "output_tokens": 272}
EDIT = (
    b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\ngpt-image-1\r\n'
    b'--b\r\nContent-Disposition: form-data; name="image[]"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n'
    b"\x89PNG\r\n\x1a\n\x00\r\n--b--\r\n"
)


def stream(*steps):
    return Response(200, SSE, b"".join(f"data: {json.dumps(step)}\n\n".encode() for step in steps))


class TestOpenAIImages(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("POST", EDITS),
        ("POST", "https://api.openai.com/v1/images/variations"),
        ("POST", "https://x.openai.azure.com/openai/deployments/dalle/images/generations?api-version=2024-06-01"),
        ("POST", "https://api.x.ai/v1/images/generations"),
    )
    silent = (("GET", URL), ("POST", "https://api.openai.com/v1/images"), ("POST", URL + "/1"))
    cases = (
        DialectCase(
            "made",
            Request("POST", URL, body=b'{"model": "gpt-image-1", "prompt": "a cat"}'),
            Reading(Answer(), input_tokens=11, output_tokens=272),
            whole=Response(
                200,
                JSON,
                json.dumps({"data": [{"b64_json": "iVBO", "revised_prompt": "A cat."}], "usage": USAGE}).encode(),
            ),
            stream=stream(
                {"type": "image_generation.partial_image", "b64_json": "iVBO", "partial_image_index": 0},
                {"type": "image_generation.completed", "b64_json": "iVBO", "usage": USAGE},
            ),
            model_asked="gpt-image-1",
        ),
        DialectCase(
            "edited: the model is a field of the form",
            Request("POST", EDITS, FORM, EDIT),
            Reading(Answer()),
            whole=Response(200, JSON, b'{"data": [{"url": "https://images.example/1"}]}'),
            stream=stream({"type": "image_edit.completed", "b64_json": "iVBO"}),
            model_asked="gpt-image-1",
        ),
        DialectCase(
            "error in the middle",
            Request("POST", URL, body=b'{"prompt": "a cat"}'),
            Reading(error="blocked", terminal=False),
            stream=stream(
                {"type": "image_generation.partial_image", "b64_json": "iVBO"},
                {"type": "error", "error": {"message": "blocked"}},
            ),
        ),
    )


@pytest.mark.parametrize("kind", ["generation", "edit"])
@pytest.mark.parametrize("ending, terminal", [("done", True), ("cut", False), ("error", False)])
def test_the_scripted_providers_streams(kind, ending, terminal):
    reply = openai_image_stream(kind, ending=ending)
    found = DIALECT.read(Request("POST", URL), Response(200, reply.headers, reply.body))
    assert found.terminal is terminal
    assert found.answer == (Answer() if terminal else None)
    assert (found.error is not None) is (ending == "error")


def test_public_images_are_read(corpus):
    (each,) = [each for each in corpus if DIALECT.speaks(each.request.method, each.request.url)]
    assert DIALECT.read(each.request, each.response) == Reading(Answer())
    assert DIALECT.model_asked(each.request) is None

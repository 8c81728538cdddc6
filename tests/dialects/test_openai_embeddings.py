import json

from onetake.dialects import Reading
from onetake.dialects.openai_embeddings import DIALECT
from onetake.model import Answer, Request, Response
from onetake.testing.dialects import DialectCase, DialectConformance

URL = "https://api.openai.com/v1/embeddings"
AZURE = "https://x.openai.azure.com/openai/deployments/ada/embeddings?api-version=2024-06-01"
JSON = (("content-type", "application/json"),)
ASKED = Request("POST", URL, body=b'{"model": "text-embedding-3-small", "input": "hi"}')


def vectors(embedding):
    item = {"object": "embedding", "index": 0, "embedding": embedding}
    usage = {"prompt_tokens": 2, "total_tokens": 2}
    body = {"object": "list", "data": [item], "model": "ada-1", "usage": usage}
    return Response(200, JSON, json.dumps(body).encode())


class TestOpenAIEmbeddings(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("POST", AZURE),
        ("POST", "https://api.mistral.ai/v1/embeddings"),
        ("POST", "https://openrouter.ai/api/v1/embeddings"),
        ("POST", "http://127.0.0.1:8080/v1/embeddings/"),
    )
    silent = (
        ("GET", URL),
        ("POST", "http://localhost:11434/api/embeddings"),
        ("POST", "http://localhost:8080/embeddings"),
        ("POST", "https://api.cohere.com/v2/embed"),
    )
    cases = (
        DialectCase(
            "numbers",
            ASKED,
            Reading(Answer(), model="ada-1", input_tokens=2),
            whole=vectors([0.1, -0.2]),
            model_asked="text-embedding-3-small",
        ),
        DialectCase(
            "base64",
            Request("POST", URL, body=b'{"input": "hi", "encoding_format": "base64"}'),
            Reading(Answer(), model="ada-1", input_tokens=2),
            whole=vectors("zczMPc3MTL4="),
        ),
        DialectCase(
            "Voyage: the total alone",
            Request("POST", "https://api.voyageai.com/v1/embeddings", body=b'{"model": "voyage-3", "input": "hi"}'),
            Reading(Answer(), model="voyage-3", input_tokens=7),
            whole=Response(200, JSON, b'{"data": [{}], "model": "voyage-3", "usage": {"total_tokens": 7}}'),
            model_asked="voyage-3",
        ),
        DialectCase(
            "error object under 200",
            ASKED,
            Reading(error="too long"),
            whole=Response(200, JSON, b'{"error": {"message": "too long"}}'),
            model_asked="text-embedding-3-small",
        ),
    )


def test_public_embeddings_are_read(corpus):
    found = [each for each in corpus if DIALECT.speaks(each.request.method, each.request.url)]
    read = [DIALECT.read(each.request, each.response) for each in found]
    assert len(read) == 2
    for each, reading in zip(found, read, strict=True):
        asked = json.loads(each.request.body)["model"]
        assert DIALECT.model_asked(each.request) == asked
        assert reading.model.startswith(asked), each.file
        assert reading.answer == Answer()
        assert reading.input_tokens > 0

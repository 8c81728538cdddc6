"""Vectors and scores of Gemini, Ollama and Cohere: answers without text."""

import json

import pytest

from onetake.contract import Contract
from onetake.dialects import Reading, cohere_embeddings, cohere_rerank, find, gemini_embeddings, ollama_embeddings
from onetake.gate import Kind, judge
from onetake.model import Answer, Request, Response
from onetake.testing import provider
from onetake.testing.dialects import DialectCase, DialectConformance

HOST = "https://generativelanguage.googleapis.com/v1beta"
VERTEX = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models"
JSON = (("content-type", "application/json"),)


def asking(url, **body):
    return Request("POST", url, body=json.dumps(body).encode())


def said(reply):
    return Response(reply.status, reply.headers, reply.body)


def error(text, **more):
    return Response(200, JSON, json.dumps({"error": {"message": text}, **more}).encode())


def one(name, request, response, asked, tokens=None, model=None):
    return DialectCase(
        name, request, Reading(Answer(), model=model, input_tokens=tokens), whole=response, model_asked=asked
    )


class TestGemini(DialectConformance):
    dialect = gemini_embeddings.DIALECT
    speaks = (
        ("POST", f"{HOST}/models/gemini-embedding-001:embedContent"),
        ("POST", "http://127.0.0.1:1/x/models/e:batchEmbedContents?key=k"),
        ("POST", f"{VERTEX}/textembedding-gecko%40003:predict"),
    )
    silent = (
        ("GET", f"{HOST}/models/e:embedContent"),
        ("POST", f"{HOST}/models/e:generateContent"),
        ("POST", f"{HOST}/models/e:countTokens"),
        ("POST", f"{VERTEX}/imagen-4:predict"),
        ("POST", "https://h/v1/projects/p/locations/l/endpoints/12:predict"),
    )
    cases = (
        one(
            "one",
            asking(f"{HOST}/models/e-1:embedContent", content={"parts": [{"text": "a"}]}),
            said(provider.gemini_embeddings(["a"], batch=False)),
            "e-1",
        ),
        one(
            "batch with usage",
            asking(f"{HOST}/models/e-1:batchEmbedContents"),
            Response(200, JSON, b'{"embeddings": [{"values": [0.5]}], "usageMetadata": {"promptTokenCount": 4}}'),
            "e-1",
            4,
        ),
        one(
            "vertex",
            asking(f"{VERTEX}/text-embedding-005:predict"),
            said(provider.vertex_embeddings(["abcdefgh", "abcd"])),
            "text-embedding-005",
            3,
        ),
        DialectCase(
            "error under 200",
            asking(f"{HOST}/models/e-1:embedContent"),
            Reading(error="no"),
            whole=error("no"),
            model_asked="e-1",
        ),
    )


class TestOllama(DialectConformance):
    dialect = ollama_embeddings.DIALECT
    speaks = (
        ("POST", "http://localhost:11434/api/embed"),
        ("POST", "http://localhost:11434/api/embeddings"),
        ("POST", "https://h/prefix/api/embed"),
    )
    silent = (("POST", "http://localhost:11434/v1/embeddings"), ("POST", "http://localhost:11434/api/show"))
    cases = (
        one(
            "several",
            asking("http://localhost:11434/api/embed", model="m", input=["abcd", "e"]),
            said(provider.ollama_embeddings(["abcd", "e"], model="m:1b")),
            "m",
            2,
            "m:1b",
        ),
        one(
            "legacy",
            asking("http://localhost:11434/api/embeddings", model="m", prompt="a"),
            said(provider.ollama_embeddings(["a"], legacy=True)),
            "m",
        ),
        DialectCase(
            "error under 200",
            asking("http://localhost:11434/api/embed"),
            Reading(error="no"),
            whole=Response(200, JSON, b'{"error": "no"}'),
        ),
    )


class TestCohere(DialectConformance):
    dialect = cohere_embeddings.DIALECT
    speaks = (("POST", "https://api.cohere.com/v2/embed"), ("POST", "http://127.0.0.1:1/v1/embed/"))
    silent = (("POST", "https://api.cohere.com/v1/embed-jobs"), ("POST", "https://api.openai.com/v1/embeddings"))
    cases = (
        one(
            "second version",
            asking("https://api.cohere.com/v2/embed", model="embed-v4.0", texts=["abcdefgh"]),
            said(provider.cohere_embeddings(["abcdefgh"])),
            "embed-v4.0",
            2,
        ),
        one(
            "first version",
            asking("https://api.cohere.com/v1/embed", model="e", texts=["a"]),
            said(provider.cohere_embeddings(["a"], version=1)),
            "e",
            1,
        ),
    )


class TestRerank(DialectConformance):
    dialect = cohere_rerank.DIALECT
    speaks = (("POST", "https://api.cohere.com/v2/rerank"), ("POST", "http://127.0.0.1:1/v1/rerank"))
    silent = (("POST", "https://api.cohere.com/v2/chat"), ("POST", "https://h/rerank"))
    cases = (
        one(
            "scores",
            asking("https://api.cohere.com/v2/rerank", model="rerank-v3.5", query="q", documents=["a", "b"]),
            said(provider.cohere_rerank(["a", "b"])),
            "rerank-v3.5",
        ),
        one(
            "Voyage: scores are data, and usage tells the total alone",
            asking("https://api.voyageai.com/v1/rerank", model="rerank-2", query="q", documents=["a"]),
            Response(200, JSON, b'{"data": [{"index": 0, "relevance_score": 0.5}], "usage": {"total_tokens": 26}}'),
            "rerank-2",
            26,
        ),
    )


@pytest.mark.parametrize("case", [*TestGemini.cases[:1], *TestOllama.cases[:1], *TestCohere.cases, *TestRerank.cases])
def test_vectors_are_stored_unjudged_beside_what_a_contract_is_about(tmp_path, case):
    contract = Contract({"type": "object"}, name="items", schema_version=1)
    found = judge(case.request, case.whole, [contract], root=tmp_path)
    assert (found.kind, found.unjudged) == (Kind.GOOD, True)


def test_public_vectors_are_read(corpus):
    found = []
    for each in corpus:
        dialect = find(each.request.method, each.request.url)
        if dialect in (gemini_embeddings.DIALECT, cohere_rerank.DIALECT):
            reading = dialect.read(each.request, each.response)
            found.append((dialect.name, dialect.model_asked(each.request), reading.answer, reading.input_tokens))
    assert sorted(found) == [
        ("cohere-rerank", "rerank-english-v3.0", Answer(), None),
        ("gemini-embeddings", "gemini-embedding-2", Answer(), 4),
    ]

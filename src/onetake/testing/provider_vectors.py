"""Replies with vectors and scores, in the shapes of Gemini, Ollama and Cohere; each is a function of its text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from onetake.testing.provider_http import Reply
from onetake.testing.provider_said import json_reply, token, tokens

_DIMENSIONS = 8


def gemini_embeddings(texts: Sequence[str], *, batch: bool = True) -> Reply:
    """Make embeddings of `:batchEmbedContents`, or that of the only text, of `:embedContent`."""
    found = [{"values": _vector(text)} for text in texts]
    return json_reply({"embeddings": found} if batch else {"embedding": found[0]})


def vertex_embeddings(texts: Sequence[str]) -> Reply:
    """Make embeddings of Vertex's `:predict`."""
    found = [
        {"embeddings": {"values": _vector(text), "statistics": {"truncated": False, "token_count": tokens(text)}}}
        for text in texts
    ]
    return json_reply({"predictions": found, "metadata": {"billableCharacterCount": sum(map(len, texts))}})


def ollama_embeddings(texts: Sequence[str], *, model: str = "all-minilm", legacy: bool = False) -> Reply:
    """Make embeddings of `/api/embed`, or that of the only text, of `/api/embeddings`."""
    if legacy:
        return json_reply({"embedding": _vector(texts[0])})
    asked = sum(map(tokens, texts))
    found = {"model": model, "embeddings": [*map(_vector, texts)], "prompt_eval_count": asked}
    return json_reply(found | {"total_duration": 14_000_000, "load_duration": 1_000_000})


def cohere_embeddings(texts: Sequence[str], *, version: int = 2) -> Reply:
    """Make embeddings of `/v2/embed` (floats by type), or of `/v1/embed` (floats)."""
    vectors = [*map(_vector, texts)]
    meta = {"api_version": {"version": str(version)}, "billed_units": {"input_tokens": sum(map(tokens, texts))}}
    kind = "embeddings_by_type" if version == 2 else "embeddings_floats"
    found = {"float": vectors} if version == 2 else vectors
    body = {"id": token(36), "texts": [*texts], "embeddings": found, "meta": meta, "response_type": kind}
    return json_reply(body)


def cohere_rerank(documents: Sequence[str], *, version: int = 2) -> Reply:
    """Make scores of documents, the best first."""
    scores = sorted(((abs(_vector(text)[0]), i) for i, text in enumerate(documents)), reverse=True)
    results = [{"index": i, "relevance_score": score} for score, i in scores]
    meta = {"api_version": {"version": str(version)}, "billed_units": {"search_units": 1}}
    return json_reply({"id": token(36), "results": results, "meta": meta})


def _vector(text: str) -> list[float]:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return [byte / 256 - 0.5 for byte in digest[:_DIMENSIONS]]

"""Embeddings of the Gemini API and of Vertex.

Source: the types of google-genai 3.6; https://ai.google.dev/api/embeddings.
"""

from __future__ import annotations

from typing import Any

from onetake.dialects.wordless import Wordless
from onetake.picking import count, mapping, mappings


def _counts(body: dict[str, Any]) -> tuple[int | None, None]:
    told = [mapping(body.get("usageMetadata")).get("promptTokenCount")]
    for prediction in mappings(body.get("predictions")):
        told.append(mapping(mapping(prediction.get("embeddings")).get("statistics")).get("token_count"))
    known = [number for number in map(count, told) if number is not None]
    return sum(known) if known else None, None


DIALECT = Wordless(
    "gemini-embeddings",
    "embeddings",
    r"POST .*/models/"
    r"([^:]+(?=:(?:embedContent|batchEmbedContents)$)|[^:]*(?:embedding|gecko)[^:]*(?=:predict$)):[A-Za-z]+",
    frozenset({"embedding", "embeddings", "predictions"}),
    counts=_counts,
)
"""The dialect of `:embedContent`, `:batchEmbedContents`, and Vertex's `:predict` of an embedding model."""

"""Rerank of Cohere, both versions of the API, and of those with its path: Jina, and Voyage, whose scores are `data`.

Source: the types of the cohere package 7.3; https://docs.voyageai.com/reference/reranker-api.
"""

from __future__ import annotations

from typing import Any

from onetake.dialects import cohere_words
from onetake.dialects.wordless import Wordless
from onetake.picking import count, mapping


def _counts(body: dict[str, Any]) -> tuple[int | None, None]:
    asked = cohere_words.tokens(body.get("meta"), "input_tokens")
    return count(mapping(body.get("usage")).get("total_tokens")) if asked is None else asked, None


DIALECT = Wordless(
    "cohere-rerank",
    "rerank",
    r"POST .*/v[12]/rerank",
    frozenset({"results", "data"}),
    counts=_counts,
)
"""The dialect of `POST …/v1/rerank` and `POST …/v2/rerank`."""

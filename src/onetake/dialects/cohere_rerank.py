"""Rerank of Cohere, both versions of the API, and of those that speak it.

Source: the types of the cohere package 7.3.
"""

from __future__ import annotations

from onetake.dialects import cohere_words
from onetake.dialects.wordless import Wordless

DIALECT = Wordless(
    "cohere-rerank",
    "rerank",
    r"POST .*/v[12]/rerank",
    frozenset({"results"}),
    counts=lambda body: (cohere_words.tokens(body.get("meta"), "input_tokens"), None),
)
"""The dialect of `POST …/v1/rerank` and `POST …/v2/rerank`."""

"""Embeddings of Cohere, both versions of the API.

Source: the types of the cohere package 7.3.
"""

from __future__ import annotations

from onetake.dialects import cohere_words
from onetake.dialects.wordless import Wordless

DIALECT = Wordless(
    "cohere-embeddings",
    "embeddings",
    r"POST .*/v[12]/embed",
    frozenset({"embeddings"}),
    counts=lambda body: (cohere_words.tokens(body.get("meta"), "input_tokens"), None),
)
"""The dialect of `POST …/v1/embed` and `POST …/v2/embed`."""

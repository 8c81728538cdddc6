"""Embeddings of Ollama's own API.

Source: the types of the ollama package 0.6.
"""

from __future__ import annotations

from onetake.dialects.wordless import Wordless
from onetake.picking import count

DIALECT = Wordless(
    "ollama-embeddings",
    "embeddings",
    r"POST .*/api/(?:embed|embeddings)",
    frozenset({"embedding", "embeddings"}),
    counts=lambda body: (count(body.get("prompt_eval_count")), None),
)
"""The dialect of `POST …/api/embed` and of its forerunner, `POST …/api/embeddings`."""

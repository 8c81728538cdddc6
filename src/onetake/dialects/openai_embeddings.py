"""Embeddings of OpenAI and all who speak its API: Azure, Mistral, Voyage, OpenRouter, vLLM, llama.cpp.

Source: the types of the openai SDK 3.57.
"""

from __future__ import annotations

from typing import Any

from onetake.dialects.wordless import Wordless
from onetake.picking import count, mapping


def _counts(body: dict[str, Any]) -> tuple[int | None, None]:
    usage = mapping(body.get("usage"))
    asked = count(usage.get("prompt_tokens"))
    return count(usage.get("total_tokens")) if asked is None else asked, None  # Voyage tells the total alone


DIALECT = Wordless(
    "openai-embeddings",
    "embeddings",
    "POST .*/(?!api/)[^/]+/embeddings",
    fields=frozenset({"data"}),
    counts=_counts,
)
"""The dialect of `POST …/embeddings`. Nobody reviews vectors: the answer holds no text.

Not the bare `/embeddings`, which is the native API of llama.cpp, nor `/api/embeddings`, which is Ollama's.
"""

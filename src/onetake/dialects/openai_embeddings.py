"""Embeddings of OpenAI and all who speak its API: Azure, Mistral, Voyage, OpenRouter, vLLM, llama.cpp.

Source: the types of the openai SDK 3.57.
"""

from __future__ import annotations

from onetake.dialects.wordless import Wordless

DIALECT = Wordless("openai-embeddings", "embeddings", "POST .*/(?!api/)[^/]+/embeddings", fields=frozenset({"data"}))
"""The dialect of `POST …/embeddings`. Nobody reviews vectors: the answer holds no text.

Not the bare `/embeddings`, which is the native API of llama.cpp, nor `/api/embeddings`, which is Ollama's.
"""

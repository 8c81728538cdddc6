"""Batches of OpenAI, and of those with the same paths: Azure, Groq.

Source: the resources of the openai SDK 3.57.
"""

from __future__ import annotations

from onetake.dialects.wordless import Wordless

DIALECT = Wordless(
    "openai-batches",
    "batches",
    r"(?:POST|GET) .*/(?:v1|openai)/batches(?:/[^/]+(?:/cancel)?)?",
    fields=frozenset(),
)
"""The dialect of `…/batches`: how a batch stands. What the model said lies in a file, which is no answer here."""

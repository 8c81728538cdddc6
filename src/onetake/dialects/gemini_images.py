"""Images made by Imagen, at the Gemini API and at Vertex.

Source: the types of google-genai 3.6; https://ai.google.dev/gemini-api/docs/imagen.
"""

from __future__ import annotations

from onetake.dialects.wordless import Wordless

DIALECT = Wordless(
    "gemini-images",
    "images",
    r"POST .*/models/(imagen[^:/]*|imagegeneration(?:@\d+)?):predict",
    frozenset({"predictions"}),
)
"""The dialect of `POST …:predict` of an Imagen model."""

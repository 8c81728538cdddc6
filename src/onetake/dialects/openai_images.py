"""Images made, edited and varied by OpenAI, and by Azure, xAI and Together in its shape.

Source: the types of the openai SDK 3.57.
"""

from __future__ import annotations

from onetake.dialects.wordless import Wordless

DIALECT = Wordless(
    "openai-images",
    "images",
    "POST .*/images/(?:generations|edits|variations)",
    fields=frozenset({"data"}),
    terminal=frozenset({"image_generation.completed", "image_edit.completed"}),
)
"""The dialect of `POST …/images/…`. A prompt that the provider revised stays in the body: it is no answer."""

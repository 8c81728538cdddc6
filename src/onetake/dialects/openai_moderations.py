"""Moderations of OpenAI and Mistral, and Mistral's classifications.

Source: the types of the openai SDK 3.57 and of the mistralai SDK 3.7.
"""

from __future__ import annotations

from onetake.dialects.wordless import Wordless

DIALECT = Wordless(
    "openai-moderations",
    "moderation",
    r"POST .*/(?:v\d+|openai)/(?:chat/)?(?:moderations|classifications)",
    fields=frozenset({"results"}),
)
"""The dialect of `POST …/moderations` and `…/classifications`: scores in a fixed form, none of the model's words."""

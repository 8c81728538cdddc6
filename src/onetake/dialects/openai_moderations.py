"""Moderations of OpenAI and Mistral.

Source: the types of the openai SDK 3.57 and of the mistralai SDK 3.7.
"""

from __future__ import annotations

from onetake.dialects.wordless import Wordless

DIALECT = Wordless("openai-moderations", "moderation", "POST .*/moderations", fields=frozenset({"results"}))
"""The dialect of `POST …/moderations`: scores in a fixed form, none of the model's words."""

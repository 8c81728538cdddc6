"""Files and uploads of OpenAI, and of those with the same paths: Azure, Mistral, Groq, Anthropic.

Source: the resources of the openai SDK 3.57.
"""

from __future__ import annotations

from onetake.dialects.wordless import Wordless

DIALECT = Wordless(
    "openai-files",
    "files",
    r"(?:POST|GET|DELETE) .*/(?:v1|openai)/(?:files(?:/[^/]+)?|uploads(?:/[^/]+/(?:parts|complete|cancel))?)",
    fields=frozenset(),
)
"""The dialect of `…/files` and `…/uploads`: the operation is stored, no answer.

Not `…/content`: what a file holds says nothing of itself. Others have these paths too, with answers of any shape.
"""

"""Speech made from text, by OpenAI, and by Azure, Groq and Mistral in its shape.

Source: the parameters of the openai SDK 3.57; for the streamed form, and for sound inside JSON, the types of the
mistralai SDK 3.7.
"""

from __future__ import annotations

from onetake.dialects.wordless import Wordless

DIALECT = Wordless(
    "openai-speech",
    "speech",
    "POST .*/audio/speech",
    fields=frozenset({"audio_data"}),
    media=("audio/", "application/octet-stream"),
    terminal=frozenset({"speech.audio.done"}),
)
"""The dialect of `POST …/audio/speech`: sound as such, or in the events of a stream."""

"""Why a candidate of Gemini ended, or a prompt was blocked: the words, and the numbers that stand for them.

Google's generated REST clients ask for enumerations as numbers (`$alt=json;enum-encoding=int`), and the two APIs number
the same words differently.

Source: the types of google-genai 3.6; the protocol buffers of google-ai-generativelanguage and google-cloud-aiplatform.
"""

from __future__ import annotations

from typing import Any

LENGTH_FINISH = frozenset({"MAX_TOKENS", "CONTINUATION"})
"""Finish words of a candidate that a token limit cut."""
REFUSAL_FINISH = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "ESCALATION",
        "PUP_LIMITED_DISABLED",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    }
)
"""Finish words of a candidate that a filter or a policy stopped."""
_UNSAID = frozenset({"FINISH_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED"})
_FIRST = ("", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")
_GEMINI = (
    *_FIRST,
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "IMAGE_SAFETY",
    "UNEXPECTED_TOOL_CALL",
)
_VERTEX = (
    *_FIRST,
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "IMAGE_OTHER",
    "UNEXPECTED_TOOL_CALL",
    "NO_IMAGE",
)
_BLOCKED = ("", "SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT")


def finish_word(value: Any, *, vertex: bool = False) -> str:
    """Return a `finishReason` as its word, empty for none; a number that is not known stays one.

    Args:
        value: As it came.
        vertex: Whether it came from Vertex.
    """
    return _word(value, _VERTEX if vertex else _GEMINI)


def block_word(value: Any) -> str:
    """Return a `blockReason` as its word, empty for none; a number that is not known stays one."""
    return _word(value, _BLOCKED)


def _word(value: Any, numbered: tuple[str, ...]) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return numbered[value] if 0 <= value < len(numbered) else str(value)
    return value if isinstance(value, str) and value not in _UNSAID else ""

"""What was asked, in one line: for misses, refusals and everything else that names a request."""

from __future__ import annotations

from typing import Any

from onetake import picking
from onetake.model import Request
from onetake.printable import one_line


def asked_line(request: Request, model: str | None) -> str:
    """Return a request in one printable line.

    Args:
        request: The request, its secrets already scrubbed.
        model: The model that it names.

    Returns:
        `POST https://api.openai.com/v1/chat/completions (gpt-5, 2 messages, "Label this ticket…")`.
    """
    facts = [one_line(model, 60)] if model and request.method != "CALL" else []
    facts += _facts(request)
    return f"{one_line(request.method, 20)} {one_line(request.url, 160)}" + (f" ({', '.join(facts)})" if facts else "")


def _facts(request: Request) -> list[str]:
    """Say how much was asked, and the last text of the user, in whichever of the usual places it is."""
    body = picking.document(request.body)
    if "arguments" in body and request.method == "CALL":
        return [_excerpt(request.body.decode("utf-8", "replace"))]
    for name, one in (("messages", "message"), ("contents", "content"), ("input", "input item"), ("prompt", "prompt")):
        asked = body.get(name)
        if isinstance(asked, str):
            return [_excerpt(asked)]
        if isinstance(asked, list):
            count = f"{len(asked)} {one}" + ("s" if len(asked) != 1 else "")
            text = _last_user_text(asked)
            return [count, _excerpt(text)] if text else [count]
    return [f"{len(request.body)} bytes"] if request.body else []


def _last_user_text(items: list[Any]) -> str:
    for item in reversed(items):
        if isinstance(item, str):
            return item
        said = picking.mapping(item)
        if said.get("role", "user") == "user":
            content = said.get("content") or said.get("parts")
            pieces = [content] if isinstance(content, str) else [p.get("text") for p in picking.mappings(content)]
            text = " ".join(picking.text(piece) for piece in pieces)
            if text.strip():
                return text
    return ""


def _excerpt(text: str) -> str:
    return f'"{one_line(text.strip(), 80)}"'

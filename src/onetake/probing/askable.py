"""Which stored requests can be asked again as they are, and which hang on what is not in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from onetake import dialects, picking
from onetake.imported import is_loose
from onetake.model import Entry, Request
from onetake.scrub.finder import PLACEHOLDER

_NO_ANSWERS = frozenset({"openai-files", "openai-batches"})
"""Dialects whose requests make something at the provider's, and bring no answer of a model."""
_STATE = {
    "previous_response_id": "a response that the provider keeps",
    "conversation": "a conversation that the provider keeps",
    "conversation_id": "a conversation that the provider keeps",
    "session_id": "a session that the provider keeps",
    "container": "a container that the provider keeps",
    "cachedcontent": "a cache that the provider keeps",
    "cached_content": "a cache that the provider keeps",
}
"""Names at the top of a body that say by an id what else was asked."""
_FILES = frozenset(
    {"file_id", "file_ids", "fileid", "fileids", "fileuri", "file_uri", "vector_store_ids", "container_id"}
)
"""Names anywhere in a body that stand for a file, or a place of files, at the provider's."""
_ARGUMENTS = frozenset({"arguments", "args", "parameters", "properties", "input_schema", "inputschema", "tooluse"})
"""Names under which a program's own fields lie."""
_GOES_ON = re.compile(r"/conversations/[^/]+(?:/restart)?")


def why_not(entry: Entry) -> str:
    """Say why a stored request cannot be asked again as it is; empty where it can.

    Args:
        entry: It. What is wrong with its key, its name or its answer is not looked at.
    """
    request = entry.request
    if request.method == "CALL":
        return "a decorated function is asked by its program alone"
    if is_loose(entry):
        return "it was imported without the body of its request"
    dialect = dialects.find(request.method, request.url)
    if dialect is None or dialect.name in _NO_ANSWERS:
        return "its request asks no model"
    if request.method != "POST":
        return "its request fetches what the provider keeps"
    return _scrubbed(entry) or _state(request)


def with_model(request: Request, model: str) -> Request | None:
    """Return a request that asks another model, and is the same in all else; None where it names its model elsewhere.

    Args:
        request: It. The model may be `model` of its JSON, or a part of its path.
        model: The other model's name.
    """
    dialect = dialects.find(request.method, request.url)
    asked = dialect.model_asked(request) if dialect else None
    if dialect is None or not asked:
        return None
    return next((one for one in _renamed(request, asked, model) if dialect.model_asked(one) == model), None)


def _renamed(request: Request, asked: str, model: str) -> Iterator[Request]:
    named = re.compile(rb'("model"\s*:\s*)' + re.escape(_json(asked)))
    if len(named.findall(request.body)) == 1:  # every other byte stays as it is stored
        yield replace(request, body=named.sub(lambda found: found[1] + _json(model), request.body))
    path = urlsplit(request.url).path
    for spelled in dict.fromkeys((quote(asked, safe=""), quote(asked, safe=":"), asked)):
        if path.count(f"/{spelled}") == 1:
            new = path.replace(f"/{spelled}", f"/{quote(model, safe=':')}")
            yield replace(request, url=request.url.replace(path, new, 1))


def _json(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _scrubbed(entry: Entry) -> str:
    """Say where a secret was taken out of what would be asked; a credential's own place is filled again."""
    texts = [unquote(entry.request.url), *(value for _, value in entry.request.headers)]
    if any(PLACEHOLDER.search(text) for text in texts):
        return "a secret was taken out of its address or of a header that counts"
    place = next((where for where in entry.scrubbed if where.startswith("request.body")), "")
    return f"a secret was taken out of what it asks, at {place.removeprefix('request.body')}" if place else ""


def _state(request: Request) -> str:
    if _GOES_ON.search(urlsplit(request.url).path):
        return "it hangs on a conversation that the provider keeps"
    body = picking.document(request.body)
    for name, value in body.items():
        if (what := _STATE.get(name.lower())) and (picking.mapping(value).get("id") or (value and value == str(value))):
            return f"it hangs on {what}: {name}"
    place = next(_kept_at_the_provider(body), "")
    return f"it hangs on what the provider keeps: {place}" if place else ""


def _kept_at_the_provider(value: Any) -> Iterator[str]:
    """Yield the names in a body that stand for a file, or for an item of an earlier answer, at the provider's."""
    if isinstance(value, list):
        for item in value:
            yield from _kept_at_the_provider(item)
    if not isinstance(value, dict):
        return
    kind = value.get("type")
    if kind == "item_reference" or (kind == "reasoning" and value.get("id") and "encrypted_content" not in value):
        yield str(kind)
    for name, inner in value.items():
        lower = name.lower()
        if lower in _FILES and inner and isinstance(inner, str | list):
            yield name
        elif lower not in _ARGUMENTS and not (kind == "tool_use" and name == "input"):
            yield from _kept_at_the_provider(inner)

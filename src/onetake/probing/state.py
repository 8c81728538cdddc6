"""What a request hangs on that is not in it: an earlier answer, a file, a cache that its provider keeps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from onetake import picking
from onetake.model import Request

_AT_THE_TOP = {
    "previous_response_id": "a response that the provider keeps",
    "conversation": "a conversation that the provider keeps",
    "conversation_id": "a conversation that the provider keeps",
    "container": "a container that the provider keeps",
    "prompt": "a prompt that the provider keeps",
    "cachedcontent": "a cache that the provider keeps",
    "cached_content": "a cache that the provider keeps",
}
"""Names at the top of a body that say by an id what else was asked."""
_FILES = frozenset(
    {"file_id", "file_ids", "fileid", "fileids", "fileuri", "file_uri", "vector_store_ids", "container_id"}
)
"""Names anywhere in a body that stand for a file, or a place of files, at the provider's."""
_OWN = frozenset(
    {
        *("arguments", "args", "parameters", "properties", "tooluse", "inputschema", "$defs", "definitions"),
        *("response", "json", "data", "documents", "outputs", "tool_results", "metadata", "labels"),
    }
)
"""Names under which a program's own fields lie: what tools are called with and answer, schemas, documents."""
_GOES_ON = re.compile(r"/conversations/[^/]+(?:/restart)?")
_GOOGLE = "googleapis.com"


def state(request: Request) -> str:
    """Say what a request hangs on that the provider keeps; empty where all that is asked is in it."""
    if _GOES_ON.search(urlsplit(request.url).path):
        return "it hangs on a conversation that the provider keeps"
    body = picking.document(request.body)
    for name, value in body.items():
        if (what := _AT_THE_TOP.get(name.lower())) and (_id(value) or (name != "prompt" and picking.text(value))):
            return f"it hangs on {what}: {name}"
    place = next(_kept(body, urlsplit(request.url).hostname or ""), "")
    return f"it hangs on what the provider keeps: {place}" if place else ""


def _kept(body: dict[str, Any], host: str) -> Iterator[str]:
    """Yield what in a body stands for something at the provider's: a name, or the type of an object."""
    if any(item.keys() == {"id"} for item in picking.mappings(body.get("input"))):
        yield "item_reference"
    ids: set[str] = set()
    approved: list[str] = []
    waiting: list[Any] = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        if not isinstance(value, dict):
            continue
        if _is_by_id(value):
            yield str(value.get("type") or "audio")
        ids.add(picking.text(value.get("id")))
        approved += (
            [picking.text(value.get("approval_request_id"))] if value.get("type") == "mcp_approval_response" else []
        )
        for name, inner in value.items():
            if name.lower() in _FILES and inner and isinstance(inner, str | list) and not _is_public(inner, host):
                yield name
            elif not _is_own(value, name):
                waiting.append(inner)
    if any(one not in ids for one in approved):
        yield "mcp_approval_response"


def _is_by_id(value: dict[str, Any]) -> bool:
    """Tell whether an object stands for one that the provider made, and holds nothing of it but its id."""
    match value.get("type"):
        case "item_reference":
            return True
        case "reasoning":
            return bool(_id(value)) and not (value.get("encrypted_content") or value.get("content"))
        case "image_generation_call":
            return bool(_id(value)) and not value.get("result")
        case "code_interpreter":
            return bool(picking.text(value.get("container")) or _id(value.get("container")))
        case "custom":
            return bool(value.get("skill_id"))
    return value.get("role") == "assistant" and bool(_id(value.get("audio")))


def _is_own(value: dict[str, Any], name: str) -> bool:
    is_input = name == "input" and picking.text(value.get("type")).endswith("tool_use")
    return is_input or name.lower() in _OWN or name.lower().endswith("schema")


def _is_public(uri: Any, host: str) -> bool:
    """Tell whether a file is at an address that anybody may fetch it from: a video, a page."""
    try:
        found = urlsplit(picking.text(uri))
    except ValueError:
        return False
    named = found.hostname or ""
    is_kept = named in ("", host) or named == _GOOGLE or named.endswith("." + _GOOGLE)
    return found.scheme in ("http", "https") and not is_kept


def _id(value: Any) -> Any:
    return picking.mapping(value).get("id")

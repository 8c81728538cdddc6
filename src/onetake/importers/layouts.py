"""The layouts of vcrpy's files: from a document to the pairs of request and response in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

Pair = tuple[Any, Any, Mapping[str, Any]]
"""A request and a response as the file has them, None for what is not there; and the whole item."""

_NOTHING: Mapping[str, Any] = {}


def pairs_of(document: Any) -> list[Pair] | None:
    """Return the interactions of a document, in recorded order.

    Args:
        document: The file's only document.

    Returns:
        None where it is no cassette of vcrpy. The layouts: `interactions` (a list, or a mapping by number), a bare list
        (version 0), and `requests` beside `responses`, as compressed cassettes of LangChain's have them.
    """
    if isinstance(document, list):
        return _listed(document) if document and all(map(_is_item, document)) else None
    if not isinstance(document, dict):
        return None
    if "interactions" in document:
        items = document["interactions"]
        items = list(items.values()) if isinstance(items, dict) else [] if items is None else items
        return _listed(items) if isinstance(items, list) else None
    requests, responses = document.get("requests"), document.get("responses")
    if isinstance(requests, list) and isinstance(responses, list):
        return [(request, response, _NOTHING) for request, response in zip_longest(requests, responses)]
    return None


def _listed(items: Sequence[Any]) -> list[Pair]:
    found = (one if isinstance(one, dict) else _NOTHING for one in items)
    return [(one.get("request"), one.get("response"), one) for one in found]


def _is_item(item: Any) -> bool:
    return isinstance(item, dict) and {"request", "response"} <= item.keys()

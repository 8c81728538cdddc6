"""Recorders whose files look like vcrpy's, told by what only they write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def recorder_of(document: Any) -> str:
    """Name the recorder that wrote a document; empty where it may be vcrpy, or nobody that is known.

    Args:
        document: The first document of the file, as plain values.
    """
    return next((name for name, is_its in _RECORDERS if is_its(document)), "")


def recorder_of_item(item: Mapping[str, Any]) -> str:
    """Name the recorder of one interaction that is none of vcrpy's; empty for one that is, or that is unknown."""
    if "request_sample" in item or "response_sample" in item:
        return "gRPC calls (pydantic-ai's xAI)"
    request, response = item.get("request"), item.get("response")
    if not isinstance(request, dict) or not isinstance(response, dict):
        return ""
    if "proto" in request or "duration" in response or ("code" in response and "url" in request):
        return "go-vcr"
    return "google-genai replay" if "body_segments" in request or "body_segments" in response else ""


def _map(document: Any) -> Mapping[str, Any]:
    return document if isinstance(document, dict) else {}


def _items(document: Any) -> list[Mapping[str, Any]]:
    """Return the first few members of a list that are mappings."""
    return [one for one in document[:4] if isinstance(one, dict)] if isinstance(document, list) else []


def _is_ruby(document: Any) -> bool:
    by = str(_map(document).get("recorded_with", ""))
    return "http_interactions" in _map(document) and not by.startswith("betamax")


def _is_go(document: Any) -> bool:
    if "interactions" not in _map(document):
        return False
    items = _items(_map(document)["interactions"])
    is_newer = _map(document).get("version") not in (None, 1, "1")
    return is_newer or any(recorder_of_item(one) == "go-vcr" for one in items)


def _is_google(document: Any) -> bool:
    return "replay_id" in _map(document) and "interactions" in _map(document)


def _is_grpc(document: Any) -> bool:
    items = _items(_map(document).get("interactions"))
    return bool(items) and all(recorder_of_item(one).startswith("gRPC") for one in items)


def _is_datadog(document: Any) -> bool:
    request = _map(_map(document).get("request"))
    return "response" in _map(document) and "method" in request and ("url" in request or "uri" in request)


def _is_har(document: Any) -> bool:
    log = _map(_map(document).get("log"))
    return "entries" in log and ("creator" in log or "version" in log)


def _is_polly(document: Any) -> bool:
    return _is_har(document) and "_recordingName" in document["log"]


def _is_php(document: Any) -> bool:
    return any("url" in _map(one.get("request")) and "response" in one for one in _items(document))


def _is_nock(document: Any) -> bool:
    return any({"scope", "method", "path"} <= one.keys() for one in _items(document))


def _is_responses(document: Any) -> bool:
    kept = _map(document).get("responses")
    return "requests" not in _map(document) and any("response" in one for one in _items(kept))


_RECORDERS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("betamax", lambda it: "http_interactions" in _map(it) and not _is_ruby(it)),
    ("Ruby VCR", _is_ruby),
    ("google-genai replay", _is_google),
    ("gRPC calls (pydantic-ai's xAI)", _is_grpc),
    ("go-vcr", _is_go),
    ("httpmock (Rust)", lambda it: {"when", "then"} <= _map(it).keys()),
    ("Datadog test agent", _is_datadog),
    ("Polly.js", _is_polly),
    ("HAR", _is_har),
    ("PHP-VCR", _is_php),
    ("nock", _is_nock),
    ("responses", _is_responses),
    ("WireMock", lambda it: "mappings" in _map(it) or {"request", "response"} <= _map(it).keys()),
    ("onetake", lambda it: {"onetake", "verdict", "key"} <= _map(it).keys()),
)
"""In the order in which they are asked: the surest first."""

"""A response as vcrpy's files have it, in every shape, as its caller got it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onetake import codings
from onetake.errors import FormatError
from onetake.events import framing
from onetake.eventstream import starts_frame
from onetake.importers.asked import as_bytes, as_json
from onetake.importers.heads import headers_of
from onetake.model import Cut, Headers, Request, Response, header
from onetake.printable import counted, one_line
from onetake.scrub import shown

_CODINGS = ((b"\x1f\x8b\x08", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))
"""Content-encodings that are known by how their bytes begin."""
_PACKED = ("application/gzip", "application/x-gzip", "application/zip", "application/x-tar", "application/octet-stream")
_STATUS = re.compile(r"\s*(?:HTTP/[\d.]+\s+)?([1-9]\d\d)\b")


@dataclass(frozen=True, slots=True)
class ReadResponse:
    """A response that was read; `notes` say what was put right."""

    response: Response
    notes: tuple[str, ...]


def read_response(raw: Mapping[str, Any], request: Request) -> ReadResponse:
    """Read a response.

    Args:
        raw: As the file has it: `status` and `body`; or `status_code` and `content` (the former httpx layout); or
            `parsed_body`.
        request: What it answers.

    Raises:
        FormatError: It has no status, or its body is nothing that is known.
    """
    headers, redacted = headers_of(raw.get("headers"))
    notes = [f"{counted(redacted, 'header')} of the response redacted"] if redacted else []
    body, is_exact = _body(raw, notes)
    is_exact = is_exact and header(headers, "content-encoding") is None
    headers, plain, decoded = _decoded(headers, body, notes)
    if body and not plain:
        raise FormatError(f"its body of {len(body)} bytes would come out empty")
    status = _status(raw)
    cut = _cut(headers, plain, request) if is_exact and not decoded else Cut.NO
    headers = _named(headers, plain, notes)
    if cut is Cut.NO:
        headers = _restated(headers, plain, request, status)
    return ReadResponse(Response(status, headers, plain, decoded, cut), tuple(notes))


def _status(raw: Mapping[str, Any]) -> int:
    status = raw.get("status", raw.get("status_code", raw.get("code")))
    if isinstance(status, dict):
        status = status.get("code", status.get("status_code"))
    if isinstance(status, str | bytes):
        found = _STATUS.match(status if isinstance(status, str) else status.decode("latin-1"))
        status = int(found[1]) if found else None
    if not isinstance(status, int) or isinstance(status, bool) or not 100 <= status <= 999:
        raise FormatError("the response has no status")
    return status


def _body(raw: Mapping[str, Any], notes: list[str]) -> tuple[bytes, bool]:
    """Return the body, and whether it is the bytes that came."""
    body = raw.get("body", raw.get("content"))
    if isinstance(body, dict) and (body.keys() <= {"string", "encoding", "base64_string"}):
        if body.get("base64_string") is not None:
            return _base64(body["base64_string"]), True
        body = body.get("string")
    if body in (None, "", b"") and raw.get("parsed_body") is not None:
        notes.append("its answer was stored parsed, with quotes and dashes made plain")
        return as_json(raw["parsed_body"]), False
    if body is None or isinstance(body, str | bytes):
        return as_bytes(body), True
    if isinstance(body, list) and all(isinstance(one, bytes) for one in body):
        return b"".join(body), True
    notes.append("its answer was stored as a structure")
    return as_json(body), False


def _base64(text: Any) -> bytes:
    try:
        return base64.b64decode(as_bytes(text), validate=False)
    except binascii.Error as error:
        raise FormatError(f"its body is no base64: {error}") from None


def _decoded(headers: Headers, body: bytes, notes: list[str]) -> tuple[Headers, bytes, str]:
    """Undo the content-encoding, whatever the label says: by the bytes themselves."""
    said = ", ".join(value for name, value in headers if name.lower() == "content-encoding")
    named = "" if said.lower() in ("", "identity") else one_line(shown(said), 80)
    if not named:
        by_bytes = _coding_of(body, headers)
        plain = codings.undo(body, by_bytes) if by_bytes else None
        if plain is None:
            return headers, body, ""
        notes.append(f"its answer is {by_bytes}, which no header said")
        return headers, plain, by_bytes
    if not body:
        return _without(headers, "content-encoding"), body, ""
    plain = codings.undo(body, named)
    if plain is not None:
        return _without(headers, "content-encoding"), plain, named
    if codings.knows(named) or _is_text(body):
        notes.append(f"its answer is labelled {named} and is plain: the label is left out")
        return _without(headers, "content-encoding"), body, ""
    notes.append(f"its answer is in {named}, which cannot be undone here: it stays as it is")
    return headers, body, ""


def _coding_of(body: bytes, headers: Headers) -> str:
    kind = (header(headers, "content-type") or "").partition(";")[0].strip().lower()
    if kind in _PACKED:
        return ""  # a packed file, not a packed answer
    return next((name for start, name in _CODINGS if body.startswith(start) and codings.knows(name)), "")


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in body


def _without(headers: Headers, *names: str) -> Headers:
    return tuple(pair for pair in headers if pair[0].lower() not in names)


def _cut(headers: Headers, body: bytes, request: Request) -> Cut:
    """Tell whether the provider had said that more would come.

    What ends well is whole: a filter made it shorter. So is a text that has no end of its own, as far as anybody knows;
    and of a stream its events tell.
    """
    said = (header(headers, "content-length") or "").strip()
    if not body or request.method == "HEAD" or not said.isdecimal() or int(said) <= len(body):
        return Cut.NO
    if framing(headers, body[:64]) is not None:
        return Cut.NO
    if body.lstrip()[:1] in (b"{", b"["):
        return Cut.NO if body.rstrip()[-1:] in (b"}", b"]") else Cut.PROVIDER
    return Cut.NO if _is_text(body) else Cut.PROVIDER


def _named(headers: Headers, body: bytes, notes: list[str]) -> Headers:
    """Put back the content-type of what tells itself by its bytes, where a filter took it away."""
    if header(headers, "content-type") is not None or not body:
        return headers
    kind = ""
    if starts_frame(body):
        kind = "application/vnd.amazon.eventstream"
    elif body.lstrip()[:1] in (b"{", b"["):
        kind = "application/json"
    elif body.startswith((b"data:", b"event:")):
        kind = "text/event-stream"
    if not kind:
        return headers
    notes.append(f"the answer's content-type was not recorded: {kind} by its bytes")
    return (*headers, ("content-type", kind))


def _restated(headers: Headers, body: bytes, request: Request, status: int) -> Headers:
    """Let the length say how long the body is that is stored."""
    if request.method == "HEAD" or status in (204, 304) or header(headers, "content-length") is None:
        return headers
    return tuple((name, str(len(body)) if name.lower() == "content-length" else value) for name, value in headers)

"""A request as vcrpy's files have it, in every shape, as the request that was sent."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode, urlsplit

from onetake import dialects
from onetake.errors import FormatError
from onetake.importers.heads import headers_of
from onetake.model import Headers, Request, header
from onetake.printable import counted

_FORM = re.compile(rb"(?:[\w.%+*\[\]-]++=[^&\s=]*+(?:&(?!\Z)|\Z))++")
_METHOD = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,40}")
"""Source: RFC 9110, 5.6.2 (token); 40 characters are more than any has."""
_BOUNDARY = re.compile(rb"\s*--([!-~]{1,70})\r?\n")
_WITH_BODY = ("POST", "PUT", "PATCH")


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request that was read.

    `bodyless` is True where its body was not recorded, `notes` say what was put right or cannot be known.
    """

    request: Request
    bodyless: bool
    notes: tuple[str, ...]


def read_request(raw: Mapping[str, Any]) -> ReadRequest:
    """Read a request.

    Args:
        raw: As the file has it: `uri`, or `protocol`, `host`, `port` and `path` (version 0); `body` or `parsed_body`.

    Raises:
        FormatError: It names no method or no URL, or its body is nothing that is known.
    """
    method = raw.get("method")
    if not isinstance(method, str) or not _METHOD.fullmatch(method.strip()):
        raise FormatError("the request has no method")
    headers, redacted = headers_of(raw.get("headers"))
    notes = [f"{counted(redacted, 'header')} of the request redacted"] if redacted else []
    url = _url(raw)
    body = _body(raw, headers, notes)
    read = Request(method.strip().upper(), url, headers, body)
    is_bodyless = _is_bodyless(read, raw)
    restored = read if is_bodyless else _restored(read, notes)
    return ReadRequest(restored, is_bodyless, tuple(notes))


def _url(raw: Mapping[str, Any]) -> str:
    uri = raw.get("uri", raw.get("url"))
    if uri is None and isinstance(host := raw.get("host"), str):
        scheme, port = str(raw.get("protocol") or raw.get("scheme") or "http"), raw.get("port")
        shown = f":{port}" if port and (scheme, str(port)) not in (("http", "80"), ("https", "443")) else ""
        path = str(raw.get("path") or "/")
        uri = f"{scheme}://{host}{shown}{path if path.startswith('/') else '/' + path}"
        if isinstance(query := raw.get("query"), str) and query and "?" not in uri:
            uri += f"?{query.lstrip('?')}"
    if isinstance(uri, bytes):
        uri = uri.decode("latin-1")
    if not isinstance(uri, str) or "://" not in uri:
        raise FormatError("the request has no absolute URL")
    try:
        urlsplit(uri)
    except ValueError as error:
        raise FormatError(f"its URL cannot be read: {error}") from None
    return uri.partition("#")[0]


def _body(raw: Mapping[str, Any], headers: Headers, notes: list[str]) -> bytes:
    body = raw.get("body")
    if body in (None, "", b"") and raw.get("parsed_body") is not None:
        notes.append("its body was stored parsed, with quotes and dashes made plain: it may differ from what was sent")
        return as_json(raw["parsed_body"])
    if body is None:
        return b""
    if isinstance(body, str | bytes):
        return as_bytes(body)
    if isinstance(body, dict) and body.keys() <= {"string", "encoding", "base64_string"} and body:
        return as_bytes(body.get("string"))
    if isinstance(body, list) and body and all(isinstance(one, bytes) for one in body):
        return b"".join(body)
    if isinstance(body, dict) and "form-urlencoded" in (header(headers, "content-type") or ""):
        return urlencode(body, doseq=True).encode()
    notes.append("its body was stored as a structure: how it was spaced is not known")
    return as_json(body)


def as_bytes(value: Any) -> bytes:
    """Return the bytes of a text or of bytes; none for None.

    Raises:
        FormatError: It is neither.
    """
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    raise FormatError(f"a body that is neither text nor bytes: {type(value).__name__}")


def as_json(value: Any) -> bytes:
    """Return the JSON of a parsed body, compact.

    Raises:
        FormatError: It holds bytes, or is nested too deep.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(f"a parsed body that is no JSON: {error}") from None
    return text.encode("utf-8", "surrogatepass")


def _is_bodyless(request: Request, raw: Mapping[str, Any]) -> bool:
    """Tell whether something was sent that is not in the file: by what the headers say, or by what is asked there."""
    if request.body:
        return False
    said = (header(request.headers, "content-length") or "").strip()
    if said.isdecimal() and int(said) > 0:
        return True
    if request.method not in _WITH_BODY:
        return False
    if _is_question(request):
        return True  # a recorder that lost the body may have counted what it had: none
    names_content = header(request.headers, "content-type") is not None or not request.headers
    return raw.get("body") is None and not said and names_content


def _is_question(request: Request) -> bool:
    """Tell whether a request to a known API asks something, which takes a body."""
    path = urlsplit(request.url).path
    return dialects.find(request.method, request.url) is not None and not path.endswith("/cancel")


def _restored(request: Request, notes: list[str]) -> Request:
    """Put back what the key counts and a filter took away, where only one value is possible."""
    headers = list(request.headers)
    if header(request.headers, "content-type") is None and (kind := _kind_of(request.body)):
        headers.append(("content-type", kind))
        notes.append(f"its content-type was not recorded: {kind.partition(';')[0]} by its bytes")
    is_anthropic = request.method == "POST" and urlsplit(request.url).path.endswith("/v1/messages")
    if is_anthropic and header(request.headers, "anthropic-version") is None:
        headers.append(("anthropic-version", "2023-06-01"))
        notes.append("its anthropic-version was not recorded: 2023-06-01, which every SDK sends")
    return replace(request, headers=tuple(headers)) if len(headers) > len(request.headers) else request


def _kind_of(body: bytes) -> str:
    """Return the content-type that bytes alone tell; the key finds JSON without one."""
    if found := _BOUNDARY.match(body):
        boundary = found[1].decode()
        return f"multipart/form-data; boundary={boundary}" if f"--{boundary}--".encode() in body[-80:] else ""
    return "application/x-www-form-urlencoded" if _FORM.fullmatch(body) else ""

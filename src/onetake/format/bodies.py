"""The form of a whole body in an entry: `$json`, `$lines`, `$text`, `$base64`, or a sidecar (`$raw`)."""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from onetake import picking
from onetake.arraystream import starts_array
from onetake.errors import FormatError
from onetake.format.forms import fold_json_told, read_json_told, read_lines
from onetake.format.sidecar import Side, bare, ext_of, put_aside, take_back

LONG_BINARY = 2048
"""Bytes up to which a binary body stays in the entry."""
LONG_BODY = 4 * 1024 * 1024
"""Bytes up to which a body that can be read stays in the entry."""


def fold_body(data: bytes, content_type: str, sides: dict[str, bytes]) -> dict[str, Any]:
    """Return the form of a body that is not empty: the first one that gives back exactly its bytes.

    Args:
        data: The body.
        content_type: As its header says; may be empty or wrong.
        sides: Takes the sidecars, by name.
    """
    ext = stream_ext(data, content_type) or (ext_of(data, content_type) if len(data) > LONG_BODY else "")
    if not ext:
        for form, own, is_proved in _readable(data, content_type):
            # Checked as it will be read: from its JSON.
            if is_proved or unfold_body(json.loads(json.dumps(form)), own.get) == data:
                sides.update(own)
                return form
        if len(data) <= LONG_BINARY:
            return {"$base64": binascii.b2a_base64(data, newline=False).decode()}
    return {"$raw": put_aside(data, ext or ext_of(data, content_type), sides)}


def unfold_body(form: Any, side: Side) -> bytes:
    """Return the bytes that a body's form stands for. The form is changed in place: it must be the caller's own.

    Args:
        form: As read from a file: untrusted.
        side: Where sidecars are.

    Raises:
        FormatError: The form is malformed, or its sidecar missing or damaged.
    """
    reader = _READERS.get(frozenset(form)) if type(form) is dict else None
    if reader is None:
        raise FormatError("a body is one of $json with style, $lines, $text, $base64 and $raw")
    return reader(form, side)


def stream_ext(data: bytes, content_type: str) -> str | None:
    """Tell whether a body is an event stream, by its type or its bytes.

    Returns:
        `sse`, `ndjson`, `eventstream`, or `json` for Gemini's stream that is one array; None for any other body (an
        error object under a stream's type as well).
    """
    ext = _STREAM_TYPES.get(bare(content_type))
    if ext == "sse" and data.lstrip()[:1] in (b"{", b"["):
        ext = None
    return ext or _sniffed(data)


def _sniffed(data: bytes) -> str | None:
    if _SSE_START.match(data) and _SSE_DATA.search(data, 0, 65536):
        return "sse"
    if data[:1] == b"{" and _NEXT_LINE.search(data) and _is_json(data.partition(b"\n")[0]):
        return "ndjson"
    # Source: Amazon's event stream encoding: total length, headers length, CRC-32 of these two.
    if len(data) >= 16 and binascii.crc32(data[:8]) == int.from_bytes(data[8:12], "big"):
        return "eventstream"
    return "json" if starts_array(data) else None


def _readable(data: bytes, content_type: str) -> Iterator[tuple[dict[str, Any], dict[str, bytes], bool]]:
    """Offer the forms that a person can read, the best first: each with its sidecars, and whether it needs no check."""
    own: dict[str, bytes] = {}
    if data[:1] in (b"{", b"[") and (found := fold_json_told(data, own)):
        yield found[0], own, found[1]
    if _is_text(data, content_type):
        text = data.decode()
        yield ({"$lines": text.split("\n")} if "\n" in text else {"$text": text}), {}, False


def _is_text(data: bytes, content_type: str) -> bool:
    """Tell text from bytes that happen to be UTF-8: no medium by its type, few control characters."""
    if _MEDIA.match(bare(content_type)):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    controls = len(data) - len(data.translate(None, _CONTROLS))
    return controls * 10 <= len(data)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _read_json(form: dict[str, Any], side: Side) -> bytes:
    data, tree = read_json_told(form, side)
    if type(tree) is dict:  # whoever reads the entry may ask at once what its bodies say
        picking.remember(data, tree)
    return data


def _encode(text: Any) -> bytes:
    if type(text) is not str:
        raise FormatError("$text must be a string")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise FormatError("a lone surrogate in the text of a body: no UTF-8 holds it") from None


def _from_base64(text: Any) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except (TypeError, ValueError):
        raise FormatError("$base64 must be a string of base64") from None


_READERS: dict[frozenset[str], Callable[[dict[str, Any], Side], bytes]] = {
    frozenset({"style", "$json"}): _read_json,
    frozenset({"$raw"}): lambda form, side: take_back(form["$raw"], side),
    frozenset({"$lines"}): lambda form, side: _encode(read_lines(form)),
    frozenset({"$text"}): lambda form, side: _encode(form["$text"]),
    frozenset({"$base64"}): lambda form, side: _from_base64(form["$base64"]),
}
_STREAM_TYPES = {
    "text/event-stream": "sse",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/x-jsonlines": "ndjson",
    "application/stream+json": "ndjson",
    "application/vnd.amazon.eventstream": "eventstream",
}
_SSE_START = re.compile(rb"(?:\xef\xbb\xbf)?(?:(?:data|event|id|retry) ?:|:)[^\r\n]*[\r\n]")
_SSE_DATA = re.compile(rb"(?:^|[\r\n])data:")
_NEXT_LINE = re.compile(rb"\}\r?\n\{")
_MEDIA = re.compile(r"(?:image/(?!svg)|audio/|video/|font/|application/(?:pdf|zip|gzip)$)")
_CONTROLS = bytes([*range(9), 11, 12, *range(14, 32), 127])

"""Multipart bodies (RFC 2046, RFC 7578), taken apart exactly, or not at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from onetake.key.media import media_type

_BOUNDARY = re.compile(r';\s*boundary\s*=\s*(?:"([^"]+)"|([^;\s"]+))', re.IGNORECASE)
_PARAMETER = re.compile(r';\s*([A-Za-z*]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]*))\s*')


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a multipart body."""

    name: str | None
    filename: str | None
    type: str | None
    """The media type with its parameters, as `media_type` has it; None where the part names none."""
    headers: tuple[tuple[str, str], ...]
    """The other headers, names in lower case, sorted; without content-length."""
    body: bytes

    @property
    def is_text(self) -> bool:
        """True for a text type, and for a plain field (RFC 7578: no type and no file name is text)."""
        return self.type.startswith("text/") if self.type is not None else self.filename is None


def split(body: bytes, content_type: str) -> list[Part] | None:
    """Take a multipart body apart.

    Args:
        body: The whole body, CRLF line ends, as the RFC asks.
        content_type: The header's value, with its boundary.

    Returns:
        The parts in order; None where anything is not as the RFCs have it: no boundary, no last delimiter, text before
        the first or after the last one, an odd header.
    """
    found = _BOUNDARY.search(content_type)
    if not found:
        return None
    mark = b"\r\n--" + (found[1] or found[2]).encode("utf-8", "surrogateescape")
    before, *pieces = (b"\r\n" + body).split(mark)
    if before or not pieces or pieces.pop().rstrip(b"\r\n \t") != b"--":
        return None
    parts = [_part(piece) for piece in pieces]
    return None if None in parts else [part for part in parts if part]


def _part(piece: bytes) -> Part | None:
    """Read a part from what lies between two delimiters: rest of the delimiter line, headers, empty line, bytes."""
    padding, line_end, rest = piece.partition(b"\r\n")
    head, empty_line, body = (b"\r\n" + rest).partition(b"\r\n\r\n")
    if padding.strip(b" \t") or not line_end or not empty_line:
        return None
    headers: dict[str, str] = {}
    for line in head.decode("utf-8", "surrogateescape").split("\r\n")[1:]:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip() or name.lower() in headers:
            return None
        headers[name.lower()] = value.strip()
    headers.pop("content-length", None)
    media = headers.pop("content-type", None)
    named = _disposition(headers.get("content-disposition", ""))
    if named is not None:
        del headers["content-disposition"]
    field, filename = named or (None, None)
    kind = None if media is None else media_type(media)
    return Part(field, filename, kind, tuple(sorted(headers.items())), body)


def _disposition(value: str) -> tuple[str | None, str | None] | None:
    """Read name and file name of a `form-data` disposition; None where it is another one, or says more than these."""
    kind, _, rest = value.partition(";")
    matches = list(_PARAMETER.finditer(f";{rest}"))
    found = {match[1].lower(): _unquoted(match) for match in matches}
    if kind.strip().lower() != "form-data" or len(found) != len(matches) or _PARAMETER.sub("", f";{rest}").strip():
        return None
    if found.keys() - {"name", "filename", "filename*"}:
        return None
    return found.get("name"), _decoded(found["filename*"]) if "filename*" in found else found.get("filename")


def _unquoted(match: re.Match[str]) -> str:
    quoted, bare = match[2], match[3]
    return bare if quoted is None else re.sub(r'\\(["\\])', r"\1", quoted)


def _decoded(extended: str) -> str:
    """Decode `UTF-8''na%C3%AFve.txt` (RFC 8187); another charset stays as it is written."""
    charset, _, rest = extended.partition("'")
    text = rest.partition("'")[2]
    if charset.lower() != "utf-8":
        return extended
    return unquote_to_bytes(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

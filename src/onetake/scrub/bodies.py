"""What must go from a body, by its kind: JSON, event stream, AWS frames, JSON lines, form, multipart, plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote_plus

from onetake.eventstream import Frame, frames
from onetake.scrub.deltas import holds_none
from onetake.scrub.finder import PLACEHOLDER, Finder
from onetake.scrub.lanes import Document, Edit, Search, document, edits, whole, without_secrets
from onetake.scrub.places import holds_a_named_secret
from onetake.scrub.shapes import is_secret_name

_SSE_START = re.compile(r"\ufeff?[\r\n]*(?:data|event|id|retry)?:")
_SSE_LINE = re.compile(
    r"(?P<gap>(?:\r\n|\r(?!\n)|\n){2,})|(?:(?<=[\r\n])|\A\ufeff?)data:[ ]?(?P<data>[^\r\n]*)|(?P<other>[^\r\n]+)"
)
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_FRAME_TEXT = re.compile(r"[^\0]+")
_LINE = re.compile(r"[^\r\n]+")
_PAIR = re.compile(r"(?<![^&\r\n])([^&=\r\n]*+)=([^&\r\n]++)")
_BOUNDARY = re.compile(rb"\A--([!-~]{1,70})\r?\n[Cc]ontent-")
_PART_NAME = re.compile(r'name="?([^";\r\n]+)', re.IGNORECASE)
_PART_TYPE = re.compile(r"content-type:\s*([^;\s]+)", re.IGNORECASE)
_BINARY_TYPES = ("application/vnd.amazon.eventstream", "application/x-protobuf", "application/grpc")
_NEXT_FRAME = "\0"
"""Between the texts of frames: no text that is looked at holds one."""


_Event = tuple[list[tuple[int, int]], bool]
"""Where the lines of an event are, and whether a plain text goes on in the next event."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a body that is text: bytes `[start, end)`; a body that is no multipart has one, or none."""

    start: int
    end: int
    text: str
    content_type: str
    name: str = ""
    """The form field, where the chunk is a part of a multipart body."""
    frames: tuple[Frame, ...] = ()
    """The frames of an AWS event stream, whose texts are *text*."""

    def encoded(self, text: str) -> bytes:
        """Spell a text of this chunk as bytes again, of frames with the lengths and checksums that fit it."""
        if self.frames:
            said = zip(self.frames, text.split(_NEXT_FRAME), self.text.split(_NEXT_FRAME), strict=True)
            return b"".join(frame.raw if new == old else frame.saying(new.encode()).raw for frame, new, old in said)
        return text.encode("utf-8", "surrogateescape")


def chunks(body: bytes, content_type: str) -> list[Chunk]:
    """Return the parts of a body that are text and may be edited; none where the body is binary."""
    boundary = _BOUNDARY.match(body)
    if boundary:
        return list(_parts(body, boundary[1]))
    if framed := tuple(frames(body)):
        said = _NEXT_FRAME.join([_frame_text(frame) for frame in framed])
        return [Chunk(0, sum(len(frame.raw) for frame in framed), said, content_type, frames=framed)]
    text = None if content_type.startswith(_BINARY_TYPES) else decode(body)
    return [] if text is None else [Chunk(0, len(body), text, content_type)]


def decode(body: bytes) -> str | None:
    """Decode a body that is UTF-8, but for a character that was cut off at its end; None where it is not text."""
    if b"\0" in body:
        return None
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        return body.decode("utf-8", "surrogateescape") if error.start >= len(body) - 3 else None


def _frame_text(frame: Frame) -> str:
    """Return what a frame says; nothing where that is no text, which is never edited."""
    try:
        text = frame.said.decode()
    except UnicodeDecodeError:
        return ""
    return "" if _NEXT_FRAME in text else text


def chunk_edits(chunk: Chunk, search: Search) -> list[Edit]:
    """List what must go from a chunk, in the order of its text."""
    if chunk.name and is_secret_name(chunk.name):
        hit = whole(chunk.text, search.finder)
        return [] if PLACEHOLDER.fullmatch(chunk.text) else [Edit(0, len(chunk.text), f"?{chunk.name}", hit)]
    if chunk.content_type.startswith("application/x-www-form-urlencoded"):
        return list(_form(chunk.text, search.finder))
    clean = not search.finder.suspects(chunk.text)
    events = _events(chunk)
    if clean and not search.declared and _is_clear(chunk.text, events, search.finder):
        return []
    if events is not None:
        found = [_joined(chunk.text, spans, search, clean=clean, joins=joins) for spans, joins in events]
        return edits(found, search.finder, clean=clean)
    whole_text = document(chunk.text, range(len(chunk.text) + 1), search, clean=clean)
    return edits([whole_text], search.finder, clean=clean)


def is_clear(chunk: Chunk, finder: Finder) -> bool:
    """Tell quickly that a chunk holds no secret; True is certain, where no path is declared.

    Args:
        chunk: Its text is none that *finder* suspects.
        finder: What is a secret.
    """
    is_form = chunk.content_type.startswith("application/x-www-form-urlencoded")
    return not (chunk.name or is_form) and _is_clear(chunk.text, _events(chunk), finder)


def _is_clear(text: str, events: list[_Event] | None, finder: Finder) -> bool:
    if events is not None:
        return holds_none(_texts(text, events), finder)
    # The items of a root array are events too, so only there clean text may hold a secret, split over them.
    return text.lstrip()[:1] != "[" and not holds_a_named_secret(text)


def _events(chunk: Chunk) -> list[_Event] | None:
    text = chunk.text
    if chunk.frames:
        return [([match.span()], True) for match in _FRAME_TEXT.finditer(text)]
    if chunk.content_type.startswith("text/event-stream") or _SSE_START.match(text):
        return list(_sse(text))
    if text.lstrip()[:1] == "{" and ("}\n{" in text or "}\r\n{" in text):
        return [([match.span()], False) for match in _LINE.finditer(text)]
    return None


def _texts(text: str, events: list[_Event]) -> Iterator[tuple[str, bool]]:
    for spans, joins in events:
        yield "\n".join([text[start:end] for start, end in spans]), joins


def _sse(text: str) -> Iterator[_Event]:
    """Yield where the data of every event is, with True, and every other line. (`events` does not tell where.)"""
    data: list[tuple[int, int]] = []
    for found in _SSE_LINE.finditer(text):
        if found.lastgroup == "data":
            data.append(found.span("data"))
        elif found.lastgroup == "other":
            yield [found.span()], False
        elif data:
            yield data, True
            data = []
    if data:
        yield data, True


def _joined(text: str, lines: list[tuple[int, int]], search: Search, *, clean: bool, joins: bool) -> Document:
    if len(lines) == 1:
        start, end = lines[0]
        return document(text[start:end], range(start, end + 1), search, clean=clean, joins=joins)
    origin = [at for start, end in lines for at in range(start, end + 1)]
    return document("\n".join(text[start:end] for start, end in lines), origin, search, clean=clean, joins=joins)


def _form(text: str, finder: Finder) -> Iterator[Edit]:
    for pair in _PAIR.finditer(text):
        name, value = unquote_plus(pair[1]), pair[2].replace("+", " ")
        where = without_secrets(f"?{name}", finder)
        if not is_secret_name(name):
            hits = finder.find(value)
        elif PLACEHOLDER.fullmatch(unquote_plus(pair[2])):
            hits = []
        else:
            hits = [whole(unquote_plus(pair[2]), finder, len(value))]
        for hit in hits:
            yield Edit(pair.start(2) + hit.start, pair.start(2) + hit.end, where, hit, "form")


def _parts(body: bytes, boundary: bytes) -> Iterator[Chunk]:
    marks = [found.span() for found in re.finditer(rb"(?:\A|\r?\n)--" + re.escape(boundary), body)]
    for (_, start), (end, _) in zip(marks, [*marks[1:], (len(body), 0)], strict=True):
        blank = _BLANK_LINE.search(body, start, end)
        if not blank:
            continue
        head = body[start : blank.start()].decode("latin-1")
        name, kind = _PART_NAME.search(head), _PART_TYPE.search(head)
        text = decode(body[blank.end() : end])
        if text is not None:
            yield Chunk(blank.end(), end, text, kind[1].lower() if kind else "", name[1] if name else "")

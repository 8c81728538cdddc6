"""The last look at bytes that are about to be written: what is still secret in them refuses the entry."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass

from onetake.scrub.bodies import Chunk, chunk_edits, chunks
from onetake.scrub.encoded import text_within
from onetake.scrub.finder import Finder
from onetake.scrub.lanes import Search, document, edits

_MOST = 1 << 26
"""Bytes of a compressed body that are looked at."""
_LAYERS = 3
_NOTHING_KNOWN = Search(Finder())


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret that is still there; the secret itself is never part of it."""

    kind: str
    """The word of the placeholder that should be there: `openai key`."""
    where: str
    """JSON path in the file, `?name` for a form field, or empty where the bytes have no such places."""
    line: int | None
    """From 1; None in bytes that are not text."""


def scan(data: bytes, layers: int = _LAYERS) -> list[Finding]:
    """Look for secrets in bytes as they would be written: an entry's file, or a sidecar.

    By shape and by name, also base64-, percent- and JSON-escaped, split over the events of a stream or over the frames
    of an AWS event stream, and inside gzip; in bytes that are no UTF-8 by shape, also in UTF-16.

    Args:
        data: The bytes.
        layers: How often gzip within gzip is undone: some bytes give themselves, again and again.

    Returns:
        Each finding once, in order; empty for bytes that may be written.
    """
    if layers and data.startswith(b"\x1f\x8b"):
        try:
            return scan(zlib.decompressobj(31).decompress(data, _MOST), layers - 1)
        except zlib.error:
            pass
    return list(dict.fromkeys(_findings(data)))


def _findings(data: bytes) -> Iterator[Finding]:
    done, line = 0, 1
    for chunk in chunks(data, ""):
        if chunk.frames:  # their headers and padding count too, and a damaged frame
            continue
        yield from _binary_findings(data[done : chunk.start])
        line += data.count(b"\n", done, chunk.start)
        yield from _text_findings(chunk, line)
        line += chunk.text.count("\n")
        done = chunk.end
    yield from _binary_findings(data[done:])


def _text_findings(chunk: Chunk, line: int) -> Iterator[Finding]:
    done = 0
    for edit in chunk_edits(chunk, _NOTHING_KNOWN):
        line += chunk.text.count("\n", done, edit.start)
        done = edit.start
        if edit.hit:
            yield Finding(edit.hit.kind, edit.where, line)


def _binary_findings(data: bytes) -> Iterator[Finding]:
    if not data:  # nearly always: an entry's file is text
        return
    finder = _NOTHING_KNOWN.finder
    payloads = [document(text, range(len(text) + 1), _NOTHING_KNOWN) for text in _payloads(data)]
    hits = [edit.hit for edit in edits(payloads, finder) if edit.hit] + finder.find(text_within(data))
    yield from (Finding(hit.kind, "", None) for hit in hits)


def _payloads(data: bytes) -> Iterator[str]:
    """Yield the payload of every frame of an AWS event stream, nothing for other bytes.

    Source: https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html (lengths, prelude CRC, headers, payload).
    """
    at = 0
    while len(data) - at >= 16 and zlib.crc32(data[at : at + 8]) == int.from_bytes(data[at + 8 : at + 12]):
        total, headers = int.from_bytes(data[at : at + 4]), int.from_bytes(data[at + 4 : at + 8])
        if not 16 + headers <= total <= len(data) - at:
            return
        yield _unwrapped(data[at + 12 + headers : at + total - 4])
        at += total


def _unwrapped(payload: bytes) -> str:
    """Return a payload's text; Bedrock's `invoke` streams hold the model's own event as base64 in `bytes`."""
    try:
        return b64decode(json.loads(payload)["bytes"]).decode()
    except (ValueError, TypeError, KeyError, RecursionError):
        return payload.decode("utf-8", "replace")

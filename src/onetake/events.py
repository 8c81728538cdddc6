"""Framing of streamed bodies: server-sent events and newline-delimited JSON, as exact slices of the bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream.

    `raw` are its exact bytes, its blank line included, so that joining all of them (and the rest) gives the body.
    """

    name: str
    """The `event:` field; empty where there is none, and in NDJSON."""
    data: str
    """The `data:` lines joined by LF, or the NDJSON line; undecodable bytes are kept as surrogate escapes."""
    raw: bytes

"""Frames of AWS event streams: found in bytes, taken apart, and made again with lengths and checksums that fit.

Source: https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html; the limits are those of botocore 1.44.
"""

from __future__ import annotations

import binascii
import json
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from onetake import picking

_PRELUDE = struct.Struct(">III")
_CRC = struct.Struct(">I")
_LONGEST_HEADERS = 128 * 1024
_LONGEST_PAYLOAD = 24 * 1024 * 1024
_STRING = 7
_FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""The bytes of a header's value by its type: true, false, byte, short, integer, long, timestamp, uuid."""
_COUNTED = (6, _STRING)
"""Bytes and text, which say their length."""
_BYTES = re.compile(rb'"bytes"\s*:\s*"([A-Za-z0-9+/=]+)"')


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame whose checksums fit."""

    raw: bytes
    head: bytes
    """Its headers as they are on the wire."""
    headers: Mapping[str, str]
    """Those whose value is a text: `:message-type`, `:event-type`, `:content-type`."""
    payload: bytes

    @property
    def name(self) -> str:
        """What happened: the type of the event or the exception, or the code of an error."""
        told = (self.headers.get(name) for name in (":event-type", ":exception-type", ":error-code"))
        return next(filter(None, told), "")

    @property
    def said(self) -> bytes:
        """What was said: the payload, of a Bedrock `chunk` the model's own event, which is base64 in it."""
        wrapped = _wrapped(self)
        return wrapped[2] if wrapped else self.payload

    def saying(self, said: bytes) -> Frame:
        """Return this frame with something else said in it, spelled as before, and all lengths and checksums right."""
        payload, wrapped = said, _wrapped(self)
        if wrapped:
            start, end, _ = wrapped
            payload = self.payload[:start] + binascii.b2a_base64(said, newline=False) + self.payload[end:]
        return Frame(framed(self.head, payload), self.head, self.headers, payload)


def failure(raw: bytes) -> str | None:
    """Return what a frame says of an exception or error of the provider's, None for any other frame or bytes.

    Returns:
        Its type and message: `throttlingException: Too many requests`.
    """
    frame = next(frames(raw), None)
    if frame is None or frame.headers.get(":message-type") not in ("exception", "error"):
        return None
    message = picking.text(picking.document(frame.payload).get("message")) or frame.headers.get(":error-message", "")
    return ": ".join(filter(None, (frame.name, message))) or "error"


def starts_frame(data: bytes) -> bool:
    """Tell whether bytes, 12 or more, begin with the start of a frame: two lengths and their checksum."""
    return len(data) >= _PRELUDE.size and zlib.crc32(data[:8]) == _CRC.unpack_from(data, 8)[0]


def frames(data: bytes | bytearray) -> Iterator[Frame]:
    """Yield the frames from the start of *data* on, up to one that is unfinished, damaged or longer than clients take.

    What follows damage is lost, as it is to clients: where the next frame begins, only the lengths say.
    """
    at = 0
    while len(data) - at >= _PRELUDE.size:
        total, head, check = _PRELUDE.unpack_from(data, at)
        room = total - head - _PRELUDE.size - _CRC.size
        if head > _LONGEST_HEADERS or not 0 <= room <= _LONGEST_PAYLOAD or zlib.crc32(data[at : at + 8]) != check:
            return
        frame = _frame(bytes(data[at : at + total]), head) if len(data) - at >= total else None
        if frame is None:
            return
        yield frame
        at += total


def headers(pairs: Mapping[str, str]) -> bytes:
    """Spell headers, texts all of them, as they are on the wire: names up to 255 bytes, values up to 32,767."""
    spelled = [(name.encode(), value.encode()) for name, value in pairs.items()]
    return b"".join(
        struct.pack(f">B{len(name)}sBH", len(name), name, _STRING, len(value)) + value for name, value in spelled
    )


def framed(head: bytes, payload: bytes) -> bytes:
    """Make a frame of headers, as they are on the wire, and a payload."""
    lengths = struct.pack(">II", _PRELUDE.size + len(head) + len(payload) + _CRC.size, len(head))
    before = lengths + _CRC.pack(zlib.crc32(lengths)) + head + payload
    return before + _CRC.pack(zlib.crc32(before))


def _frame(raw: bytes, length: int) -> Frame | None:
    if zlib.crc32(raw[: -_CRC.size]) != _CRC.unpack(raw[-_CRC.size :])[0]:
        return None
    end = _PRELUDE.size + length
    try:
        found = list(_headers(raw[_PRELUDE.size : end]))
    except (struct.error, LookupError, ValueError):
        return None
    if len({name for name, _ in found}) < len(found):
        return None
    told = {name: value for name, value in found if value is not None}
    return Frame(raw, raw[_PRELUDE.size : end], told, raw[end : -_CRC.size])


def _headers(data: bytes) -> Iterator[tuple[str, str | None]]:
    """Yield the headers, None for a value that is no text.

    Raises:
        struct.error, LookupError, ValueError: They are no headers.
    """
    at = 0
    while at < len(data):
        start = at + 1 + data[at]
        name, kind = data[at + 1 : start].decode(), data[start]
        at = start + 1
        if kind in _COUNTED:
            (size,) = struct.unpack_from(">H", data, at)
            at += 2
        else:
            size = _FIXED[kind]
        if at + size > len(data):
            raise ValueError("a header ends behind the headers")
        yield name, data[at : at + size].decode() if kind == _STRING else None
        at += size


def _wrapped(frame: Frame) -> tuple[int, int, bytes] | None:
    """Return where the base64 in the payload of a `chunk` is, and what it stands for; None where there is none."""
    found = _BYTES.search(frame.payload) if frame.headers.get(":event-type") == "chunk" else None
    if found is None:
        return None
    try:
        # The place is found by its looks: a payload that reads otherwise as JSON is left alone.
        if json.loads(frame.payload)["bytes"].encode() != found[1]:
            return None
        return *found.span(1), binascii.a2b_base64(found[1], strict_mode=True)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return None

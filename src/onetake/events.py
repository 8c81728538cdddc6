"""Framing of streams (server-sent events, newline-delimited JSON, AWS frames, arrays), as exact slices of the bytes.

Lines are found in the bytes and decoded afterwards, so neither a chunk border inside a character nor a character that
Unicode calls a line end (U+0085, U+2028) can break one.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from onetake.arraystream import Elements, starts_array
from onetake.eventstream import frames, starts_frame
from onetake.model import Headers, Response, header

SSE = "sse"
NDJSON = "ndjson"
EVENTSTREAM = "eventstream"
ARRAY = "array"

_TYPES = {
    "text/event-stream": SSE,
    "application/x-ndjson": NDJSON,
    "application/ndjson": NDJSON,
    "application/stream+json": NDJSON,
    "application/jsonl": NDJSON,
    "application/x-jsonl": NDJSON,
    "application/jsonlines": NDJSON,
    "application/x-jsonlines": NDJSON,
    "application/vnd.amazon.eventstream": EVENTSTREAM,
}
_LONGEST_KEPT = 1 << 20
_last: tuple[str, bytes, tuple[Event, ...]] = "", b"", ()
"""The stream that was split last: the dialect reads its events, and the gate looks whether each is JSON."""
_NO_TEXT = ("audio/", "image/", "video/")
_BOM = b"\xef\xbb\xbf"
_SSE_START = re.compile(rb"(?:\xef\xbb\xbf)?[\r\n]*(?:data:|event:|:)")
_LINE_END = {SSE: re.compile(rb"\r\n|\n|\r(?=[^\n])"), NDJSON: re.compile(rb"\n")}
# At the end of the body no LF can follow, so there a lone CR ends its line.
_LAST_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream.

    `raw` are its exact bytes, its blank line included, so that joining all of them (and the rest) gives the body. Of an
    AWS event stream it is one frame, of an array one element with what stands before it.
    """

    name: str
    """The `event:` field, of a frame the type of its event, exception or error; empty where there is none."""
    data: str
    """The `data:` lines joined by LF, the NDJSON line, what a frame says, or the element; undecodable bytes are kept as
    surrogate escapes."""
    raw: bytes


class Splitter:
    """Find the events of one stream while its bytes come in; any chunk borders give the same events.

    Comments, blank lines and blocks without data are no events: their bytes lead the `raw` of the next one.

    Args:
        framing: `sse`, `ndjson`, `eventstream` or `array`.
    """

    def __init__(self, framing: str) -> None:
        self._framing = framing
        self._bytes = bytearray()  # bytes would be copied whole with every chunk of a long event
        self._line = self._scanned = 0
        self._first = True
        self._name = b""
        self._data: list[bytes] = []
        self._elements = Elements()
        self._gone = 0

    @property
    def rest(self) -> bytes:
        """The bytes that belong to no event yet."""
        return bytes(self._bytes)

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that *chunk* completes. A CR that may be half a line end waits for the next byte."""
        self._bytes += chunk
        if self._framing == ARRAY:
            return self._array(chunk)
        return self._frames() if self._framing == EVENTSTREAM else self._split(_LINE_END[self._framing])

    def close(self) -> list[Event]:
        """Return the events that only the end of the body completes: none or one.

        That is an event whose blank line is a lone CR, or one that lacks its blank line (in NDJSON its LF) though its
        data is whole: JSON, or `[DONE]`. A frame or an element that lacks a byte is none.
        """
        if self._framing in (EVENTSTREAM, ARRAY):
            return []
        if self._framing == SSE:
            return self._split(_LAST_LINE_END) or self._unended()
        line = bytes(self._bytes[self._line :])
        return self._last("", line) if _is_json(line) else []

    def _unended(self) -> list[Event]:
        # By the rules of event streams this is none; but servers do end so, and clients have what they need by then.
        if line := bytes(self._bytes[self._line :]):
            self._sse_line(line)
        data = b"\n".join(self._data)
        return self._last(_text(self._name), data) if data == b"[DONE]" or _is_json(data) else []

    def _last(self, name: str, data: bytes) -> list[Event]:
        last = Event(name, _text(data), self.rest)
        self._bytes, self._line, self._scanned = bytearray(), 0, 0
        return [last]

    def _split(self, line_end: re.Pattern[bytes]) -> list[Event]:
        found: list[Event] = []
        start, read = 0, self._sse_line if self._framing == SSE else self._ndjson_line
        for end in line_end.finditer(self._bytes, self._scanned):
            said = read(bytes(self._bytes[self._line : end.start()]))
            self._line = end.end()
            if said is not None:
                found.append(Event(*said, bytes(self._bytes[start : self._line])))
                start = self._line
        del self._bytes[:start]
        self._line -= start
        # A line end never straddles this place: a last CR is looked at again.
        self._scanned = max(self._line, len(self._bytes) - 1)
        return found

    def _frames(self) -> list[Event]:
        found = [Event(frame.name, _text(frame.said), frame.raw) for frame in frames(self._bytes)]
        del self._bytes[: sum(len(event.raw) for event in found)]
        return found

    def _array(self, chunk: bytes) -> list[Event]:
        found = []
        for start, end in self._elements.feed(chunk):
            raw = bytes(self._bytes[: end - self._gone])
            found.append(Event("", _text(raw[start - self._gone :]), raw))
            del self._bytes[: len(raw)]
            self._gone = end
        return found

    def _sse_line(self, line: bytes) -> tuple[str, str] | None:
        """Take in one line; return (name, data) where it is the blank line of an event."""
        if self._first:
            line, self._first = line.removeprefix(_BOM), False
        if line:
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                self._data.append(value)
            elif field == b"event":
                self._name = value
            return None
        said = (_text(self._name), _text(b"\n".join(self._data))) if self._data else None
        self._name, self._data = b"", []
        return said

    def _ndjson_line(self, line: bytes) -> tuple[str, str] | None:
        return ("", _text(line)) if line.strip() else None


def sse_events(body: bytes) -> list[Event]:
    """Split a body of server-sent events; the trailing one without its blank line is no event."""
    return _all_events(SSE, body)


def ndjson_events(body: bytes) -> list[Event]:
    """Split newline-delimited JSON at LF only; a last line without LF counts where it is complete JSON."""
    return _all_events(NDJSON, body)


def framing(response_headers: Headers, body_start: bytes) -> str | None:
    """Tell how a body is framed.

    Args:
        response_headers: The response's headers; a stream's content-type decides, unless a content-encoding that was
            not undone says that the bytes are something else.
        body_start: The first bytes of the body, 64 where there are as many. Proxies send event streams as
            `application/json` or without a type, and an array that streams has that type too, so a body that starts as
            one counts as one.

    Returns:
        `sse`, `ndjson`, `eventstream`, `array`, or None for a body that is no stream (or none that shows yet).
    """
    declared = (header(response_headers, "content-type") or "").partition(";")[0].strip().lower()
    if body_start[:1] == b"{" and declared not in _TYPES:
        return None  # nearly every answer that is no stream: told without a second look at the headers
    encoded = (header(response_headers, "content-encoding") or "identity").strip().lower() != "identity"
    by_type = None if encoded else _TYPES.get(declared)
    if by_type in (SSE, EVENTSTREAM) and body_start.lstrip()[:1] in (b"{", b"["):
        return None  # an error object under a stream's type
    if declared.startswith(_NO_TEXT):
        return None  # raw sound may begin with any byte
    return by_type or _by_start(body_start)


def _by_start(body_start: bytes) -> str | None:
    if body_start[:1] == b"{":  # most bodies; nothing that streams starts so
        return None
    if _SSE_START.match(body_start):
        return SSE
    if starts_frame(body_start):
        return EVENTSTREAM
    return ARRAY if starts_array(body_start) else None


def events(response: Response) -> list[Event]:
    """Return the events of a streamed body; none for a body that is no stream."""
    global _last  # set whole, so that every thread finds what belongs together
    kind = framing(response.headers, response.body)
    if kind is None:
        return []
    last_kind, body, found = _last
    if last_kind != kind or body is not response.body:
        found = tuple(_all_events(kind, response.body))
        if len(response.body) <= _LONGEST_KEPT:
            _last = kind, response.body, found
    return list(found)


def pieces(response: Response) -> list[bytes]:
    """Return a body in the pieces in which a replay gives it: event by event, then what belongs to none.

    Returns:
        None of them empty; all together the body. A body that is no stream is one piece.
    """
    found = [event.raw for event in events(response)]
    found.append(response.body[sum(map(len, found)) :])
    return list(filter(None, found))


def _all_events(kind: str, body: bytes) -> list[Event]:
    splitter = Splitter(kind)
    return splitter.feed(body) + splitter.close()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True

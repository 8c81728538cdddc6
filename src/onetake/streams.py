"""Watch a response while it passes through to its caller: what came, whether it is complete, how it ended."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from enum import StrEnum

from onetake import dialects
from onetake.codings import MAX_BYTES, undo
from onetake.events import Splitter, events, framing
from onetake.model import Cut, Headers, Request, Response, header

_SNIFF = 64
"""Bytes after which a body that does not look like a stream is none; proxies send a few blank lines first."""


class Ending(StrEnum):
    """How the reading of a body ended."""

    END = "end"
    """The end of the body was read."""
    LEFT = "left"
    """The caller closed it before."""
    FAILED = "failed"
    """Reading raised an error."""
    INTERRUPTED = "interrupted"
    """Its caller was cancelled or stopped in the middle."""


class Watch:
    """One response in passing: gathers its bytes and knows when it is complete.

    Args:
        request: The request that it answers.
        status: 100 to 599.
        headers: The response's headers as they came. An adapter whose client hands over bytes that are decoded already
            leaves `content-encoding` out.
        undoes: Given a content-coding (`br`), tells whether the client undoes it for its caller. Where it does not, the
            body stays encoded: a replay gives what the first caller got.
        reads_raw: Asked at the end: tells whether the caller read the body as it lies on the wire, or may have. Then it
            stays encoded too.
    """

    def __init__(
        self,
        request: Request,
        status: int,
        headers: Headers,
        undoes: Callable[[str], bool] = lambda coding: True,
        reads_raw: Callable[[], bool] = lambda: False,
    ) -> None:
        self._request, self._status, self._headers = request, status, headers
        self._reads_raw = reads_raw
        self.undecodable = False
        """Set by `finish`: the bytes are not in their encoding, so that a client which undoes it fails."""
        # An error status is no answer, whatever its type says.
        self._dialect = dialects.find(request.method, request.url) if 200 <= status < 300 else None
        self._bodyless = request.method == "HEAD" or status in (204, 304)
        self._declared = _declared_length(headers)
        self._encoding = ", ".join(value for name, value in headers if name.lower() == "content-encoding").lower()
        self._encoding = "" if self._encoding.strip() == "identity" else self._encoding.strip()
        self._plain_headers = tuple(pair for pair in headers if pair[0].lower() != "content-encoding")
        self._decoder = _Decoder(self._encoding, undoes) if self._encoding else None
        self._wire: list[bytes] = []
        self._received = 0
        self._head = b""
        self._splitter: Splitter | None = None
        self._marked = False

    def feed(self, chunk: bytes) -> None:
        """Take in the next bytes: after transfer decoding, before content decoding; any chunk borders."""
        self._wire.append(chunk)
        self._received += len(chunk)
        plain = self._decoder.feed(chunk) if self._decoder else chunk
        if plain and self._dialect and not self._marked:
            self._look(plain)

    @property
    def terminal(self) -> bool:
        """Whether the dialect's terminal event has passed."""
        if not self._marked:
            return False
        so_far = self._decoder.plain if self._decoder else b"".join(self._wire)
        return self._reads_whole(Response(self._status, self._plain_headers, so_far))

    @property
    def complete(self) -> bool:
        """Whether nothing that matters can follow: the terminal event has passed, or the declared length has come."""
        if self.terminal or self._bodyless:
            return True
        return self._splitter is None and self._declared is not None and self._received >= self._declared

    def finish(self, ended: Ending) -> Response:
        """Return the response as its caller got it, content-decoded, and how it was cut.

        Args:
            ended: How the reading ended.

        Returns:
            Its `cut`: none once the terminal event has passed. Else `LEFT` where the caller left before the response
            was complete; `PROVIDER` where reading failed, where the body is shorter than declared, where its content
            coding stops in the middle, and for a stream that its dialect reads as unfinished. A body whose coding
            cannot be undone, here or by the client, stays as it is, under its `content-encoding`.
        """
        body, decoded, whole = self._body()
        plain = not self._encoding or bool(decoded)
        stream = plain and self._dialect is not None and framing(self._plain_headers, body) is not None
        headers = came = tuple(pair for pair in self._headers if pair[0].lower() != "transfer-encoding")
        if decoded:
            headers = _restated(headers, len(body))
        response = Response(self._status, headers, body, decoded)
        terminal = self._marked
        if stream and self._dialect:
            # A stream of another API, at the path of this one, is whole without a terminal event.
            stream_is_whole = self._reads_whole(response)
            terminal = stream_is_whole and (terminal or any(map(self._dialect.is_terminal, events(response))))
            whole, self._marked = whole and stream_is_whole, terminal
        cut = Cut.NO if terminal or self._bodyless else self._cut(ended, unfinished=not whole)
        if self._encoding and self._reads_raw():
            self.undecodable = False
            return Response(self._status, came, b"".join(self._wire), cut=cut)
        return Response(self._status, headers, body, decoded, cut)

    def _look(self, plain: bytes) -> None:
        if self._splitter is None:
            if len(self._head) >= _SNIFF:
                return
            self._head += plain
            kind = framing(self._plain_headers, self._head)
            if kind is None:
                return
            self._splitter, plain = Splitter(kind), self._head
        found = self._splitter.feed(plain)
        self._marked = self._dialect is not None and any(map(self._dialect.is_terminal, found))

    def _reads_whole(self, response: Response) -> bool:
        """Tell what the dialect makes of all that came: one event may look like the end and not be it."""
        return self._dialect is not None and self._dialect.read(self._request, response).terminal

    def _body(self) -> tuple[bytes, str, bool]:
        """Return (body, the content-encoding that was undone, whether that reached its end)."""
        wire = b"".join(self._wire)
        if not wire or self._decoder is None or not self._decoder.opened:
            return wire, "", True
        if (plain := undo(wire, self._encoding)) is not None:
            return plain, self._encoding, True
        if self._decoder.works:
            return self._decoder.plain, self._encoding, False
        self.undecodable = self._decoder.garbled
        return wire, "", True

    def _cut(self, ended: Ending, *, unfinished: bool) -> Cut:
        if ended is Ending.FAILED:
            return Cut.PROVIDER
        if ended in (Ending.LEFT, Ending.INTERRUPTED):
            return Cut.NO if self.complete and not unfinished else Cut.LEFT
        short = self._declared is not None and self._received < self._declared
        return Cut.PROVIDER if short or unfinished else Cut.NO


class _Decoder:
    """Undoes content codings while the bytes come in.

    It gives up at a coding that it does not know or the client does not undo, at bytes that are not so encoded, and at
    a body that decodes to too much.
    """

    def __init__(self, encoding: str, undoes: Callable[[str], bool]) -> None:
        names = [name for part in reversed(encoding.split(",")) if (name := part.strip()) != "identity"]
        found = [_opened(name) if undoes(name) else None for name in names]
        self._steps = [step for step in found if step is not None]
        self.opened = self.works = len(self._steps) == len(found)
        self.garbled = False
        """Whether it gave up at bytes that are not so encoded."""
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def plain(self) -> bytes:
        """All that could be decoded."""
        return b"".join(self._parts)

    def feed(self, chunk: bytes) -> bytes:
        """Return what *chunk* decodes to; empty once it does not work."""
        if not self.works:
            return b""
        for step, error in self._steps:
            try:
                chunk = step(chunk)
            except error:
                self.works, self.garbled = False, True
                return b""
        self._parts.append(chunk)
        self._size += len(chunk)
        self.works = self._size <= MAX_BYTES
        return chunk


_Step = tuple[Callable[[bytes], bytes], type[Exception]]


def _opened(coding: str) -> _Step | None:
    """Open one coding: (what decodes the next bytes, the error that it raises); None without a decoder."""
    if coding in ("gzip", "x-gzip"):
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress, zlib.error
    if coding == "deflate":
        return _deflate(), zlib.error
    try:
        if coding == "br":
            import brotli

            return brotli.Decompressor().process, brotli.error
        if coding == "zstd":
            import zstandard

            return zstandard.ZstdDecompressor().decompressobj().decompress, zstandard.ZstdError
    except ImportError:
        return None
    return None


def _deflate() -> Callable[[bytes], bytes]:
    """Open `deflate`, which some servers send without the zlib wrapper that its specification asks for."""
    inflate: Callable[[bytes], bytes] | None = None

    def step(chunk: bytes) -> bytes:
        nonlocal inflate
        if inflate is None and chunk:
            wrapped = chunk[0] & 0x0F == zlib.DEFLATED
            inflate = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS).decompress
        return inflate(chunk) if inflate else b""

    return step


def _declared_length(headers: Headers) -> int | None:
    """Return the body's length in bytes on the wire, None where it is not declared.

    Source: RFC 9112, 6.3: beside a transfer-encoding, a content-length does not count.
    """
    declared = (header(headers, "content-length") or "").strip()
    if header(headers, "transfer-encoding") is not None or not re.fullmatch("[0-9]{1,18}", declared):
        return None
    return int(declared)


def _restated(headers: Headers, length: int) -> Headers:
    """Return the headers of a body whose content-encoding was undone."""
    kept = [(name, value) for name, value in headers if name.lower() != "content-encoding"]
    return tuple((name, str(length) if name.lower() == "content-length" else value) for name, value in kept)

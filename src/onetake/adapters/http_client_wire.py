"""The bytes that http.client sends, read back as a request; and the chunked coding, of either direction."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import Any

from onetake.model import Headers, Request, header

_LONGEST_LINE = 65536
_WITH_BODY = {"POST", "PUT", "PATCH"}
_ACCEPT_ENCODING = re.compile(rb"(?im)^accept-encoding:[^\r\n]*")


class Chunked:
    """Undo the chunked transfer coding while the bytes come in, as http.client does; any borders give the same body.

    Source: RFC 9112, 7.1; `HTTPResponse` for what it takes besides: any two bytes as the line end after a chunk.
    """

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._left = 0
        self._in_data = False
        self.in_trailer = self.ended = self.broken = False
        """How far it is: the last chunk has passed; the blank line after it has; or what came is not so coded."""

    @property
    def goes_on(self) -> bool:
        """Whether something came behind the end."""
        return self.ended and bool(self._bytes)

    def feed(self, data: bytes) -> bytes:
        """Return what the next bytes add to the body."""
        self._bytes += data
        body: list[bytes] = []
        while not (self.ended or self.broken) and self._step(body):
            pass
        return b"".join(body)

    def _step(self, body: list[bytes]) -> bool:
        if self._left:
            piece = bytes(self._bytes[: self._left])
            del self._bytes[: len(piece)]
            self._left -= len(piece)
            body.append(piece)
            return bool(piece)
        if self._in_data:
            if len(self._bytes) < 2:
                return False
            del self._bytes[:2]  # the line end after a chunk
            self._in_data = False
        end = self._bytes.find(b"\n")
        self.broken = (len(self._bytes) if end < 0 else end + 1) > _LONGEST_LINE
        if end < 0 or self.broken:
            return False
        line = bytes(self._bytes[:end]).strip()
        del self._bytes[: end + 1]
        if self.in_trailer:
            self.ended = not line
        else:
            self._open(line)
        return True

    def _open(self, line: bytes) -> None:
        try:
            self._left = int(line.partition(b";")[0], 16)
        except ValueError:
            self._left = -1
        if self._left < 0:
            self._left, self.broken = 0, True
            return
        self._in_data, self.in_trailer = self._left > 0, self._left == 0


class Outgoing:
    """One request on its way out, gathered from the pieces in which it is sent."""

    def __init__(self, method: str, url: str) -> None:
        self._method, self._url = method.upper(), url.partition("#")[0]
        self._pieces: list[bytes] = []
        self._head: bytes | None = None
        self._headers: Headers = ()
        self._body: list[bytes] = []
        self._size = 0
        self._chunked: Chunked | None = None

    @property
    def begun(self) -> bool:
        """Whether anything was sent."""
        return bool(self._pieces)

    @property
    def sent(self) -> int:
        """How many bytes were sent behind the head."""
        return self._size

    @property
    def whole(self) -> bool:
        """Whether all that its head announces was sent.

        Where a body may follow and its length is not announced, nothing tells before the response is fetched.
        """
        if self._head is None:
            return False
        if self._chunked is not None:
            return self._chunked.ended
        length = header(self._headers, "content-length")
        if length is None or not length.strip().isdecimal():
            return self._method not in _WITH_BODY
        return self._size >= int(length)

    def add(self, data: Any, blocksize: int) -> None:
        """Take in what was given to `send`: bytes, a file, or an iterable of bytes; before its owner can change it.

        Raises:
            TypeError: It is none of these; the words are http.client's.
        """
        for piece in _pieces(data, blocksize):
            self._pieces.append(piece)
            self._take(piece)

    def request(self) -> Request:
        """Return the request, its body without transfer coding. One that is not so coded stays as it was sent."""
        head = len(self._head) + 4 if self._head is not None else 0
        sent = b"".join(self._pieces)[head:]
        coded = self._chunked is not None and self._chunked.ended and not self._chunked.goes_on
        return Request(self._method, self._url, self._headers, b"".join(self._body) if coded else sent)

    def wire(self) -> list[bytes]:
        """Return the pieces to send: as they were given, but asking for an answer without content-encoding."""
        if self._head is None:
            return self._pieces
        head, rest = self._pieces[0][: len(self._head)], self._pieces[0][len(self._head) :]
        return [_ACCEPT_ENCODING.sub(b"Accept-Encoding: identity", head) + rest, *self._pieces[1:]]

    def _take(self, piece: bytes) -> None:
        if self._head is None:
            head, end, piece = b"".join(self._pieces).partition(b"\r\n\r\n")
            if not end:
                return
            self._head, self._headers = head, _headers(head)
            if "chunked" in (header(self._headers, "transfer-encoding") or "").lower():
                self._chunked = Chunked()
        self._size += len(piece)
        if self._chunked is not None:
            self._body.append(self._chunked.feed(piece))


def url_of(connection: Any, url: str) -> str:
    """Return the absolute URL of a request, which is sent to a proxy in that form, else by its path.

    Args:
        connection: http.client's own.
        url: What it was asked for; empty for the root.
    """
    url = str(url or "/")
    if url.lower().startswith(("http://", "https://")):
        return url
    secure = connection.default_port == 443
    host, port = connection.host or "", connection.port  # without one it is a socket that the program opened itself
    if connection._tunnel_host:
        host, port = connection._tunnel_host, connection._tunnel_port
    host = f"[{host.strip('[]')}]" if ":" in host else host
    place = host if port == connection.default_port else f"{host}:{port}"
    return f"{'https' if secure else 'http'}://{place}{url if url.startswith('/') else '/' + url}"


def _headers(head: bytes) -> Headers:
    """Return the headers of a request's head; a value that was put in several parts is folded over lines."""
    lines = head.replace(b"\r\n\t", b" ").decode("latin-1").split("\r\n")[1:]
    named = (line.partition(":") for line in lines if line)
    return tuple((name, value.strip()) for name, _, value in named)


def _pieces(data: Any, blocksize: int) -> Iterable[bytes]:
    if hasattr(data, "read"):
        return _blocks(data, blocksize)
    try:
        return [bytes(memoryview(data))]
    except TypeError:
        if not isinstance(data, Iterable):
            raise TypeError(f"data should be a bytes-like object or an iterable, got {type(data)!r}") from None
    return (bytes(memoryview(each)) for each in data)


def _blocks(file: Any, blocksize: int) -> Iterable[bytes]:
    is_text = isinstance(file, io.TextIOBase)
    while block := file.read(blocksize):
        yield block.encode("iso-8859-1") if is_text else bytes(block)

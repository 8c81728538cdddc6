"""One stored request over the wire, once, and what came: with the standard library, so that a probe needs no client."""

from __future__ import annotations

import http.client
import io
import re
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from onetake import active
from onetake.key.url import Target
from onetake.key.url import split as split_url
from onetake.loopback import is_here
from onetake.model import Cut, Headers, Request, Response, header
from onetake.provenance import version
from onetake.scrub.shapes import is_credential_header
from onetake.streams import Ending, Watch

CLIENT = "onetake probe"
"""What the provenance of an answer says that asked for it."""

_OF_THE_WIRE = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "user-agent"})
"""Headers that are made here."""
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A header's name: nothing that another server may take for a border. Source: RFC 9110, section 5.6.2 (token)."""
_TARGET = re.compile(r"[^:/?#]+://[^/?#]*([^#]*)(?:#.*)?", re.DOTALL)
_PORTS = {"http": 80, "https": 443}
_CHUNK = 1 << 16
_MOST_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answered:
    """What came for a request, whatever its status.

    Args:
        response: It; not cut where the connection said that this was all, whatever is missing in it.
        latency_ms: From sending to the last byte.
        first_byte_ms: From sending to the first byte of the body; None where that is empty.
    """

    response: Response
    latency_ms: int
    first_byte_ms: int | None = None


class NoAnswerError(OSError):
    """Nothing came, or not all of it; `args[0]` says why, in one line that may quote the other side."""


def send(request: Request, credential: Headers, timeout: float) -> Answered:
    """Send a request once, no session seeing it. Follows no redirect: the credential would go along.

    Args:
        request: As it is stored. Headers of the wire are made anew, and what carries a credential is left out.
        credential: Headers that are added; they go to the origin of the request's URL and nowhere else.
        timeout: Seconds that it may take, from connecting to the last byte.

    Raises:
        NoAnswerError: Nothing came whole: the address does not answer, the time is up, the connection broke.
    """
    target, started = split_url(request.url), time.monotonic()
    try:
        with active.inside(), closing(_connection(target, timeout)) as connection:
            connection.response_class = partial(_Response, deadline=started + timeout)  # type: ignore[assignment]
            _put(connection, request, target, credential)
            came = connection.getresponse()
            watch = Watch(request, came.status, tuple(came.getheaders()))
            size, first = 0, None
            while chunk := came.read1(_CHUNK):
                first = first or time.monotonic()
                size += len(chunk)
                if size > _MOST_BYTES:
                    raise NoAnswerError(f"a body of more than {_MOST_BYTES >> 20} MiB")
                watch.feed(chunk)
            _check_length(came, size)
    except NoAnswerError:
        raise
    except TimeoutError:
        raise NoAnswerError(f"no whole answer within {timeout:g} s") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NoAnswerError(f"{type(error).__name__}: {error}") from error
    ended = time.monotonic()
    response = watch.finish(Ending.END)
    if came.chunked or header(tuple(came.getheaders()), "content-length"):
        response = replace(response, cut=Cut.NO)
    first_byte_ms = None if first is None else round((first - started) * 1000)
    return Answered(response, round((ended - started) * 1000), first_byte_ms)


def _connection(target: Target, timeout: float) -> http.client.HTTPConnection:
    """Make a connection to an origin, through the proxy of the environment where that is not this machine."""
    host, port = target.host.strip("[]"), int(target.port or _PORTS[target.scheme])
    if target.scheme == "http":  # only this machine is asked so, and nothing stands between
        return http.client.HTTPConnection(host, port, timeout=timeout)
    context = ssl.create_default_context()
    way = None if is_here(host) or proxy_bypass(host) else _proxy(target.scheme)
    if way is None:
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
    connection = http.client.HTTPSConnection(way.hostname or "", way.port or 80, timeout=timeout, context=context)
    connection.set_tunnel(host, port, _proxy_headers(way.username, way.password))
    return connection


def _proxy(scheme: str) -> SplitResult | None:
    """Return the proxy that the environment names for a scheme, None where it names none.

    Raises:
        NoAnswerError: It is no address of one, or is spoken to otherwise than by plain http. It is not quoted: it may
            hold a password.
    """
    named = getproxies()
    said = named.get(scheme) or named.get("all") or ""
    variable = f"{scheme.upper()}_PROXY" if named.get(scheme) else "ALL_PROXY"
    if not said:
        return None
    try:
        way = urlsplit(said if "://" in said else f"http://{said}")
        is_right = way.scheme == "http" and bool(way.hostname) and way.port != 0 and way.path in ("", "/")
    except ValueError:  # of its port
        is_right = False
    if not is_right:
        raise NoAnswerError(f"{variable} names no proxy that is spoken to by plain http, as http://host:port")
    return way


def _proxy_headers(user: str | None, password: str | None) -> dict[str, str]:
    if user is None:
        return {}
    from base64 import b64encode

    word = b64encode(f"{unquote(user)}:{unquote(password or '')}".encode()).decode()
    return {"Proxy-Authorization": f"Basic {word}"}


def _put(connection: http.client.HTTPConnection, request: Request, target: Target, credential: Headers) -> None:
    """Write a request out: its own headers in their order, the body's bytes as they are."""
    found = _TARGET.fullmatch(request.url)
    path = found[1] if found else target.path
    connection.putrequest(request.method, path if path.startswith("/") else f"/{path}", skip_accept_encoding=True)
    for name, value in request.headers:
        if not HEADER_NAME.fullmatch(name):
            raise ValueError("the name of a header is none")
        if name.lower() not in _OF_THE_WIRE and not is_credential_header(name):
            connection.putheader(name, value)
    connection.putheader("user-agent", f"onetake/{version()}")
    connection.putheader("accept-encoding", "identity")
    connection.putheader("content-length", str(len(request.body)))
    for name, value in credential:
        connection.putheader(name, value)
    connection.endheaders(request.body)


class _Response(http.client.HTTPResponse):
    """A response that is read no longer than until a deadline: its head, the sizes of its chunks and all between."""

    def __init__(self, sock: socket.socket, *given: Any, deadline: float, **more: Any) -> None:
        super().__init__(sock, *given, **more)
        self.fp.close()
        self.fp = io.BufferedReader(_Timed(sock, deadline))


class _Timed(io.RawIOBase):
    """What comes in at a socket until a deadline, whatever trickles in."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline
        self._raw = sock.makefile("rb", buffering=0)  # it keeps the socket open until the response is closed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _check_length(came: http.client.HTTPResponse, size: int) -> None:
    declared = header(tuple(came.getheaders()), "content-length") or ""
    bodyless = came.status in (204, 304)
    if not came.chunked and not bodyless and declared.isdecimal() and size < int(declared):
        raise NoAnswerError(f"the connection broke after {size} of {declared} bytes")


Sends = Callable[[Request, Headers, float], Answered]
"""Sends a request once, as `send` does."""

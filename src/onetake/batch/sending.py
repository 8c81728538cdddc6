"""One request over the wire: what came, or in which of many ways nothing did."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Protocol
from urllib.parse import urlsplit

from onetake.batch.job import Ask
from onetake.batch.retrying import Fault, Kind
from onetake.batch.sendable import UnsendableError, check_address, has_proxy, raw
from onetake.errors import UsageError
from onetake.loopback import is_here
from onetake.model import Cut, Headers, Request, Response
from onetake.printable import one_line
from onetake.provenance import version
from onetake.scrub.shapes import is_credential_header
from onetake.streams import Ending, Watch

_MODULES = ("httpx", "httpx2")
_LATE_S, _GRACE_S, _LAST_S = 1.0, 10.0, 0.25
_MOST_BYTES = 256 * 1024 * 1024
_REMEMBERED = 64
NOT_SENT = ("connection", "address", "header")
"""The labels of faults before any byte of the request had left."""
_CONNECTION, _ADDRESS, _HEADER = NOT_SENT


class Sends(Protocol):
    """Whatever gets an answer to a request."""

    client: str
    """The client and its version, for the provenance."""

    async def send(self, request: Request) -> Response | Fault:
        """Send a request once; a response may have any status, and may be cut."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Sender:
    """Sends the requests of a job with httpx or httpx2, whichever is installed.

    Never follows a redirect: the credential would go along. A machine's own addresses are asked without its proxy.

    Args:
        ask: What the job asks: where, and by which variable's credential.
        timeout: Seconds that an attempt may take, from connecting to the last byte.
        environ: Where the credential is.

    Raises:
        UsageError: Neither client is installed, the variable holds no credential, or the client does not take the
            address, the proxy or the certificates that it is told.
    """

    def __init__(self, ask: Ask, *, timeout: float, environ: Mapping[str, str]) -> None:
        self._httpx = _module()
        self.client = f"{self._httpx.__name__} {getattr(self._httpx, '__version__', '')}".strip()
        self._under = ask.base_url + "/"
        self._credential = credential(ask, environ)
        self._timeout = timeout
        self._trust_env = not is_here(urlsplit(ask.base_url).hostname or "")
        self._verify = _certificates(self._httpx, trust_env=self._trust_env)
        self._has_proxy = self._trust_env and has_proxy(self._httpx, self._verify)
        if ask.base_url:  # of a function's requests each has its own
            check_address(self._httpx, ask.base_url)
        # The same for nearly every call, and dear to make.
        self._url, self._headers = lru_cache(_REMEMBERED)(self._httpx.URL), lru_cache(_REMEMBERED)(self._all_headers)
        # A connection of its own for each call in flight: in a pool that many share, each call looks at all of them.
        self._open: list[Any] = []
        self._idle: list[Callable[[Any], Awaitable[Any]]] = []

    async def send(self, request: Request) -> Response | Fault:
        """Send a request once.

        Args:
            request: Without any credential; it gets the job's if it goes to the job's `base_url`.

        Returns:
            The response, of any status; a fault where none came whole. What comes after the time limit is dropped with
            its connection.
        """
        try:
            async with asyncio.timeout(None) as scope:
                limit = _TimeLimit(scope, self._timeout)
                way = self._idle.pop() if self._idle else self._way()
                try:
                    return await self._exchange(way, request)
                finally:
                    self._idle.append(way)
                    limit.end()
        except TimeoutError:
            return Fault(Kind.AGAIN, "timeout", f"no whole answer within {self._timeout:g} s")

    async def close(self) -> None:
        """Close the connections."""
        for one in self._open:
            await one.aclose()

    def _way(self) -> Callable[[Any], Awaitable[Any]]:
        """Make another way to send a request, which keeps its one connection open."""
        limits = self._httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30)
        options = {"verify": self._verify, "trust_env": self._trust_env, "limits": limits}
        if self._has_proxy:  # a client knows which hosts a proxy is for
            client = self._httpx.AsyncClient(follow_redirects=False, timeout=None, **options)
            self._open.append(client)
            return partial(client.send, stream=True)
        # What a client does besides, for cookies, redirects and logins, takes as long as a tenth of a stored call.
        transport = self._httpx.AsyncHTTPTransport(**options)
        self._open.append(transport)
        return transport.handle_async_request  # type: ignore[no-any-return]

    def _all_headers(self, own: Headers) -> Any:
        """Return the headers of a request, those that go with every one included; raises `UnsendableError`."""
        found = self._httpx.Headers(
            {"user-agent": f"onetake/{version()}", "accept": "*/*", "accept-encoding": "gzip, deflate"}
        )
        found.update(self._httpx.Headers(raw(own)))
        return found

    async def _exchange(self, way: Callable[[Any], Awaitable[Any]], request: Request) -> Response | Fault:
        watch, status = None, 0
        try:
            response = await way(self._made(request))
            try:
                status = response.status_code
                watch = Watch(request, status, _headers(response))
                size = 0
                async for chunk in response.stream:  # as it lies on the wire
                    watch.feed(chunk)
                    size += len(chunk)
                    if size > _MOST_BYTES:
                        return Fault(Kind.AGAIN, "too large", f"a body of more than {_MOST_BYTES >> 20} MiB")
            finally:
                await response.stream.aclose()
        except (self._httpx.TransportError, OSError) as error:
            if watch is None or 200 <= status < 300:
                return self._unanswered(error, request)
            return watch.finish(Ending.FAILED)  # its status tells enough
        except Exception as error:
            if watch is not None:
                raise
            return self._unanswered(error, request)
        return watch.finish(Ending.END)

    def _made(self, request: Request) -> Any:
        credential = self._credential if request.url.startswith(self._under) else ()
        url, headers = self._url(request.url), self._headers((*request.headers, *credential))
        return self._httpx.Request(request.method, url, headers=headers, content=request.body)

    def _unanswered(self, error: Exception, request: Request) -> Fault:
        """Say what an error means that came in the place of an answer."""
        httpx = self._httpx
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        said = self._said(error, request)
        match error:
            case UnsendableError():
                return Fault(Kind.UNSENDABLE, _HEADER, said)
            case httpx.ConnectError() | httpx.ConnectTimeout() | httpx.ProxyError():
                return Fault(Kind.AGAIN, _CONNECTION, said)
            case httpx.UnsupportedProtocol() | httpx.InvalidURL() | httpx.LocalProtocolError():
                return Fault(Kind.ACCESS, _ADDRESS, said)
            case httpx.TransportError() | OSError():
                return Fault(Kind.AGAIN, "cut", said)
            case ValueError() | OverflowError():  # of a host or a port that is none, from below the client
                return Fault(Kind.ACCESS, _ADDRESS, said)
        return Fault(Kind.ACCESS, "client", said)

    def _said(self, error: Exception, request: Request) -> str:
        said = str(error) or type(error).__name__
        for name, value in (*self._credential, *request.headers):
            if is_credential_header(name) and (words := value.split()):
                said = said.replace(words[-1], "…")  # without `Bearer` before it
        return one_line(said, 300)


def credential(ask: Ask, environ: Mapping[str, str]) -> Headers:
    """Return the header that carries a job's credential; none where the job names no variable.

    Raises:
        UsageError: The variable is not set, empty, or cannot be sent in a header.
    """
    if not ask.api_key_env:
        return ()
    key = environ.get(ask.api_key_env, "").strip()
    if not key:
        raise UsageError(f"{ask.api_key_env} is not set: ask.api_key_env says that the credential is there")
    if not re.fullmatch("[!-~]+", key):
        raise UsageError(f"{ask.api_key_env} holds what cannot be a credential: a space, or a sign that is not ASCII")
    return (("x-api-key", key),) if ask.api == "anthropic" else (("authorization", f"Bearer {key}"),)


def is_cut(response: Response) -> bool:
    """Tell whether a response broke off on its way."""
    return response.cut is not Cut.NO


class _TimeLimit:
    """A time limit that does not strike at once when a process that was stopped goes on.

    All its timers are overdue then, and answers may lie in its sockets, paid for and unread.

    Args:
        scope: What it ends.
        seconds: After how long.
    """

    def __init__(self, scope: asyncio.Timeout, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._scope = scope
        self._grace = min(seconds, _GRACE_S)
        self._is_last = False
        self._arm(seconds)

    def end(self) -> None:
        """Let it strike no more."""
        self._timer.cancel()

    def _arm(self, seconds: float) -> None:
        self._due = self._loop.time() + seconds
        self._timer = self._loop.call_at(self._due, self._strike)

    def _strike(self) -> None:
        now = self._loop.time()
        if now - self._due > _LATE_S:
            self._arm(self._grace)
        elif self._is_last:
            self._scope.reschedule(now)
        else:  # it may have been stopped until just now: what is here already is read first
            self._is_last = True
            self._arm(min(self._grace, _LAST_S))


def _module() -> ModuleType:
    for name in _MODULES:
        if find_spec(name):
            return import_module(name)
    raise UsageError("a batch asks with httpx, which is not installed: pip install 'onetake[httpx]'")


def _certificates(httpx: ModuleType, *, trust_env: bool) -> Any:
    try:
        return httpx.create_ssl_context(trust_env=trust_env)
    except OSError as error:  # what is wrong with a file of certificates is one, too
        why = error.strerror or type(error).__name__
        raise UsageError(f"SSL_CERT_FILE or SSL_CERT_DIR names no certificates that can be read: {why}") from None


def _headers(response: Any) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw)

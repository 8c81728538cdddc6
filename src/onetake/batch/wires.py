"""The clients by which a batch sends: what came of each is told in the same few words."""

from __future__ import annotations

import io
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies

from onetake.errors import UsageError
from onetake.loopback import is_here
from onetake.model import Headers, Request

NOT_SENT = ("connection", "address")
"""The labels of faults before any byte of the request had left."""
CONNECTION, ADDRESS = NOT_SENT
CUT = "cut"

_HTTPX = ("httpx", "httpx2")
_REMEMBERED = 64
_LONGEST_HEADER = 1 << 16
_LARGE = 1 << 20
"""Bytes from which on aiohttp wants a body as a file, and warns of another."""


class Answer(NamedTuple):
    """A response whose body is still to be read.

    Args:
        status: 100 to 599.
        headers: As they came.
        chunks: The body as it lies on the wire, after transfer decoding.
        close: Ends the reading, wherever it is.
    """

    status: int
    headers: Headers
    chunks: AsyncIterator[bytes]
    close: Callable[[], Awaitable[None]]


class Wire(Protocol):
    """An HTTP client.

    It follows no redirect, keeps no cookie, sends no credential of its own, and sends a request once.
    """

    client: str
    """Its name and version, for the provenance."""
    errors: tuple[Any, ...]
    """The types of what it raises where no whole response comes."""

    async def ask(self, request: Request, headers: Headers) -> Answer:
        """Send a request, with these headers in the place of its own."""
        ...

    def label(self, error: Exception) -> str:
        """Name one of `errors`: `CONNECTION`, `ADDRESS` or `CUT`."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


def wire_to(base_url: str) -> Wire:
    """Return the client for what lies under an address: aiohttp where it is installed, else httpx or httpx2.

    With aiohttp a call takes a third of the time. A machine's own addresses are asked without its proxy, and others
    with httpx where one is named: it knows which hosts that is for.

    Raises:
        UsageError: None is installed.
    """
    trusts = not is_here(urlsplit(base_url).hostname or "")
    is_proxied = trusts and bool(getproxies())
    if find_spec("aiohttp") and not is_proxied:
        return _Aiohttp(import_module("aiohttp"))
    for name in _HTTPX:
        if find_spec(name):
            return _Httpx(import_module(name), trust_env=trusts, is_proxied=is_proxied)
    if is_proxied:
        raise UsageError(
            "a proxy is named in the environment; a batch needs httpx for it: pip install 'onetake[httpx]'"
        )
    raise UsageError("a batch asks with aiohttp or httpx, of which none is installed: pip install 'onetake[aiohttp]'")


class _Aiohttp:
    """One session of aiohttp, made in the loop that first asks."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self.client = f"aiohttp {module.__version__}"
        self.errors: tuple[Any, ...] = (module.ClientError, OSError, ValueError)
        self._url = lru_cache(_REMEMBERED)(lambda url: import_module("yarl").URL(url, encoded=True))
        self._session: Any = None

    async def ask(self, request: Request, headers: Headers) -> Answer:
        if self._session is None:
            self._session = self._opened()
        body = request.body if len(request.body) < _LARGE else io.BytesIO(request.body)
        came = await self._session.request(
            request.method, self._url(request.url), data=body, headers=headers, allow_redirects=False
        )

        async def close() -> None:
            came.release()  # a connection whose response is not read to its end goes with it

        return Answer(came.status, _texts(came.raw_headers), came.content.iter_any(), close)

    def label(self, error: Exception) -> str:
        if isinstance(error, self._module.ClientConnectorError):
            return CONNECTION
        return ADDRESS if isinstance(error, ValueError | self._module.NonHttpUrlClientError) else CUT

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> Any:
        aiohttp = self._module
        # `trust_env` stays off: with it a login of the user's .netrc would go along.
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=_trusted(), keepalive_timeout=30),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            auto_decompress=False,
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
        )


class _Httpx:
    """A connection of httpx for each call in flight: in a pool that many share, each call looks at all of them."""

    def __init__(self, module: ModuleType, *, trust_env: bool, is_proxied: bool) -> None:
        self._module = module
        self._is_proxied = is_proxied
        self.client = f"{module.__name__} {getattr(module, '__version__', '')}".strip()
        self.errors: tuple[Any, ...] = (module.TransportError, module.InvalidURL, OSError)
        limits = module.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30)
        verify = module.create_ssl_context(trust_env=trust_env)
        self._options = {"verify": verify, "trust_env": trust_env, "limits": limits}
        # The same for nearly every call, and dear to make.
        self._url, self._headers = lru_cache(_REMEMBERED)(module.URL), lru_cache(_REMEMBERED)(module.Headers)
        self._open: list[Any] = []
        self._idle: list[Any] = []

    async def ask(self, request: Request, headers: Headers) -> Answer:
        url, headers = self._url(request.url), self._headers(headers)
        asked = self._module.Request(request.method, url, headers=headers, content=request.body)
        way = self._idle.pop() if self._idle else self._way()
        try:
            if self._is_proxied:
                came = await way.send(asked, stream=True)
            else:
                came = await way.handle_async_request(asked)
        except BaseException:
            self._idle.append(way)
            raise

        async def close() -> None:
            try:
                await came.stream.aclose()
            finally:
                self._idle.append(way)

        return Answer(came.status_code, _texts(came.headers.raw), aiter(came.stream), close)

    def label(self, error: Exception) -> str:
        httpx = self._module
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
            return CONNECTION
        wrong = isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL | httpx.LocalProtocolError)
        return ADDRESS if wrong else CUT

    async def close(self) -> None:
        for one in self._open:
            await one.aclose()

    def _way(self) -> Any:
        """Make another way to send a request, which keeps its one connection open."""
        if self._is_proxied:  # a client knows which hosts a proxy is for
            made = self._module.AsyncClient(follow_redirects=False, timeout=None, **self._options)
        else:
            made = self._module.AsyncHTTPTransport(**self._options)
        self._open.append(made)
        return made


def _trusted() -> ssl.SSLContext:
    """Return whom to trust: what the machine or the environment says, and certifi's list, as machines may have none."""
    context = ssl.create_default_context()
    with suppress(ImportError):
        context.load_verify_locations(import_module("certifi").where())
    return context


def _texts(headers: Any) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)

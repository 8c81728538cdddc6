"""One adapter, two modules, four colours: httpx and httpx2, blocking and awaited, under asyncio and trio."""

from __future__ import annotations

import ssl
from contextlib import asynccontextmanager, contextmanager

import httpx
import httpx2

from onetake.testing import AdapterConformance, Answer

_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # made once: loading the roots takes longer than most tests


class _OfItsShape(AdapterConformance):
    colours = ("sync", "asyncio", "trio")

    def send(self, method, url, *, headers, body):
        with self.module.Client(verify=_TLS, follow_redirects=True) as client:
            return _answer(client.request(method, url, headers=headers, content=body))

    @contextmanager
    def stream(self, method, url, *, headers, body):
        with (
            self.module.Client(verify=_TLS) as client,
            client.stream(method, url, headers=headers, content=body) as response,
        ):
            yield response.iter_bytes()

    async def asend(self, method, url, *, headers, body):
        async with self.module.AsyncClient(verify=_TLS, follow_redirects=True) as client:
            return _answer(await client.request(method, url, headers=headers, content=body))

    @asynccontextmanager
    async def astream(self, method, url, *, headers, body):
        async with (
            self.module.AsyncClient(verify=_TLS) as client,
            client.stream(method, url, headers=headers, content=body) as response,
        ):
            yield response.aiter_bytes()


class TestHttpx(_OfItsShape):
    module = httpx
    read_error = httpx.TransportError


class TestHttpx2(_OfItsShape):
    module = httpx2
    read_error = httpx2.TransportError
    encodings = ("gzip", "deflate", "br")  # zstd from Python 3.14 on


def _answer(response):
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw)
    return Answer(response.status_code, headers, response.content)

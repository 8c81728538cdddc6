"""niquests, for threads and for tasks: the conformance suite."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager, contextmanager

import pytest

from onetake.testing import AdapterConformance, Answer

niquests = pytest.importorskip("niquests", reason="niquests is not installed here; it has an environment of its own")
urllib3_future = sys.modules[niquests.adapters.HTTPConnectionPool.__module__.partition(".")[0]]


class TestNiquests(AdapterConformance):
    colours = ("sync", "asyncio")
    read_error = niquests.exceptions.ChunkedEncodingError
    encodings = tuple(urllib3_future.HTTPResponse.CONTENT_DECODERS)

    def send(self, method, url, *, headers, body):
        with niquests.Session() as session:
            response = session.request(method, url, headers=dict(headers), data=body)
            return _answer(response, response.content)

    @contextmanager
    def stream(self, method, url, *, headers, body):
        with (
            niquests.Session() as session,
            session.request(method, url, headers=dict(headers), data=body, stream=True) as response,
        ):
            yield response.iter_content()

    async def asend(self, method, url, *, headers, body):
        async with niquests.AsyncSession() as session:
            response = await session.request(method, url, headers=dict(headers), data=body)
            return _answer(response, response.content)

    @asynccontextmanager
    async def astream(self, method, url, *, headers, body):
        async with niquests.AsyncSession() as session:
            response = await session.request(method, url, headers=dict(headers), data=body, stream=True)
            try:
                yield await response.iter_content()
            finally:
                await response.close()


def _answer(response, body):
    return Answer(response.status_code, tuple(response.raw.headers.items()), body or b"")

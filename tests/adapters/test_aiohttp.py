"""aiohttp in its one colour: the conformance suite."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
import pytest

from onetake.testing import AdapterConformance, Answer
from onetake.testing.provider import openai_stream

_HAS_BROTLI = aiohttp.compression_utils.HAS_BROTLI
_HAS_ZSTD = getattr(aiohttp.compression_utils, "HAS_ZSTD", False)
_KNOWS_ZSTD = hasattr(aiohttp.compression_utils, "HAS_ZSTD")


# A coding that aiohttp knows and has no decoder for is an error of its own, before there is a response.
_ANSWERED = ["gzip", "deflate"] + ["br"] * _HAS_BROTLI + ["zstd"] * (_HAS_ZSTD or not _KNOWS_ZSTD)


class TestAiohttp(AdapterConformance):
    colours = ("asyncio",)
    read_error = aiohttp.ClientPayloadError
    encodings = ("gzip", "deflate") + ("br",) * _HAS_BROTLI + ("zstd",) * _HAS_ZSTD

    @pytest.mark.parametrize("coding", _ANSWERED)
    def test_br_070_what_the_client_does_not_undo_comes_encoded_again(self, colour, provider, coding):
        super().test_br_070_what_the_client_does_not_undo_comes_encoded_again(colour, provider, coding)

    async def asend(self, method, url, *, headers, body):
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, url, headers=headers, data=body or None) as response,
        ):
            return _answer(response, await response.read())

    @asynccontextmanager
    async def astream(self, method, url, *, headers, body):
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, url, headers=headers, data=body or None) as response,
        ):
            yield response.content.iter_any()


def _answer(response, body):
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in response.raw_headers)
    return Answer(response.status, headers, body)


def test_a_stream_dropped_unread_frees_those_who_wait(url, provider, session, body, ask_stream):
    """As soon as its connection is gone: until then aiohttp itself holds on to the response."""
    provider.script([replace(openai_stream("never read"), hold=threading.Event(), hold_before=1)])
    asked = body("drop me", stream=True)

    async def main():
        client = aiohttp.ClientSession()
        response = await client.post(url, json=asked)
        waiting = asyncio.create_task(ask_stream(url, asked))
        await asyncio.wait([waiting], timeout=0)
        await client.close()
        del response
        await asyncio.sleep(0)
        gc.collect()
        return await waiting

    with session("new_episodes", repeats="same") as opened:
        assert asyncio.run(asyncio.wait_for(main(), 20)).endswith(b"data: [DONE]\n\n")
    assert [entry.verdict for entry in opened.recorded] == ["good"]

"""aiohttp's bodies: every way to read one, to leave it, and to be torn out of it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import aiohttp
import pydantic
import pytest

from onetake.errors import ContractError
from onetake.testing.provider import openai_chat, openai_stream, stream_reply

pytestmark = [pytest.mark.filterwarnings("error::ResourceWarning"), pytest.mark.usefixtures("nothing_unclosed")]


async def _read(response):
    return [await response.read()]


async def _text_of(response):
    return [(await response.text()).encode()]


async def _until_empty(read):
    found = []
    while piece := await read():
        found.append(piece)
    return found


async def _exactly(response):
    found = []
    while True:
        try:
            found.append(await response.content.readexactly(7))
        except asyncio.IncompleteReadError as end:
            return [*found, end.partial]


async def _chunk_by_chunk(response):
    found = []
    while (pair := await response.content.readchunk()) != (b"", False):
        found.append(pair[0])
    return found


async def _nowait(response):
    found = [await response.content.readany()]
    while not response.content.at_eof():
        found.append(response.content.read_nowait() or await response.content.readany())
    return found


async def _unread(response):
    with pytest.warns(DeprecationWarning, match="unread_data"):
        response.content.unread_data(await response.content.readany())
    return await _read(response)


_WAYS = {
    "read": _read,
    "text": _text_of,
    "content.read": lambda response: _until_empty(response.content.read),
    "content.read-n": lambda response: _until_empty(lambda: response.content.read(10)),
    "readany": lambda response: _until_empty(response.content.readany),
    "readline": lambda response: _until_empty(response.content.readline),
    "readuntil": lambda response: _until_empty(lambda: response.content.readuntil(b"\n\n")),
    "readexactly": _exactly,
    "readchunk": _chunk_by_chunk,
    "read_nowait": _nowait,
    "unread_data": _unread,
    "iter_chunked": lambda response: _gathered(response.content.iter_chunked(11)),
    "iter_any": lambda response: _gathered(response.content.iter_any()),
    "iter_chunks": lambda response: _gathered(response.content.iter_chunks(), first=True),
    "lines": lambda response: _gathered(response.content),
}


async def _gathered(pieces, *, first=False):
    return [piece[0] if first else piece async for piece in pieces]


@pytest.mark.parametrize("way", _WAYS.values(), ids=_WAYS.keys())
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_br_052_br_053_br_054_every_way_to_read(url, provider, session, body, way, stream, run):
    """One reader with one cursor, the same bytes, and an end: live without us, recording, replaying."""

    async def call():
        async with aiohttp.ClientSession() as client, client.post(url, json=body("tell", stream=stream)) as response:
            found = await way(response)
            assert response.content is response.content
            assert response.content.at_eof()
            assert await response.content.read() == b""
            return found

    reply = openai_stream("a b c é") if stream else openai_chat("a b c é")
    provider.script([reply, reply])
    bare = run(call())
    with session("once") as opened:
        first = run(call())
    assert b"".join(first) == b"".join(bare) == opened.recorded[0].response.body
    assert [entry.verdict for entry in opened.recorded] == ["good"]
    provider.close()
    with session("none"):
        again = run(call())
    assert b"".join(again) == b"".join(first)
    if way in (_WAYS["readline"], _WAYS["readuntil"], _WAYS["lines"]):
        assert again == first == bare


def test_br_074_chunks_end_where_they_ended(url, provider, session, body, run):
    async def call():
        async with aiohttp.ClientSession() as client, client.post(url, json=body("x", stream=True)) as response:
            # The last chunk of the wire, which is empty, shows only where it comes by itself.
            return [pair async for pair in response.content.iter_chunks() if pair != (b"", True)]

    provider.script([openai_stream("a b c")])
    with session("once"):
        first = run(call())
    provider.close()
    with session("none"):
        assert run(call()) == first
    assert len([ends for _, ends in first if ends]) == len(first)


def test_a_slow_reader_holds_the_server_back(provider, host, session, run):
    """The body is not gathered in memory: what the caller has not read stays in the socket."""
    pieces = (b"x" * 65536,) * 100
    provider.script([stream_reply(pieces)])

    async def call():
        async with aiohttp.ClientSession() as client, client.post(provider.url + "/big", data=b"go") as response:
            first = await response.content.readany()
            while response.connection.transport.is_reading():
                await asyncio.sleep(0)
            return len(first), response.content.total_bytes, len(await response.read())

    with session("once", hosts=[host]):
        first, taken, rest = run(call())
    assert first == taken
    assert first + rest == len(b"".join(pieces))


@pytest.mark.parametrize("how", ["close", "release", "context"])
def test_br_065_left_without_waiting(url, provider, session, body, how, run):
    never = threading.Event()
    provider.script([replace(openai_stream("one two"), hold=never, hold_before=2)])

    async def call():
        async with aiohttp.ClientSession() as client:
            response = await client.post(url, json=body("leave", stream=True))
            found = await response.content.readuntil(b"\n\n")
            if how == "context":
                await response.__aexit__(None, None, None)
            else:
                getattr(response, how)()
            return found

    with session("once") as opened:
        first = run(call())
        assert len(opened.recorded) == 1
    assert opened.recorded[0].verdict.startswith("left:")
    provider.close()
    with session("none"):
        assert run(call()) == first


@pytest.mark.parametrize("how", ["close", "context"])
def test_a_reject_is_raised_where_its_stream_is_left(url, provider, session, body, how, run):
    class Number(pydantic.BaseModel):
        n: int

    reply = openai_stream('{"n": "none"}')
    provider.script([replace(reply, pieces=(*reply.pieces, b": bye\n\n"), hold=threading.Event(), hold_before=5)])

    async def call():
        async with aiohttp.ClientSession() as client:
            response = await client.post(url, json=body("number", stream=True))
            while b"[DONE]" not in await response.content.readline():
                pass
            if how == "close":
                response.close()
            else:
                await response.__aexit__(None, None, None)

    with session("once", contract=Number) as opened, opened.expect_refusal():
        run(call())
    assert isinstance(opened.refusals[0], ContractError)
    assert [entry.verdict for entry in opened.rejects] == ["reject:violation"]


def test_a_read_that_times_out_may_be_tried_again(url, provider, session, body, run):
    """A program that polls with a limit of its own loses nothing, and is not taken for one that left."""
    go = threading.Event()
    provider.script([replace(openai_stream("one two"), hold=go, hold_before=1)])

    async def call():
        found = []
        async with aiohttp.ClientSession() as client, client.post(url, json=body("poll", stream=True)) as response:
            while not response.content.at_eof():
                try:
                    found.append(await asyncio.wait_for(response.content.readany(), 0.05))
                except TimeoutError:
                    go.set()
        return b"".join(found)

    with session("once") as opened:
        first = run(call())
    assert [entry.response.body for entry in opened.recorded] == [first]
    assert opened.recorded[0].verdict == "good"


@pytest.mark.parametrize("limit", ["sock_read", "total", "wait_for", "timeout"])
def test_a_time_limit_in_the_middle_keeps_nothing(url, provider, session, body, limit, run, ask_stream):
    never = threading.Event()
    provider.script([replace(openai_stream("one two"), hold=never, hold_before=1)])
    options = {"timeout": aiohttp.ClientTimeout(**{limit: 0.1})} if limit in ("sock_read", "total") else {}

    async def call():
        async with (
            aiohttp.ClientSession(**options) as client,
            client.post(url, json=body("slow", stream=True)) as response,
        ):
            if limit == "wait_for":
                await asyncio.wait_for(response.read(), 0.1)
            elif limit == "timeout":
                async with asyncio.timeout(0.1):
                    await response.read()
            else:
                await response.read()

    with session("once") as opened:
        with pytest.raises(TimeoutError):
            run(call())
        never.set()
        run(ask_stream(url, body("slow", stream=True)))
    assert [(entry.verdict, entry.ordinal) for entry in opened.recorded] == [("good", 0)]


def test_a_cancelled_keep_is_finished_all_the_same(url, provider, session, body, run, ask_stream):
    begun, go = threading.Event(), threading.Event()

    class Slow(pydantic.BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def checked(cls, value):
            begun.set()
            assert go.wait(20)
            return value

    async def main():
        task = asyncio.create_task(ask_stream(url, body("x", stream=True)))
        assert await asyncio.to_thread(begun.wait, 20)
        task.cancel()
        go.set()
        await asyncio.wait([task])
        assert task.cancelled()

    provider.script([openai_stream('{"n": 1}')])
    with session("once", contract=Slow) as opened:
        run(main())
    assert [(entry.verdict, entry.ordinal) for entry in opened.recorded] == [("good", 0)]


def test_br_060_a_kept_cut_raises_at_every_way_to_read(url, provider, session, body, run, ask_stream):
    reply = openai_stream("one two three")
    provider.script([replace(reply, cut_after=len(b"".join(reply.pieces[:2])) + 5)])
    for mode in ("once", "none"):
        with session(mode, keep=["cut"]), pytest.raises(aiohttp.ClientPayloadError):
            run(ask_stream(url, body("cut", stream=True)))
        provider.close()

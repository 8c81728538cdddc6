"""The bodies of httpx and httpx2: every way to read one, to leave it, and to drop it."""

from __future__ import annotations

import asyncio
import gc
import threading
from dataclasses import replace

import pydantic
import pytest

from onetake.errors import ContractError
from onetake.testing.provider import bytes_reply, openai_chat, openai_stream


@pytest.mark.parametrize("how", ["iter_bytes", "iter_raw", "iter_lines", "iter_text"])
def test_br_052_br_066_every_way_to_read_a_stream(url, provider, session, how, body, sync_client, async_client):
    def read():
        with sync_client() as client, client.stream("POST", url, json=body("tell", stream=True)) as response:
            return list(getattr(response, how)())

    async def aread():
        async with (
            async_client() as client,
            client.stream("POST", url, json=body("tell", stream=True)) as response,
        ):
            return [part async for part in getattr(response, "a" + how)()]

    with session("once"):
        first, awaited = read(), asyncio.run(aread())
    assert first
    provider.close()
    empty = type(first[0])()
    with session("none"):
        assert empty.join(read()) == empty.join(first)
        assert empty.join(asyncio.run(aread())) == empty.join(awaited)


def test_a_stream_dropped_unread_frees_those_who_wait(url, provider, session, body, sync_client):
    never = threading.Event()
    provider.script([replace(openai_stream("never read"), hold=never, hold_before=1)])
    asked = body("drop me", stream=True)
    found = []

    def wait():
        with sync_client() as other:
            found.append(other.post(url, json=asked).content)

    with session("new_episodes", repeats="same") as opened:
        client = sync_client()
        response = client.send(client.build_request("POST", url, json=asked), stream=True)
        waiting = threading.Thread(target=wait)
        waiting.start()
        del response
        gc.collect()
        waiting.join()
        client.close()
    assert found[0].endswith(b"data: [DONE]\n\n")
    assert [entry.verdict for entry in opened.recorded] == ["good"]
    assert provider.count == 2


def test_a_stream_dropped_unread_frees_its_ordinal(url, provider, session, body, sync_client):
    asked = body("drop me", stream=True)
    with session("once") as opened, sync_client() as client:
        response = client.send(client.build_request("POST", url, json=asked), stream=True)
        del response
        gc.collect()
        client.post(url, json=asked)
    assert [entry.ordinal for entry in opened.recorded] == [0]


async def _drain(response):
    async for _ in response.aiter_bytes():
        pass


def test_a_cancelled_keep_is_finished_all_the_same(url, provider, session, body, async_client):
    """Cancelled while its answer is being judged: it is kept, once, although the client then closes the body."""
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
        async with async_client() as client, client.stream("POST", url, json=body("x", stream=True)) as response:
            task = asyncio.create_task(_drain(response))
            assert await asyncio.to_thread(begun.wait, 20)
            task.cancel()
            go.set()
            await asyncio.wait([task])
            assert task.cancelled()

    provider.script([openai_stream('{"n": 1}')])
    with session("once", contract=Slow) as opened:
        asyncio.run(asyncio.wait_for(main(), 20))
    assert [(entry.verdict, entry.ordinal) for entry in opened.recorded] == [("good", 0)]


def test_the_body_of_an_upgrade_is_never_read_whole(url, provider, session, body, sync_client):
    """A 101 has no end: under `same` its body must not be waited for."""
    upgrade = {"connection": "upgrade", "upgrade": "of-another-kind"}
    open_end = replace(openai_chat("x"), status=101, headers=tuple(upgrade.items()), pieces=(b"", b""), hold_before=1)
    never = threading.Event()
    provider.script([replace(open_end, hold=never)])
    with (
        session("once", repeats="same") as opened,
        sync_client(timeout=5) as client,
        client.stream("POST", url, json=body("upgrade"), headers=upgrade) as response,
    ):
        assert response.status_code == 101
        assert "network_stream" in response.extensions
    assert opened.recorded == ()


def test_a_whole_answer_that_is_dropped_unclosed_is_kept(url, provider, session, body, sync_client, said):
    with session("once") as opened:
        with sync_client() as client:
            request = client.build_request("POST", url, json=body("drop me"))
            response = client.send(request, stream=True)
            chunks = response.iter_raw()
            said = next(chunks)
            del response, chunks
            gc.collect()
        for thread in [thread for thread in threading.enumerate() if thread.name == "onetake"]:
            thread.join(20)
    (entry,) = opened.recorded
    assert entry.response.body == said


@pytest.mark.parametrize("colour", ["sync", "asyncio"])
def test_a_reject_frees_the_connection_of_a_response_that_is_not_closed(
    module, url, provider, session, body, colour, sync_client, async_client, said
):
    provider.script([bytes_reply(b"no JSON", "application/json"), openai_chat("next")])
    options = {"limits": module.Limits(max_connections=1), "timeout": module.Timeout(10, pool=0.5)}

    def blocking():
        with sync_client(**options) as client:
            response = client.send(client.build_request("POST", url, json=body("first")), stream=True)
            with pytest.raises(ContractError) as raised:
                list(response.iter_raw())
            return raised.value, said(client.post(url, json=body("second")).json())

    async def awaited():
        async with async_client(**options) as client:
            response = await client.send(client.build_request("POST", url, json=body("first")), stream=True)
            with pytest.raises(ContractError) as raised:
                [chunk async for chunk in response.aiter_raw()]
            return raised.value, said((await client.post(url, json=body("second"))).json())

    with session("once") as running, running.expect_refusal():
        refusal, text = blocking() if colour == "sync" else asyncio.run(awaited())
        assert text == "next"
        raise refusal

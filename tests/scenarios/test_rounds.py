"""Every client at once, again and again: each call gets its own answer, and no connection is made."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen

import aiohttp
import httpx
import httpx2
import lm15.transports as lm15
import pytest
import requests
import urllib3

import onetake
from onetake.settings_start import set_start

ROUNDS = 200
JSON = {"content-type": "application/json"}
POOL = urllib3.PoolManager()
HTTPX, HTTPX2 = httpx.Client(verify=False), httpx2.Client(verify=False)


def body(text):
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()


def by_urllib(url, text):
    with urlopen(Request(url, body(text), JSON), timeout=10) as response:
        return response.read()


async def _by_aiohttp(url, text):
    async with aiohttp.ClientSession() as client, client.post(url, data=body(text), headers=JSON) as response:
        return await response.read()


def by_lm15(url, text):
    asked = lm15.TransportRequest("POST", url, headers=list(JSON.items()), body=body(text))
    with lm15.StdlibTransport().stream(asked) as response:
        return b"".join(response)


CLIENTS = (
    lambda url, text: HTTPX.post(url, content=body(text), headers=JSON).content,
    lambda url, text: HTTPX2.post(url, content=body(text), headers=JSON).content,
    lambda url, text: requests.post(url, body(text), headers=JSON, timeout=10).content,
    lambda url, text: POOL.request("POST", url, body=body(text), headers=JSON).data,
    by_urllib,
    lambda url, text: asyncio.run(_by_aiohttp(url, text)),
    by_lm15,
    lambda url, text: requests.Session().post(url, body(text), headers=JSON, stream=True, timeout=10).raw.read(),
)


def said(answer):
    return json.loads(answer)["choices"][0]["message"]["content"]


def connections(listener):
    """Return how many connections the system took in."""
    count = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            listener.accept()[0].close()
            count += 1
    return count


@pytest.fixture
def here(tmp_path):
    (tmp_path / "onetake.toml").touch()
    before = set_start(tmp_path / "program.py")
    yield
    set_start(before)


@pytest.fixture
def closed(provider):
    """Close the provider and listen in its place, to count: `closed()` returns the listener."""
    with contextlib.ExitStack() as stack:

        def listening():
            provider.close()
            listener = stack.enter_context(socket.create_server(("127.0.0.1", int(provider.url.rpartition(":")[2]))))
            listener.setblocking(False)
            return listener

        yield listening


@pytest.mark.slow
def test_eight_threads_with_eight_clients_and_a_barrier_for_200_rounds(here, provider, closed):
    url = provider.url + "/v1/chat/completions"
    texts = [f"question {number}" for number in range(len(CLIENTS))]
    with onetake.use_cassette("rounds", mode="once"):
        first = {text: said(client(url, text)) for client, text in zip(CLIENTS, texts, strict=True)}
    assert all(answer.endswith(text) for text, answer in first.items())
    listener, dice, barrier = closed(), random.Random(5), threading.Barrier(len(CLIENTS))

    def ask(client, text):
        barrier.wait(timeout=60)
        return text, said(client(url, text))

    with ThreadPoolExecutor(len(CLIENTS)) as pool:
        for _ in range(ROUNDS):
            dice.shuffle(texts)
            with onetake.use_cassette("rounds", mode="none") as session:
                assert dict(pool.map(ask, CLIENTS, texts)) == first
            assert len(session.played) == len(texts)
    assert (connections(listener), provider.count) == (0, len(texts))


def test_two_cassettes_in_concurrent_tasks_by_two_clients(here, provider, closed):
    url = provider.url + "/v1/chat/completions"

    async def job(name, mode, turn):
        with onetake.use_cassette(name, mode=mode) as session:
            await turn.wait()
            found = [
                said(await _by_aiohttp(url, "the same")),
                said(await asyncio.to_thread(CLIENTS[2], url, "the same")),
            ]
        return found, len(session.recorded), len(session.played)

    async def both(mode):
        turn = asyncio.Barrier(2)
        return await asyncio.gather(job("one", mode, turn), job("two", mode, turn))

    recorded = asyncio.run(both("once"))
    assert [(made, played) for _, made, played in recorded] == [(2, 0), (2, 0)]
    assert len({answer for answers, _, _ in recorded for answer in answers}) == provider.count == 4
    listener = closed()
    replayed = asyncio.run(both("none"))
    assert replayed == [(answers, 0, 2) for answers, _, _ in recorded]
    assert connections(listener) == 0


def test_br_153_an_entry_that_no_call_asked_for_is_reported(here, provider):
    url = provider.url + "/v1/chat/completions"
    with onetake.use_cassette("unused", mode="once"):
        for text in ("a", "b", "c"):
            CLIENTS[0](url, text)
    with onetake.use_cassette("unused", mode="none") as session:
        CLIENTS[0](url, "a")
        CLIENTS[2](url, "c")
    assert [said(entry.response.body) for entry in session.unused] == ["answer 2 to: b"]

"""Never live when sealed: whatever client it is and whatever it does with an error, no byte of it leaves."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import ssl
import urllib.request

import aiohttp
import anyio
import httpx
import httpx2
import pytest
import requests
import trio
import urllib3

import onetake
from onetake.errors import InteractionNotFound

PATH = "/v1/chat/completions"
HERE = __name__


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def by_httpx(origin):
    httpx.post(origin.url, json={}, timeout=5)


def by_httpx2(origin):
    httpx2.post(origin.url, json={}, timeout=5)


async def by_httpx_async(origin):
    async with httpx.AsyncClient(timeout=5) as client:
        await client.post(origin.url, json={})


async def by_httpx2_async(origin):
    async with httpx2.AsyncClient(timeout=5) as client:
        await client.post(origin.url, json={})


async def by_aiohttp(origin):
    async with aiohttp.ClientSession() as session, session.post(origin.url, json={}):
        pass


def by_urllib3(origin):
    urllib3.PoolManager(retries=False).request("POST", origin.url, body=b"{}", timeout=5)


def by_requests(origin):
    requests.post(origin.url, json={}, timeout=5)


def by_http_client(origin):
    connection = http.client.HTTPConnection(origin.place, timeout=5)
    with contextlib.closing(connection):
        connection.request("POST", PATH, b"{}")
        connection.getresponse()


def by_urllib(origin):
    with urllib.request.urlopen(origin.url, b"{}", timeout=5):
        pass


def by_lm15(origin):
    from lm15.transports import StdlibTransport, TransportRequest

    transport = StdlibTransport()
    request = TransportRequest(method="POST", url=origin.url, headers=[], body=b"{}")
    with transport.stream(request):
        pass


def by_socket(origin):
    with socket.create_connection(("127.0.0.1", origin.port), timeout=5) as sock:
        sock.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


async def by_asyncio(origin):
    _, writer = await asyncio.open_connection("127.0.0.1", origin.port)
    with contextlib.closing(writer):
        writer.write(f"POST {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await writer.drain()


def by_tls(origin):
    context = ssl.create_default_context()
    with socket.create_connection(("127.0.0.1", origin.port), timeout=5) as sock:
        context.wrap_socket(sock, server_hostname="api.openai.com")


def by_trio(origin):
    async def main():
        stream = await trio.open_tcp_stream("127.0.0.1", origin.port)
        async with stream:
            await stream.send_all(f"POST {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    trio.run(main)


def by_anyio(origin):
    async def main():
        async with await anyio.connect_tcp("127.0.0.1", origin.port) as stream:
            await stream.send(f"POST {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    anyio.run(main, backend="trio")


CLIENTS = {
    "httpx": (by_httpx, by_httpx_async),
    "httpx2": (by_httpx2, by_httpx2_async),
    "aiohttp": (by_aiohttp,),
    "urllib3": (by_urllib3,),
    "requests": (by_requests,),
    "http.client": (by_http_client,),
    "urllib.request": (by_urllib,),
    "lm15": (by_lm15,),
    HERE: (by_socket, by_asyncio, by_tls, by_trio, by_anyio),
}
ADAPTERS = {
    "httpx": ("httpx",),
    "httpx2": ("httpx2",),
    "aiohttp": ("aiohttp",),
    "urllib3": ("urllib3", "http.client"),
    "requests": ("urllib3", "http.client"),
    "http.client": ("http.client",),
    "urllib.request": ("http.client",),
    "lm15": ("lm15.transports",),
    HERE: (),
}
"""The modules whose adapters see a client's calls, the outermost first."""
ALL = [pytest.param(name, call, id=call.__name__) for name, calls in CLIENTS.items() for call in calls]


def run(call, origin):
    """Make a call and swallow everything that an application may swallow."""
    with contextlib.suppress(Exception):
        done = call(origin)
        if asyncio.iscoroutine(done):
            asyncio.run(asyncio.wait_for(done, 10))


def clients(refusals):
    """Return who each refusal says it was."""
    return [(str(refusal.args[1]).rpartition(", by ")[2] or refusal.client).partition(" ")[0] for refusal in refusals]


@pytest.mark.parametrize(("name", "call"), [one for one in ALL if ADAPTERS[one.values[0]]])
def test_with_its_adapters_disabled_one_by_one_no_call_of_a_client_leaves(origin, unhook, name, call):
    with onetake.use_cassette("c", mode="none", hosts=[origin.place]) as cassette:
        for adapter in (None, *ADAPTERS[name]):
            if adapter is not None:
                unhook(adapter)
            with cassette.expect_refusal(InteractionNotFound) as said:
                run(call, origin)
            assert origin.connections == 0
            goes_round = ["goes round the adapters" in str(refusal) for refusal in said.refusals]
            assert goes_round == [adapter == ADAPTERS[name][-1]] * len(goes_round)
    assert set(clients(said.refusals)) == {name}


@pytest.mark.parametrize(("name", "call"), ALL)
def test_br_149_a_call_round_the_adapters_reaches_no_named_host(origin, unhook, name, call):
    with onetake.use_cassette("c", mode="none", hosts=[origin.place]) as cassette, cassette.expect_refusal() as said:
        unhook_all(unhook, name)
        run(call, origin)
    assert origin.connections == 0
    assert set(clients(said.refusals)) == {name}


@pytest.mark.parametrize(("name", "call"), ALL)
def test_a_call_round_the_adapters_reaches_no_model_server_on_loopback(origin, unhook, name, call):
    with onetake.use_cassette("c", mode="none") as cassette, cassette.expect_refusal() as said:
        unhook_all(unhook, name)
        run(call, origin)
    assert set(clients(said.refusals)) == {name}
    assert origin.received == b""


@pytest.mark.parametrize("mode", ["once", "new_episodes", "all"])
@pytest.mark.parametrize(("name", "call"), ALL)
def test_a_call_round_the_adapters_is_not_live_and_unrecorded(origin, unhook, mode, name, call):
    with onetake.use_cassette("c", mode=mode, hosts=[origin.place]) as cassette, cassette.expect_refusal() as said:
        unhook_all(unhook, name)
        run(call, origin)
    assert origin.connections == 0
    assert set(clients(said.refusals)) == {name}
    assert "live and not recorded" in str(said.refusals[0])


def unhook_all(unhook, name):
    for adapter in ADAPTERS[name]:
        unhook(adapter)

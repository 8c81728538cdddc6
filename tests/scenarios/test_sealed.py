"""Never live when sealed: whatever client it is and whatever it does with an error, no byte of it leaves."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import ssl
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import aiohttp
import anyio
import httpx
import httpx2
import pytest
import requests
import trio
import urllib3

import onetake
from onetake import active
from onetake.errors import InteractionNotFound, NetworkRefusal, Refusal

PATH = "/v1/chat/completions"
HERE = __name__


class Origin:
    """Listens, and says afterwards what reached it: the system takes connections and bytes in at once."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.place = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.place}{PATH}"
        self._accepted = []

    @property
    def connections(self):
        """How many connections were made to it."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self._accepted.append(self.listener.accept()[0])
        return len(self._accepted)

    @property
    def received(self):
        """Every byte that came over them."""
        got = b""
        for connection in self._accepted[: self.connections]:
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionResetError):
                got += connection.recv(65536)
        return got

    def close(self):
        for sock in (self.listener, *self._accepted):
            sock.close()


@pytest.fixture
def origin():
    made = Origin()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _no_adapter_holds(tmp_path, monkeypatch):
    """Have every adapter let every call pass, as one would that has lost its hold on its client."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(active, "engine_for", lambda method, url: None)


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


@pytest.mark.parametrize(("name", "call"), ALL)
def test_br_149_a_call_round_the_adapters_reaches_no_named_host(origin, name, call):
    with onetake.use_cassette("c", mode="none", hosts=[origin.place]) as cassette, cassette.expect_refusal() as said:
        run(call, origin)
    assert origin.connections == 0
    assert set(clients(said.refusals)) == {name}


@pytest.mark.parametrize(("name", "call"), ALL)
def test_a_call_round_the_adapters_reaches_no_model_server_on_loopback(origin, name, call):
    with onetake.use_cassette("c", mode="none") as cassette, cassette.expect_refusal() as said:
        run(call, origin)
    assert set(clients(said.refusals)) == {name}
    assert origin.received == b""


@pytest.mark.parametrize("mode", ["once", "new_episodes", "all"])
@pytest.mark.parametrize(("name", "call"), ALL)
def test_a_call_round_the_adapters_is_not_live_and_unrecorded(origin, mode, name, call):
    with onetake.use_cassette("c", mode=mode, hosts=[origin.place]) as cassette, cassette.expect_refusal() as said:
        run(call, origin)
    assert origin.connections == 0
    assert set(clients(said.refusals)) == {name}
    assert "live and not recorded" in str(said.refusals[0])


def swallowing(call, origin):
    """Call, and swallow what is raised, whatever it is."""
    try:
        return call(origin)
    except BaseException:  # noqa: BLE001 - the harshest program there is
        return None


@pytest.mark.parametrize("call", [by_httpx, by_requests, by_socket])
def test_what_threads_and_executors_swallow_is_still_told(origin, call):
    with pytest.raises(Refusal), onetake.use_cassette("c", mode="none", hosts=[origin.place]) as cassette:
        thread = threading.Thread(target=swallowing, args=(call, origin))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(swallowing, [call] * 4, [origin] * 4))
        assert len(cassette.refusals) == 5
    assert origin.connections == 0


def test_each_of_many_tasks_is_told(origin):
    async def main():
        await asyncio.gather(*(by_httpx_async(origin) for _ in range(5)), return_exceptions=True)

    with onetake.use_cassette("c", mode="none", hosts=[origin.place]) as cassette, cassette.expect_refusal() as said:
        asyncio.run(main())
    assert origin.connections == 0
    assert len(said.refusals) >= 1


def test_sessions_in_concurrent_tasks_keep_their_own_ledgers(origin):
    async def one(name, hosts):
        with onetake.use_cassette(name, mode="none", hosts=hosts) as cassette, cassette.expect_refusal() as said:
            await asyncio.gather(by_asyncio(origin), return_exceptions=True)
            with contextlib.suppress(OSError):
                await asyncio.open_connection(f"{name}.example.com", 443)
        return [str(refusal) for refusal in said.refusals]

    async def main():
        return await asyncio.gather(one("a", [origin.place]), one("b", [origin.place]))

    for name, texts in zip("ab", asyncio.run(main()), strict=True):
        assert len(texts) == 2
        assert f"{name}.example.com" in texts[1]
        assert all(f": {name}\n" in text for text in texts)
    assert origin.connections == 0


@pytest.mark.parametrize("call", [httpx.get, httpx2.get, requests.get])
def test_clients_make_their_own_error_of_a_refused_connection(call):
    own = {httpx: httpx.ConnectError, httpx2: httpx2.ConnectError, requests: requests.ConnectionError}
    expected = own[{"httpx": httpx, "httpx2": httpx2, "requests": requests}[call.__module__.partition(".")[0]]]
    with pytest.raises(NetworkRefusal), onetake.use_cassette("c", mode="none"), pytest.raises(expected):
        call("https://db.example.com/")


@pytest.mark.parametrize("call", [httpx.get, httpx2.get, requests.get])
def test_quiet_hosts_are_refused_without_a_word(call):
    with onetake.use_cassette("c", mode="none") as cassette, contextlib.suppress(Exception):
        call("http://169.254.169.254/latest/meta-data/", timeout=5)
    assert cassette.refusals == ()


def test_ignored_hosts_are_reached(origin):
    with onetake.use_cassette("c", mode="none", hosts=["127.0.0.1"], ignore=[origin.place]):
        by_socket(origin)
    assert origin.connections == 1


def test_a_call_that_is_caught_by_its_name_may_be_expected(origin):
    with onetake.use_cassette("c", mode="none", hosts=[origin.place]) as cassette:
        with cassette.expect_refusal(InteractionNotFound):
            by_socket(origin)
        assert len(cassette.refusals) == 1


def test_what_an_old_thread_asks_after_the_end_of_its_session_does_not_leave(origin):
    go, done = threading.Event(), threading.Event()

    def late():
        go.wait(10)
        swallowing(by_socket, origin)
        done.set()

    with onetake.use_cassette("c", mode="none", hosts=[origin.place]) as cassette:
        threading.Thread(target=late).start()
    go.set()
    assert done.wait(10)
    assert origin.connections == 0
    assert "(ended)" in str(cassette.refusals[0])
    by_socket(origin)
    assert origin.received.startswith(b"POST")

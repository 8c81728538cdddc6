"""What a sealed session lets pass through an adapter opens the way for that call, and for nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import aiohttp
import httpx
import httpx2
import pytest
import requests
import urllib3

import onetake
from onetake import active
from onetake.errors import InteractionNotFound

LET_PASS = "/let/pass"
MODEL_CALL = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"


class Handler(BaseHTTPRequestHandler):
    """Answers everything, and keeps what it was asked."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append(f"{self.command} {self.path}")
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-length", "4")
        self.end_headers()
        self.wfile.write(b"here")

    do_POST = do_GET

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.daemon_threads, running.asked = True, []
        running.place = f"127.0.0.1:{running.server_address[1]}"
        running.url = f"http://{running.place}"
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def by_httpx(server):
    assert httpx.get(server.url + LET_PASS).text == "here"


def by_httpx2(server):
    assert httpx2.get(server.url + LET_PASS).text == "here"


async def by_httpx_async(server):
    async with httpx.AsyncClient() as client:
        assert (await client.get(server.url + LET_PASS)).text == "here"


async def by_aiohttp(server):
    async with aiohttp.ClientSession() as session, session.get(server.url + LET_PASS) as response:
        assert await response.text() == "here"


def by_urllib3(server):
    assert urllib3.PoolManager(retries=False).request("GET", server.url + LET_PASS).data == b"here"


def by_requests(server):
    assert requests.get(server.url + LET_PASS).text == "here"


def by_urllib(server):
    with urllib.request.urlopen(server.url + LET_PASS) as response:
        assert response.read() == b"here"


def by_http_client(server):
    with contextlib.closing(http.client.HTTPConnection(server.place)) as connection:
        connection.request("GET", LET_PASS)
        assert connection.getresponse().read() == b"here"


def by_http_client_piecewise(server):
    with contextlib.closing(http.client.HTTPConnection(server.place)) as connection:
        connection.connect()
        connection.putrequest("POST", LET_PASS)
        connection.putheader("content-length", "2")
        connection.endheaders()
        connection.send(b"{}")
        assert connection.getresponse().read() == b"here"


def by_lm15(server):
    from lm15.transports import StdlibTransport, TransportRequest

    request = TransportRequest(method="GET", url=server.url + LET_PASS, headers=[], body=None)
    with StdlibTransport().stream(request) as response:
        assert response.read() == b"here"


async def by_lm15_async(server):
    from lm15.transports import StdlibAsyncTransport, TransportRequest

    request = TransportRequest(method="GET", url=server.url + LET_PASS, headers=[], body=None)
    async with StdlibAsyncTransport().stream(request) as response:
        assert await response.read() == b"here"


SYNC = [by_httpx, by_httpx2, by_urllib3, by_requests, by_urllib, by_http_client, by_http_client_piecewise, by_lm15]
ASYNC = [by_httpx_async, by_aiohttp, by_lm15_async]


def around(server, then):
    """Send a model's request on a socket of the program's own."""
    with socket.create_connection(server.server_address, timeout=5) as sock:
        sock.sendall(MODEL_CALL)
        then.append(sock.recv(99))


def let_pass_then_around(server, call):
    """Make a call that is let pass, and in the same context one that goes round the adapters."""
    got = []
    if call in ASYNC:

        async def main():
            await call(server)
            around(server, got)

        with pytest.raises(InteractionNotFound):
            asyncio.run(main())
    else:
        call(server)
        with pytest.raises(InteractionNotFound):
            around(server, got)
    assert got == []


@pytest.mark.parametrize("call", SYNC + ASYNC)
def test_a_local_call_opens_no_way_for_a_model_call(server, call):
    with onetake.use_cassette("c", mode="none") as cassette, cassette.expect_refusal() as said:
        let_pass_then_around(server, call)
    assert len(said.refusals) == 1
    assert [asked.split()[1] for asked in server.asked] == [LET_PASS]


@pytest.mark.parametrize("call", SYNC + ASYNC)
def test_a_call_that_is_ignored_by_its_path_opens_no_way_to_its_host(server, call):
    settings = {"hosts": [server.place], "ignore": [server.place + LET_PASS]}
    with onetake.use_cassette("c", mode="none", **settings) as cassette, cassette.expect_refusal() as said:
        let_pass_then_around(server, call)
    assert len(said.refusals) == 1
    assert "a connection to" in str(said.refusals[0])
    assert [asked.split()[1] for asked in server.asked] == [LET_PASS]


def test_neither_does_it_in_threads_that_were_started_during_the_call(server):
    go, got, raised = threading.Event(), [], []

    def late():
        go.wait(10)
        try:
            around(server, got)
        except InteractionNotFound as refusal:
            raised.append(refusal)

    thread = threading.Thread(target=late)
    with onetake.use_cassette("c", mode="none") as cassette, cassette.expect_refusal():
        with active.letting_pass("GET", server.url + LET_PASS):
            thread.start()
        go.set()
        thread.join()
    assert (len(raised), got) == (1, [])


def test_a_connection_that_was_let_pass_carries_no_other_request(server):
    settings = {"hosts": [server.place], "ignore": [server.place + LET_PASS]}
    connection = http.client.HTTPConnection(server.place)
    with contextlib.closing(connection), onetake.use_cassette("c", mode="none", **settings) as cassette:
        for _ in range(2):
            connection.request("GET", LET_PASS)
            assert connection.getresponse().read() == b"here"
        with cassette.expect_refusal(), pytest.raises(InteractionNotFound):
            connection.sock.sendall(MODEL_CALL)
    assert server.asked == [f"GET {LET_PASS}"] * 2


def test_an_explicit_connect_is_for_no_request_yet(server):
    settings = {"hosts": [server.place], "ignore": [server.place + "/"]}
    with onetake.use_cassette("c", mode="none", **settings) as cassette, cassette.expect_refusal():
        connection = http.client.HTTPConnection(server.place)
        with pytest.raises(InteractionNotFound):
            connection.connect()
        with pytest.raises(InteractionNotFound):
            around(server, [])
    assert server.asked == []


def test_a_connection_that_one_session_let_pass_is_not_let_pass_by_the_next(origin):
    with onetake.use_cassette("c", mode="none", hosts=[origin.place], ignore=[origin.place + LET_PASS]):
        with active.letting_pass("POST", f"http://{origin.place}{LET_PASS}"):
            sock = socket.create_connection(("127.0.0.1", origin.port))
            sock.sendall(b"first ")
        sock.sendall(b"rest")
    following = onetake.use_cassette("d", mode="none", hosts=[origin.place])
    with sock, following as cassette, cassette.expect_refusal(), pytest.raises(InteractionNotFound):
        sock.sendall(b"more")
    assert origin.received == b"first rest"


def test_what_an_event_loop_has_still_to_write_of_a_call_is_let_pass_after_it():
    body, got = b"x" * 20_000_000, bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        go = threading.Event()

        def take_slowly():
            with listener.accept()[0] as sock:
                go.wait(10)
                while data := sock.recv(1 << 20):
                    got.extend(data)

        thread = threading.Thread(target=take_slowly)
        thread.start()

        async def main():
            with active.letting_pass("POST", f"http://{place}{LET_PASS}"):
                _, writer = await asyncio.open_connection(*listener.getsockname())
                writer.write(body)
            assert writer.transport.get_write_buffer_size() > 0
            go.set()
            await writer.drain()
            writer.close()
            await writer.wait_closed()

        with onetake.use_cassette("c", mode="none", hosts=[place], ignore=[place + LET_PASS]) as cassette:
            asyncio.run(main())
        thread.join()
    assert cassette.refusals == ()
    assert len(got) == len(body)

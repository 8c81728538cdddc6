"""The hooks: each way in which Python's sockets let something out asks first."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
import trio

import onetake
from onetake import guard_peers, guard_sockets
from onetake.errors import InteractionNotFound, NetworkRefusal
from onetake.testing.provider import Provider

REFUSED = (InteractionNotFound, NetworkRefusal)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


class Origin:
    """Counts the connections that reach it, and keeps what comes over them: the system takes them in at once."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.address = self.listener.getsockname()
        self.place = f"127.0.0.1:{self.address[1]}"
        self._accepted = []

    @property
    def connections(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                self._accepted.append(self.listener.accept()[0])
        return self._accepted

    def received(self):
        """Return all bytes that came, once every client has closed."""
        for connection in self.connections:
            connection.setblocking(True)
        return b"".join(connection.makefile("rb").read() for connection in self._accepted)


@pytest.fixture
def origin():
    made = Origin()
    yield made
    made.listener.close()


def written(file):
    with file:
        file.write(b"x")


def sent(sock, path):
    with path.open("rb") as file:
        sock.sendfile(file)


@contextlib.contextmanager
def sealed(**more):
    """Open a sealed session; what it refuses is expected."""
    with onetake.use_cassette("c", mode="none", **more) as cassette, cassette.expect_refusal():
        yield cassette


def test_br_149_no_kind_of_connection_reaches_a_guarded_origin(origin):
    tls = ssl.create_default_context()
    with sealed(hosts=[origin.place]) as cassette:
        for connect in (
            lambda: socket.create_connection(origin.address),
            lambda: socket.socket().connect(origin.address),
            lambda: socket.socket().connect_ex(origin.address),
            lambda: tls.wrap_socket(socket.socket(), server_hostname="x").connect(origin.address),
            lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", origin.address),
            lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", 0, origin.address),
            lambda: socket.socket(type=socket.SOCK_DGRAM).sendmsg([b"x"], [], 0, origin.address),
            lambda: asyncio.run(asyncio.open_connection(*origin.address)),
            lambda: trio.run(trio.open_tcp_stream, *origin.address),
        ):
            before = len(cassette.refusals)
            with pytest.raises(BaseException) as caught:
                connect()
            assert isinstance(caught.value, (*REFUSED, BaseExceptionGroup)), caught.value
            assert len(cassette.refusals) > before
    assert origin.connections == []


def test_a_connection_that_is_tried_by_number_is_told_so():
    with sealed() as cassette:
        assert socket.socket().connect_ex(("192.0.2.1", 80)) == errno.ECONNREFUSED
        assert len(cassette.refusals) == 1


@pytest.mark.parametrize(
    "send",
    [
        lambda sock: sock.send(b"x"),
        lambda sock: sock.sendall(b"x"),
        lambda sock: sock.sendmsg([b"x", b"y"]),
        lambda sock: sock.sendto(b"x", sock.getpeername()),
        lambda sock: written(sock.makefile("wb", buffering=0)),
        lambda sock: sent(sock, Path(__file__)),
        lambda sock: ssl.create_default_context().wrap_socket(sock, server_hostname="x"),
    ],
)
def test_a_connection_from_before_the_session_carries_nothing(origin, send):
    with socket.create_connection(origin.address) as sock:
        sock.sendall(b"before ")
        with sealed(hosts=[origin.place]), pytest.raises(REFUSED):
            send(sock)
        with contextlib.suppress(OSError):
            sock.sendall(b"after")
    got = origin.received()
    assert got in (b"before after", b"before ")


def test_a_pool_of_asyncio_from_before_the_session_carries_nothing(origin):
    async def main():
        _, writer = await asyncio.open_connection(*origin.address)
        with sealed(hosts=[origin.place]) as cassette:
            writer.write(b"x" * 40)
            with pytest.raises(ConnectionResetError):  # asyncio's own word for a transport that could not write
                await writer.drain()
            assert len(cassette.refusals) == 1
        writer.close()

    asyncio.run(main())
    assert origin.received() == b""


def test_a_stream_of_trio_from_before_the_session_carries_nothing(origin):
    async def main():
        stream = await trio.open_tcp_stream(*origin.address)
        with sealed(hosts=[origin.place]), pytest.raises(REFUSED):
            await stream.send_all(b"x")
        await stream.aclose()

    trio.run(main)
    assert origin.received() == b""


def test_br_149_nobody_is_asked_for_an_address(monkeypatch):
    asked = []

    def count(host, *_):
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket._socket, "getaddrinfo", guard_sockets._getaddrinfo(count))
    for name in ("gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
        monkeypatch.setattr(socket, name, guard_sockets._by_name(count))
    ways = [
        lambda name: socket.getaddrinfo(name, 443),
        socket.gethostbyname,
        socket.gethostbyname_ex,
        socket.gethostbyaddr,
        lambda name: socket.create_connection((name, 443)),
        lambda name: socket.socket().connect((name, 443)),
        lambda name: socket.socket(type=socket.SOCK_DGRAM).connect((name, 443)),
        lambda name: asyncio.run(asyncio.open_connection(name, 443)),
        lambda name: asyncio.run(asyncio.to_thread(socket.getaddrinfo, name, 443)),
        lambda name: trio.run(trio.socket.getaddrinfo, name, 443),
    ]
    with sealed():
        for look_up in ways:
            with pytest.raises(InteractionNotFound):
                look_up("api.openai.com")
            with pytest.raises(NetworkRefusal):
                look_up("db.example.com")
    assert asked == []
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("db.example.com", 443)
    assert asked == ["db.example.com"]


def test_where_datagrams_will_go_may_be_said_but_none_is_sent():
    with socket.socket(type=socket.SOCK_DGRAM) as sock, onetake.use_cassette("c", mode="none") as cassette:
        with contextlib.suppress(OSError):  # no route on this machine
            sock.connect(("192.0.2.1", 53))
            with cassette.expect_refusal(), pytest.raises(NetworkRefusal):
                sock.send(b"x")
        with cassette.expect_refusal(), pytest.raises(NetworkRefusal):
            sock.sendto(b"x", ("192.0.2.1", 53))


def test_what_is_local_works_as_ever(origin):
    with onetake.use_cassette("c", mode="none") as cassette:
        left, right = socket.socketpair()
        left.sendall(b"POST /v1/chat/completions HTTP/1.1\r\n")
        assert right.recv(99).startswith(b"POST")
        with socket.create_connection(origin.address) as sock:
            sock.sendall(b"GET /health HTTP/1.1\r\n\r\n")
        assert origin.received() == b"GET /health HTTP/1.1\r\n\r\n"
        assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout.split() == [b"1"]
        assert socket.gethostbyname("localhost").startswith("127.")
        assert socket.getfqdn()
        assert socket.getnameinfo(("192.0.2.1", 80), socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)[0] == "192.0.2.1"
        assert cassette.refusals == ()


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no Unix sockets here")
def test_unix_sockets_pass(tmp_path):
    with onetake.use_cassette("c", mode="none"), socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "s"))
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(os.path.relpath(tmp_path / "s"))
            client.sendall(b"x")
            assert server.accept()[0].recv(9) == b"x"


def test_a_server_of_this_process_answers_whoever_reached_it():
    guard_sockets.install()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted = server.accept()[0]
        with onetake.use_cassette("c", mode="none", hosts=["127.0.0.1"]) as cassette:
            accepted.sendall(b"x")
            assert client.recv(9) == b"x"
            assert cassette.refusals == ()


def test_a_reverse_look_up_asks_nobody():
    with sealed(), pytest.raises(NetworkRefusal):
        socket.getnameinfo(("192.0.2.1", 80), 0)


def test_a_looked_up_name_is_remembered(monkeypatch):
    guard_sockets.install()
    monkeypatch.setattr(guard_peers, "_names", {})
    socket.getaddrinfo("localhost", 80)
    socket.gethostbyname("localhost")
    assert "localhost" in guard_peers._names.values()


def test_a_tool_that_puts_its_own_back_does_not_take_the_guard_away(origin):
    guard_sockets.install()
    ours = socket.socket.connect
    socket.socket.connect = ours.__wrapped__
    try:
        with sealed(hosts=[origin.place]), pytest.raises(InteractionNotFound):
            socket.create_connection(origin.address)
    finally:
        socket.socket.connect = ours
    guard_sockets.install()
    assert socket.socket.connect is ours


def test_a_socket_class_that_stands_before_the_real_one_is_looked_behind(origin, monkeypatch):
    real = socket.socket

    class Guarded(real):
        """As pytest-socket does."""

    monkeypatch.setattr(socket, "socket", Guarded)
    with sealed(hosts=[origin.place]), pytest.raises(InteractionNotFound):
        real().connect(origin.address)


def test_what_trio_copied_is_found_by_its_public_class():
    assert [kind.__name__ for kind in trio.socket.SocketType.__subclasses__()] == ["_SocketType"]
    guard_sockets.install()
    assert all(kind.send._onetake for kind in trio.socket.SocketType.__subclasses__())


def test_outside_of_sessions_everything_goes_out():
    with Provider() as provider, socket.create_connection(("127.0.0.1", int(provider.url.rpartition(":")[2]))) as sock:
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 0\r\n\r\n")
        provider.wait_for(1)

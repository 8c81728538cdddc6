"""The hooks of the event loop of Windows, on stand-ins for what is there only."""

from __future__ import annotations

import asyncio
import socket

import pytest

import onetake
from onetake.errors import InteractionNotFound


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def test_the_event_loop_of_windows_is_hooked_at_its_own_calls(listener, tmp_path, monkeypatch):
    called = []

    class Proactor:
        """Has the methods of the real one, which is there on Windows only."""

        def connect(self, conn, address):
            called.append(address)

        def send(self, conn, buf, flags=0):
            called.append(buf)

        def sendto(self, conn, buf, flags=0, addr=None):
            called.append(addr)

        def sendfile(self, sock, file, offset, count):
            called.append(file)

    monkeypatch.setattr(asyncio, "IocpProactor", Proactor, raising=False)
    monkeypatch.chdir(tmp_path)
    with (
        socket.create_connection(listener.getsockname()) as sock,
        onetake.use_cassette("c", mode="none", hosts=["127.0.0.1"]) as cassette,
        cassette.expect_refusal(),
    ):
        for call in (
            lambda: Proactor().connect(sock, listener.getsockname()),
            lambda: Proactor().send(sock, b"x"),
            lambda: Proactor().sendto(sock, b"x", 0, listener.getsockname()),
            lambda: Proactor().sendto(sock, b"x", addr=listener.getsockname()),
            lambda: Proactor().sendfile(sock, "a file", 0, 9),
        ):
            with pytest.raises(InteractionNotFound):
                call()
    assert called == []
    Proactor().connect(None, "outside")
    assert called == ["outside"]


@pytest.mark.parametrize("at_once", [True, False])
def test_a_server_of_the_event_loop_of_windows_answers_whoever_reached_it(listener, tmp_path, monkeypatch, at_once):
    class Proactor:
        """Accepts as the real one does: by a future, which is done when somebody has come."""

        def accept(self, sock):
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            found = OSError("closed") if sock is None else type(sock).accept.__wrapped__(sock)
            done = future.set_exception if sock is None else future.set_result
            done(found) if at_once else loop.call_soon(done, found)
            return future

    async def main():
        connection, address = await Proactor().accept(listener)
        assert address == client.getsockname()
        with connection:
            connection.sendall(b"x")
        with pytest.raises(OSError, match="closed"):
            await Proactor().accept(None)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(asyncio, "IocpProactor", Proactor, raising=False)
    client = socket.create_connection(listener.getsockname())
    with client, onetake.use_cassette("c", mode="none", hosts=["127.0.0.1"]) as cassette:
        asyncio.run(main())
        assert client.recv(9) == b"x"
    assert cassette.refusals == ()

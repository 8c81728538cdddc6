"""What stands in for the sockets of http.client, by itself."""

from __future__ import annotations

import errno
import http.client
import io
import socket

import pytest

from onetake.adapters import http_client_sockets as sockets
from onetake.model import Response


@pytest.mark.parametrize(
    "call",
    [
        lambda sock: sock.getpeername(),
        lambda sock: sock.getsockname(),
        lambda sock: sock.fileno(),
        lambda sock: sock.shutdown(socket.SHUT_RDWR),
        lambda sock: sock.version(),
        lambda sock: sock.send(b"x"),
        lambda sock: sock.sendall(b"x"),
        lambda sock: sock.recv(1),
        lambda sock: sock.recv_into(bytearray(1)),
        lambda sock: sock.makefile("rb"),
    ],
)
def test_what_needs_a_connection_fails_as_on_a_socket_that_has_none(call):
    with pytest.raises(OSError) as raised:
        call(sockets.Unconnected(None))
    assert raised.value.errno == errno.ENOTCONN


def test_what_is_set_before_the_connection_holds_after_it():
    waiting = sockets.Unconnected(5.0)
    waiting.setblocking(True)
    assert waiting.gettimeout() is None
    waiting.setblocking(False)
    assert waiting.gettimeout() == 0.0
    waiting.settimeout(7)
    waiting.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    with socket.socket() as real:
        waiting.settle(real)
        assert real.gettimeout() == 7.0
        assert real.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) != 0


def test_a_time_limit_that_was_not_touched_is_the_connections_own():
    waiting = sockets.Unconnected(5.0)
    with socket.socket() as real:
        real.settimeout(3)
        waiting.settle(real)
        assert real.gettimeout() == 3.0


_STREAM = (("content-type", "text/event-stream"),)
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


def _stored():
    return sockets.whole(Response(200, _STREAM, b"data: 1\n\ndata: 2\n\nrest"))


def test_a_stored_response_is_its_head_and_then_event_by_event():
    file = _stored()
    assert [file.read1(), file.read1(), file.read1(4), file.peek(), file.read1(-1), file.read1(), file.read1()] == [
        *(_HEAD, b"data: 1\n\n", b"data", b": 2\n\n", b": 2\n\n", b"rest", b"")
    ]


@pytest.mark.parametrize("size", [1, 7, 1000, -1, None])
def test_reading_by_size_goes_over_the_borders_of_events(size):
    file, found = _stored(), []
    while piece := file.read(size):
        found.append(piece)
    assert b"".join(found) == _HEAD + b"data: 1\n\ndata: 2\n\nrest"
    assert {len(piece) for piece in found[:-1]} <= {size}


def test_lines_end_at_their_limit_and_at_the_end():
    file = _stored()
    file.read(len(_HEAD))
    assert [file.readline(3), file.readline(), file.readline(), file.readline(), file.readline(), file.readline()] == [
        *(b"dat", b"a: 1\n", b"\n", b"data: 2\n", b"\n", b"rest")
    ]
    assert file.readline() == b""


def test_a_stored_response_has_no_socket_and_can_be_closed():
    file = _stored()
    with pytest.raises(io.UnsupportedOperation, match="replay"):
        file.fileno()
    file.close()
    assert (file.closed, file.read(), file.peek()) == (True, b"", b"")


def test_a_status_without_a_phrase_of_its_own():
    assert sockets.whole(Response(299, (), b"")).readline() == b"HTTP/1.1 299 \r\n"


def test_a_door_says_whether_its_response_was_begun():
    with socket.socket() as real:
        reading = sockets.ResponseSocket(lambda: io.BytesIO(b"file"), real)
        assert (reading.file, reading.fileno()) == (None, real.fileno())
        assert reading.makefile("rb").read() == b"file"
        assert reading.file is not None
        reading.close()
        assert real.fileno() == -1
    response = http.client.HTTPResponse(sockets.ResponseSocket(_stored))
    response.begin()
    assert response.read() == b"data: 1\n\ndata: 2\n\nrest"

"""http.client: what a connection is over its life, and when it is made."""

from __future__ import annotations

import http.client
import io
import socket
from contextlib import closing

import pytest

from onetake.testing.adapter_calls import CHAT, refused

JSON = {"Content-Type": "application/json"}
BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def test_one_connection_carries_live_replayed_and_untouched_calls(provider, session, connection, said, post):
    with session("new_episodes"):
        assert said(post(connection, "known")) == "answer 1 to: known"
    sock = connection.sock
    with session("new_episodes") as running:
        assert said(post(connection, "known")) == "answer 1 to: known"
        assert said(post(connection, "new")) == "answer 2 to: new"
        connection.request("GET", "/somewhere/else")
        connection.getresponse().read()
    assert said(post(connection, "known")) == "answer 4 to: known"
    assert (connection.sock, provider.count) == (sock, 4)
    assert (len(running.played), len(running.recorded)) == (1, 1)


def test_after_a_replay_an_untouched_call_connects(provider, session, connection, post):
    with session("once"):
        post(connection, "known").read()
    connection.close()
    with session("once"):
        post(connection, "known").read()
        connection.request("GET", "/somewhere/else")
        assert connection.getresponse().read()
    assert [request.path for request in provider.requests] == [CHAT, "/somewhere/else"]


def test_connect_before_the_request_needs_no_server_at_replay(provider, connection, said, post, twice):
    host = provider.url.removeprefix("http://")

    def ask():
        connection.close()
        connection.auto_open = 0
        connection.connect()
        connection.sock.settimeout(7)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        answers = [said(post(connection, "first")), said(post(connection, "second"))]
        sockets.append((connection.sock.gettimeout(), connection.sock))
        return answers

    sockets = []
    first, again, _ = twice(ask, hosts=[host])
    assert first == again == ["answer 1 to: first", "answer 2 to: second"]
    assert [timeout for timeout, _ in sockets] == [7, 7]
    assert isinstance(sockets[0][1], socket.socket)


def test_without_auto_open_a_connection_must_be_opened(session, connection):
    connection.auto_open = 0
    with session("once"), pytest.raises(http.client.NotConnected):
        connection.request("POST", CHAT, b"{}")


def test_a_subclass_that_overrides_what_is_hooked(provider, said, post, twice):
    class Own(http.client.HTTPConnection):
        def connect(self):
            super().connect()
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            seen.append("connect")

        def putrequest(self, *args, **kwargs):
            super().putrequest(*args, **kwargs)
            self.putheader("X-Own", "1")

        def send(self, data):
            seen.append("send")
            super().send(data)

        def getresponse(self):
            seen.append("getresponse")
            return super().getresponse()

    def ask():
        with closing(Own(provider.url.removeprefix("http://"))) as connection:
            return said(post(connection, "subclass"))

    seen = []
    first, again, running = twice(ask)
    assert first == again
    assert ("X-Own", "1") in running.requests[0].headers
    assert (seen.count("connect"), seen.count("getresponse")) == (1, 2)


def test_a_tunnel_is_an_interaction_with_its_far_end(monkeypatch, twice):
    """The proxy is a socket of the test's own; what comes through the tunnel is not encrypted here."""
    sent = []

    class Proxy:
        def __init__(self, *_):
            self._replies = [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nthrough"]

        def sendall(self, data):
            sent.append(bytes(data))

        def makefile(self, *_):
            return io.BytesIO(self._replies.pop(0))

        def setsockopt(self, *_):
            pass

        def close(self):
            pass

    def ask():
        with closing(http.client.HTTPConnection("proxy.invalid", 3128)) as connection:
            connection._create_connection = Proxy
            connection.set_tunnel("api.example.com", 80)
            connection.request("GET", "/far?end=1")
            return connection.getresponse().read()

    first, again, running = twice(ask)
    assert first == again == b"through"
    assert running.requests[0].url == "http://api.example.com/far?end=1"
    assert [piece.split(b" ")[0] for piece in sent] == [b"CONNECT", b"GET"]


@pytest.mark.parametrize(
    ("make", "path", "url"),
    [
        (lambda: http.client.HTTPSConnection("api.example.com"), "/a?b", "https://api.example.com/a?b"),
        (lambda: http.client.HTTPSConnection("api.example.com", 8443), "", "https://api.example.com:8443/"),
        (lambda: http.client.HTTPConnection("[2001:db8::1]", 80), "/", "http://[2001:db8::1]/"),
        (lambda: http.client.HTTPConnection("proxy.example"), "http://a.example/x#y", "http://a.example/x"),
    ],
    ids=["https", "port", "IPv6", "absolute"],
)
def test_no_connection_is_made_for_what_is_refused(session, monkeypatch, make, path, url):
    def connecting(*args, **kwargs):
        raise AssertionError("connected")

    monkeypatch.setattr(socket, "create_connection", connecting)
    with session("none") as running, running.expect_refusal(), closing(make()) as connection:
        connection.connect()
        raise refused(lambda: connection.request("GET", path))
    assert [request.url for request in running.requests] == [url]


def test_a_loopback_server_that_is_not_up_yet_is_seen_at_connect(provider, session, connection):
    provider.close()
    with session("none"), pytest.raises(ConnectionRefusedError):
        connection.connect()

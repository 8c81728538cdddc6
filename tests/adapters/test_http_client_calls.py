"""http.client: what a connection is used for over its life, and what is left alone."""

from __future__ import annotations

import http.client
import io
import json
import socket
import threading
from contextlib import closing
from dataclasses import replace

import pytest

from onetake.testing.adapter_calls import CHAT, refused
from onetake.testing.provider import openai_chat, openai_stream

JSON = {"Content-Type": "application/json"}
BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


@pytest.fixture
def connection(provider):
    """A connection to the provider, not opened yet."""
    opened = http.client.HTTPConnection(provider.url.removeprefix("http://"))
    yield opened
    opened.close()


def _post(connection, text, **more):
    connection.request("POST", CHAT, json.dumps(BODY | {"messages": [{"role": "user", "content": text}]}), JSON, **more)
    return connection.getresponse()


def _text(response):
    return json.loads(response.read())["choices"][0]["message"]["content"]


def _twice(session, provider, ask, **options):
    """Run *ask* live and then with the provider gone; what it gave both times, and the session that recorded."""
    with session("once", **options) as recording:
        first = ask()
    provider.close()
    with session("none", **options):
        return first, ask(), recording


def test_one_connection_carries_live_replayed_and_untouched_calls(provider, session, connection):
    with session("new_episodes"):
        assert _text(_post(connection, "known")) == "answer 1 to: known"
    sock = connection.sock
    with session("new_episodes") as running:
        assert _text(_post(connection, "known")) == "answer 1 to: known"
        assert _text(_post(connection, "new")) == "answer 2 to: new"
        connection.request("GET", "/somewhere/else")
        connection.getresponse().read()
    assert _text(_post(connection, "known")) == "answer 4 to: known"
    assert (connection.sock, provider.count) == (sock, 4)
    assert (len(running.played), len(running.recorded)) == (1, 1)


def test_after_a_replay_an_untouched_call_connects(provider, session, connection):
    with session("once"):
        _post(connection, "known").read()
    connection.close()
    with session("once"):
        _post(connection, "known").read()
        connection.request("GET", "/somewhere/else")
        assert connection.getresponse().read()
    assert [request.path for request in provider.requests] == [CHAT, "/somewhere/else"]


def test_connect_before_the_request_needs_no_server_at_replay(provider, session, connection):
    host = provider.url.removeprefix("http://")

    def ask():
        connection.close()
        connection.auto_open = 0
        connection.connect()
        connection.sock.settimeout(7)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        answers = [_text(_post(connection, "first")), _text(_post(connection, "second"))]
        sockets.append((connection.sock.gettimeout(), connection.sock))
        return answers

    sockets = []
    first, again, _ = _twice(session, provider, ask, hosts=[host])
    assert first == again == ["answer 1 to: first", "answer 2 to: second"]
    assert [timeout for timeout, _ in sockets] == [7, 7]
    assert isinstance(sockets[0][1], socket.socket)


def test_without_auto_open_a_connection_must_be_opened(session, connection):
    connection.auto_open = 0
    with session("once"), pytest.raises(http.client.NotConnected):
        connection.request("POST", CHAT, b"{}")


def test_calls_out_of_turn_are_the_clients_own_errors(provider, session, connection):
    with session("once") as recording:
        with pytest.raises(http.client.ResponseNotReady):
            connection.getresponse()
        connection.putrequest("POST", CHAT)
        with pytest.raises(http.client.ResponseNotReady):
            connection.getresponse()
        with pytest.raises(http.client.CannotSendRequest):
            connection.putrequest("POST", CHAT)
        connection.close()
        first = _post(connection, "one")
        connection.request("POST", CHAT, json.dumps(BODY), JSON)
        with pytest.raises(http.client.ResponseNotReady):
            connection.getresponse()
        assert _text(first) == "answer 1 to: one"
        assert _text(connection.getresponse()) == "answer 2 to: x"
    assert len(recording.recorded) == 2
    provider.close()
    with session("none"):
        first = _post(connection, "one")
        connection.request("POST", CHAT, json.dumps(BODY), JSON)
        assert (_text(first), _text(connection.getresponse())) == ("answer 1 to: one", "answer 2 to: x")


def test_a_refused_connection_is_an_error_of_the_request(provider, session, connection):
    provider.close()
    with session("once") as recording:
        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                connection.request("POST", CHAT, json.dumps(BODY), JSON)
            connection.close()
    assert (recording.recorded, recording.refusals) == ((), ())


def test_a_server_that_hangs_up_is_an_error_of_the_response(provider, session, connection):
    provider.script([replace(openai_chat("never"), hold=threading.Event()), openai_chat("later")])
    with session("once") as recording:
        connection.request("POST", CHAT, json.dumps(BODY), JSON)
        connection.sock.shutdown(socket.SHUT_RD)
        with pytest.raises(http.client.RemoteDisconnected):
            connection.getresponse()
        connection.request("POST", CHAT, json.dumps(BODY), JSON)
        assert _text(connection.getresponse()) == "later"
    assert [entry.ordinal for entry in recording.recorded] == [0]


def test_a_refusal_leaves_a_connection_that_works(provider, session, connection):
    with session("once"):
        _post(connection, "known").read()
    provider.close()
    with session("none") as running, running.expect_refusal():
        error = refused(lambda: _post(connection, "unknown"))
        assert _text(_post(connection, "known")) == "answer 1 to: known"
        raise error


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_reject_leaves_a_connection_that_works(provider, session, connection, framing):
    bad = replace(openai_chat("x"), pieces=(b'{"not": JSON}',), framing=framing)
    provider.script([bad, openai_chat("good")])
    with session("once") as recording, recording.expect_refusal():
        error = refused(lambda: _post(connection, "one").read())
        assert _text(_post(connection, "two")) == "good"
        raise error
    assert [entry.verdict for entry in recording.rejects] == ["reject:json"]


def test_a_response_that_is_dropped_unread_is_no_answer(provider, session, connection):
    never = threading.Event()
    provider.script([replace(openai_stream("a b c"), hold=never, hold_before=1, framing="close"), openai_chat("next")])
    with session("once") as recording:
        response = _post(connection, "drop me")
        del response
        assert _text(_post(connection, "drop me")) == "next"
    assert [(entry.verdict, entry.ordinal) for entry in recording.recorded] == [("good", 0)]


def test_a_request_whose_response_nobody_fetches_goes_out_and_frees_its_call(provider, session, connection):
    with session("once") as recording:
        connection.request("POST", CHAT, json.dumps(BODY), JSON)
        provider.wait_for(1)
        connection.close()
        assert _text(_post(connection, "x")) == "answer 2 to: x"
    assert [entry.ordinal for entry in recording.recorded] == [0]


def test_a_response_class_of_the_programs_own(provider, session, connection):
    class Own(http.client.HTTPResponse):
        def shout(self):
            return self.read().upper()

    connection.response_class = Own

    def ask():
        response = _post(connection, "shout")
        assert isinstance(response, Own)
        return response.shout()

    first, again, _ = _twice(session, provider, ask)
    assert first == again
    assert b"ANSWER 1 TO: SHOUT" in first


def test_a_subclass_that_overrides_what_is_hooked(provider, session):
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
            return _text(_post(connection, "subclass"))

    seen = []
    first, again, recording = _twice(session, provider, ask)
    assert first == again
    assert ("X-Own", "1") in recording.requests[0].headers
    assert (seen.count("connect"), seen.count("getresponse")) == (1, 2)


def test_debuglevel_prints_what_is_sent_once_and_what_is_replied(provider, session, connection, capsys):
    connection.set_debuglevel(1)
    printed = []
    for mode in ("off", "once", "none"):
        with session(mode):
            _post(connection, "loud").read()
            connection.close()
        printed.append([line.partition(":")[0] for line in capsys.readouterr().out.splitlines()])
    assert printed[0] == printed[1]
    assert (printed[2].count("send"), printed[2].count("reply")) == (0, 1)


def test_a_tunnel_is_an_interaction_with_its_far_end(provider, session, monkeypatch):
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

    first, again, recording = _twice(session, provider, ask)
    assert first == again == b"through"
    assert recording.requests[0].url == "http://api.example.com/far?end=1"
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


@pytest.mark.parametrize("where", ["no session", "ignored", "loopback"])
def test_what_is_none_of_our_business_goes_out_as_it_is(provider, session, connection, where):
    options = {"ignore": [provider.url.removeprefix("http://")]} if where == "ignored" else {}
    path = "/files" if where == "loopback" else CHAT

    def exchange():
        connection.request("POST", path, iter([b"one", b"two"]), JSON | {"Accept-Encoding": "gzip"})
        response = connection.getresponse()
        assert type(response) is http.client.HTTPResponse
        response.read()

    if where == "no session":
        exchange()
    else:
        with session("none", **options) as running:
            exchange()
        assert running.requests == ()
    assert provider.requests[0].body == b"onetwo"
    assert provider.requests[0].header("accept-encoding") == "gzip"


def test_a_loopback_server_that_is_not_up_yet_is_seen_at_connect(provider, session, connection):
    provider.close()
    with session("none"), pytest.raises(ConnectionRefusedError):
        connection.connect()

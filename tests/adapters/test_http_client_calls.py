"""http.client: how calls go and how they end, and what is left alone."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from dataclasses import replace

import pytest

from onetake.testing.adapter_calls import CHAT, refused
from onetake.testing.provider import openai_chat, openai_stream

JSON = {"Content-Type": "application/json"}
BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def test_calls_out_of_turn_are_the_clients_own_errors(provider, session, connection, said, post):
    with session("once") as running:
        with pytest.raises(http.client.ResponseNotReady):
            connection.getresponse()
        connection.putrequest("POST", CHAT)
        with pytest.raises(http.client.ResponseNotReady):
            connection.getresponse()
        with pytest.raises(http.client.CannotSendRequest):
            connection.putrequest("POST", CHAT)
        connection.close()
        first = post(connection, "one")
        connection.request("POST", CHAT, json.dumps(BODY), JSON)
        with pytest.raises(http.client.ResponseNotReady):
            connection.getresponse()
        assert said(first) == "answer 1 to: one"
        assert said(connection.getresponse()) == "answer 2 to: x"
    assert len(running.recorded) == 2
    provider.close()
    with session("none"):
        first = post(connection, "one")
        connection.request("POST", CHAT, json.dumps(BODY), JSON)
        assert (said(first), said(connection.getresponse())) == ("answer 1 to: one", "answer 2 to: x")


def test_a_refused_connection_is_an_error_of_the_request(provider, session, connection):
    provider.close()
    with session("once") as running:
        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                connection.request("POST", CHAT, json.dumps(BODY), JSON)
            connection.close()
    assert (running.recorded, running.refusals) == ((), ())


def test_a_server_that_hangs_up_is_an_error_of_the_response(provider, session, connection, said):
    never = replace(openai_chat("never"), hold=threading.Event())
    # By what is asked: the provider may read the first request after the second.
    provider.script(lambda request: never if "user" in request.json() else openai_chat("later"))
    with session("once") as running:
        connection.request("POST", CHAT, json.dumps({**BODY, "user": "first"}), JSON)
        connection.sock.shutdown(socket.SHUT_RD)
        with pytest.raises(http.client.RemoteDisconnected):
            connection.getresponse()
        connection.request("POST", CHAT, json.dumps(BODY), JSON)
        assert said(connection.getresponse()) == "later"
    assert [entry.ordinal for entry in running.recorded] == [0]


def test_a_refusal_leaves_a_connection_that_works(provider, session, connection, said, post):
    with session("once"):
        post(connection, "known").read()
    provider.close()
    with session("none") as running, running.expect_refusal():
        error = refused(lambda: post(connection, "unknown"))
        assert said(post(connection, "known")) == "answer 1 to: known"
        raise error


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_reject_leaves_a_connection_that_works(provider, session, connection, framing, said, post):
    bad = replace(openai_chat("x"), pieces=(b'{"not": JSON}',), framing=framing)
    provider.script([bad, openai_chat("good")])
    with session("once") as running, running.expect_refusal():
        error = refused(lambda: post(connection, "one").read())
        assert said(post(connection, "two")) == "good"
        raise error
    assert [entry.verdict for entry in running.rejects] == ["reject:json"]


def test_a_response_that_is_dropped_unread_is_no_answer(provider, session, connection, said, post):
    never = threading.Event()
    provider.script([replace(openai_stream("a b c"), hold=never, hold_before=1, framing="close"), openai_chat("next")])
    with session("once") as running:
        response = post(connection, "drop me")
        del response
        assert said(post(connection, "drop me")) == "next"
    assert [(entry.verdict, entry.ordinal) for entry in running.recorded] == [("good", 0)]


def test_what_is_sent_without_a_length_is_part_of_its_request(provider, session, connection, said):
    def ask(*pieces):
        connection.putrequest("POST", CHAT)
        connection.putheader("Content-Type", "application/json")
        connection.endheaders()
        for piece in pieces:
            connection.send(piece)
        return connection.getresponse()

    body = json.dumps(BODY).encode()
    provider.script([openai_chat("live")])
    with session("once") as running:
        first = ask(body[:9], body[9:]).read()
        connection.close()
    assert [entry.request.body for entry in running.recorded] == [body]
    provider.close()
    with session("none") as running, running.expect_refusal():
        assert ask(body).read() == first
        raise refused(lambda: ask(body.replace(b"x", b"another")))


@pytest.mark.parametrize("mode", ["once", "none"])
@pytest.mark.parametrize(("method", "length"), [("POST", "2"), ("DELETE", None)])
def test_what_is_sent_after_the_request_was_whole_is_refused(provider, session, connection, host, mode, method, length):
    def begin():
        connection.putrequest(method, CHAT)
        if length:
            connection.putheader("Content-Length", length)
        connection.endheaders()
        if length:
            connection.send(b"{}")

    provider.script([openai_chat("live")] * 2)
    if mode == "none":
        with session("once", hosts=[host]):
            begin()
            connection.getresponse().read()
    with session(mode, hosts=[host]) as running, running.expect_refusal():
        begin()
        connection.send(b"")
        error = refused(lambda: connection.send(b"more"))
        with pytest.raises(http.client.ResponseNotReady):
            connection.getresponse()
        raise error
    assert "more was sent after the request was whole" in str(error)
    assert running.recorded == ()


def test_a_socket_that_the_program_opened_needs_no_host_before_and_after_a_session(session):
    def ask():
        ours, theirs = socket.socketpair()
        with ours, theirs:
            connection = http.client.HTTPConnection("example.com")
            connection.host, connection.sock = None, ours
            theirs.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            connection.putrequest("GET", "/plain", skip_host=True)
            connection.endheaders()
            assert connection.getresponse().status == 204
            return theirs.recv(4096).split(b"\r\n")[0]

    asked = [ask()]
    with session("once"):
        asked.append(ask())
    asked.append(ask())
    assert asked == [b"GET /plain HTTP/1.1"] * 3


def test_a_connection_that_a_session_left_unconnected_connects_after_it(provider, session, connection, said, post):
    provider.script([openai_chat("live")])
    with session("once", hosts=[provider.url.removeprefix("http://")]):
        connection.connect()
    assert (provider.count, said(post(connection, "x"))) == (0, "live")


def test_a_request_whose_response_nobody_fetches_goes_out_and_frees_its_call(provider, session, connection, said, post):
    with session("once") as running:
        connection.request("POST", CHAT, json.dumps(BODY), JSON)
        provider.wait_for(1)
        connection.close()
        assert said(post(connection, "x")) == "answer 2 to: x"
    assert [entry.ordinal for entry in running.recorded] == [0]


def test_a_response_class_of_the_programs_own(connection, post, twice):
    class Own(http.client.HTTPResponse):
        def shout(self):
            return self.read().upper()

    connection.response_class = Own

    def ask():
        response = post(connection, "shout")
        assert isinstance(response, Own)
        return response.shout()

    first, again, _ = twice(ask)
    assert first == again
    assert b"ANSWER 1 TO: SHOUT" in first


def test_debuglevel_prints_what_is_sent_once_and_what_is_replied(session, connection, capsys, post):
    connection.set_debuglevel(1)
    printed = []
    for mode in ("off", "once", "none"):
        with session(mode):
            post(connection, "loud").read()
            connection.close()
        printed.append([line.partition(":")[0] for line in capsys.readouterr().out.splitlines()])
    assert printed[0] == printed[1]
    assert (printed[2].count("send"), printed[2].count("reply")) == (0, 1)


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

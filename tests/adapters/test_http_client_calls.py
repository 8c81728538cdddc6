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
    provider.script([replace(openai_chat("never"), hold=threading.Event()), openai_chat("later")])
    with session("once") as running:
        connection.request("POST", CHAT, json.dumps(BODY), JSON)
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

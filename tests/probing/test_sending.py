"""One request over the wire: as it is stored, to where it goes and no further."""

from __future__ import annotations

import json
import socket
import threading
from dataclasses import replace

import pytest

import onetake
from onetake.model import Cut, Request
from onetake.probing.sending import NoAnswerError, send
from onetake.testing.provider import Reply, json_reply, openai_chat, openai_stream

BODY = b'{"model": "m",  "temperature": 0, "top_p": 0.50}'
JSON = (("content-type", "application/json"),)


def asked(provider, path="/v1/chat/completions", headers=JSON, body=BODY):
    return Request("POST", provider.url + path, headers, body)


def test_br_182_the_stored_request_is_sent_as_it_is(provider):
    provider.script(
        lambda request: None if json.loads(request.body).keys() == {"model", "temperature", "top_p"} else Reply(400)
    )
    headers = (("anthropic-beta", "a"), ("Anthropic-Beta", "b"), *JSON)
    send(asked(provider, "/v1/chat/completions?b=%2F&a=1", headers), (), 5)
    (got,) = provider.requests
    assert (got.method, got.path, got.body) == ("POST", "/v1/chat/completions?b=%2F&a=1", BODY)
    sent = [(name.lower(), value) for name, value in got.headers]
    assert [pair for pair in sent if pair[0] == "anthropic-beta"] == [("anthropic-beta", "a"), ("anthropic-beta", "b")]
    assert {name for name, _ in sent} == {
        "host", "anthropic-beta", "content-type", "user-agent", "accept-encoding", "content-length"
    }  # fmt: skip


def test_what_an_entry_says_of_host_length_and_credentials_is_not_sent(provider):
    own = (("Host", "evil.example"), ("Content-Length", "1"), ("Transfer-Encoding", "chunked"))
    secrets = (("Authorization", "Bearer stored"), ("Cookie", "a=b"), ("x-acme-token", "t"))
    send(asked(provider, headers=(*own, *secrets, *JSON)), (("x-api-key", "mine"),), 5)
    sent = [(name.lower(), value) for name, value in provider.requests[0].headers]
    assert ("x-api-key", "mine") in sent
    assert ("host", provider.url.removeprefix("http://")) in sent
    assert not {"authorization", "cookie", "x-acme-token", "transfer-encoding"} & {name for name, _ in sent}


def test_no_redirect_is_followed(provider):
    provider.script(lambda request: Reply(307, (("location", "http://127.0.0.1:9/elsewhere"),)))
    assert send(asked(provider), (("authorization", "Bearer k"),), 5).response.status == 307
    assert provider.count == 1


def test_the_answer_is_what_came_with_its_times(provider):
    provider.script([openai_stream(["a", "b"])])
    answered = send(asked(provider), (), 5)
    assert answered.response.cut is Cut.NO
    assert answered.response.body.rstrip().endswith(b"[DONE]")
    assert 0 <= answered.first_byte_ms <= answered.latency_ms


def test_an_error_status_is_an_answer(provider):
    provider.script([json_reply({"error": {"message": "no"}}, status=401)])
    assert send(asked(provider), (), 5).response.status == 401


def test_nobody_there_is_no_answer():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(NoAnswerError, match="ConnectionRefusedError"):
        send(Request("POST", f"http://127.0.0.1:{port}/v1/chat/completions", JSON, b"{}"), (), 5)


def test_silence_is_no_answer():
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(NoAnswerError, match=r"no whole answer within 0\.05 s"),
    ):
        send(Request("POST", f"http://127.0.0.1:{silent.getsockname()[1]}/v1/x", JSON, b"{}"), (), 0.05)


def test_half_a_body_is_no_answer(provider):
    provider.script([replace(openai_chat("long enough"), cut_after=10)])
    with pytest.raises(NoAnswerError, match="broke after 10 of"):
        send(asked(provider), (), 5)


@pytest.mark.parametrize(("framing", "cut"), [("chunked", Cut.NO), ("length", Cut.NO), ("close", Cut.PROVIDER)])
def test_a_stream_without_its_last_event_is_cut_where_nobody_said_that_this_was_all(provider, framing, cut):
    pieces = (b'data: {"choices": [{"delta": {}}]}\n\n',)
    provider.script([Reply(200, (("content-type", "text/event-stream"),), pieces, framing)])
    assert send(asked(provider), (), 5).response.cut is cut


def test_no_header_brings_another_one_in(provider):
    with pytest.raises(NoAnswerError, match="ValueError"):
        send(asked(provider, headers=(("x-a", "b\r\nx-injected: c"),)), (), 5)
    assert provider.count == 0


def test_no_session_sees_it(provider, tmp_path):
    with onetake.use_cassette(tmp_path / "a", mode="new_episodes") as session:
        send(asked(provider), (), 5)
    assert (session.requests, session.recorded, provider.count) == ((), (), 1)


def test_the_proxy_of_the_environment_is_asked_for_a_tunnel_and_sees_no_credential(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        seen = []

        def refuse():
            connection, _ = listener.accept()
            with connection:
                seen.append(connection.recv(65536).decode())
                connection.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        monkeypatch.setenv("https_proxy", f"http://me:word@127.0.0.1:{listener.getsockname()[1]}")
        request = Request("POST", "https://api.openai.com/v1/chat/completions", JSON, BODY)
        with pytest.raises(NoAnswerError, match="403 Forbidden"):
            send(request, (("authorization", "Bearer sk-mine"),), 5)
        thread.join()
    assert seen[0].startswith("CONNECT api.openai.com:443 HTTP/1")
    assert "Proxy-Authorization: Basic bWU6d29yZA==" in seen[0]
    assert "sk-mine" not in seen[0]


def test_this_machine_is_asked_without_a_proxy(provider, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert send(asked(provider), (), 5).response.status == 200


HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n"


@pytest.mark.parametrize("dribble", [b"HTTP/1.1 200 OK\r\nx-slow: ", HEAD + b"\r\n", HEAD + b"\r\n5;"])
def test_what_trickles_in_is_no_answer_wherever_it_does(dribble):
    ended = threading.Event()

    def trickle(listener):
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(dribble)
            while not ended.wait(0.02):  # each byte well within the limit
                try:
                    connection.sendall(b"0")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=trickle, args=(listener,))
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/x"
        giving_up = threading.Timer(5, ended.set)  # without a deadline this would never end
        giving_up.start()
        try:
            with pytest.raises(NoAnswerError, match=r"no whole answer within 0\.1 s"):
                send(Request("POST", url, JSON, b"{}"), (), 0.1)
        finally:
            giving_up.cancel()
            ended.set()
            thread.join()


@pytest.mark.parametrize("name", ["Host ", "Content-Length ", "Transfer-Encoding\t", "", "x y", "\u0663"])
def test_a_name_that_another_server_may_read_otherwise_is_not_sent(provider, name):
    with pytest.raises(NoAnswerError, match="the name of a header is none"):
        send(asked(provider, headers=(*JSON, (name, "3"))), (("authorization", "Bearer k"),), 5)
    assert provider.count == 0


@pytest.mark.parametrize(
    "proxy",
    [
        "https://bob:hunter2@127.0.0.1:{port}",
        "socks5://bob:hunter2@127.0.0.1:{port}",
        "http://bob:hunt/er2@127.0.0.1:{port}",
        "http://bob:hunter2@127.0.0.1:hunter2",
        "http://[hunter2",
    ],
)
@pytest.mark.parametrize("variable", ["https_proxy", "all_proxy"])
def test_a_proxy_that_is_spoken_to_otherwise_is_refused_and_not_quoted(monkeypatch, proxy, variable):
    for name in ("https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        monkeypatch.setenv(variable, proxy.format(port=listener.getsockname()[1]))
        with pytest.raises(NoAnswerError, match=f"{variable.upper()} names no proxy") as refused:
            send(Request("POST", "https://api.openai.com/v1/x", JSON, BODY), (("authorization", "Bearer k"),), 5)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert "hunt" not in f"{refused.value}{refused.value.__cause__}"

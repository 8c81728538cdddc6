"""urllib3: the conformance suite, its kinds of bodies, and its ways to read a response."""

from __future__ import annotations

import gc
import io
import json
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest
import urllib3

from onetake import active
from onetake.errors import InteractionNotFound
from onetake.testing import AdapterConformance, Answer
from onetake.testing.provider import bytes_reply, openai_chat, openai_stream

_JSON = {"content-type": "application/json"}
_KNOWN = [name for name in ("gzip", "deflate", "br", "zstd") if name in urllib3.HTTPResponse.CONTENT_DECODERS]


class TestUrllib3(AdapterConformance):
    read_error = urllib3.exceptions.ProtocolError
    encodings = _KNOWN

    def send(self, method, url, *, headers, body):
        with urllib3.PoolManager() as client:
            response = client.request(method, url, headers=dict(headers), body=body)
            return Answer(response.status, tuple(response.headers.items()), response.data)

    @contextmanager
    def stream(self, method, url, *, headers, body):
        with (
            urllib3.PoolManager() as client,
            client.request(method, url, headers=dict(headers), body=body, preload_content=False) as response,
        ):
            yield response.stream()


@pytest.fixture
def client():
    """A pool manager that retries nothing."""
    with urllib3.PoolManager(retries=False) as opened:
        yield opened


@pytest.fixture
def post(client, url, body):
    """Ask a question: `post(text, **options of the request)`."""

    def asked(text, *, stream=False, **options):
        content = json.dumps(body(text, stream=stream)).encode()
        return client.request("POST", url, body=content, headers=_JSON, **options)

    return asked


_WHOLE = b'{"messages": [{"role": "user", "content": "\xc3\xa4"}]}'
_BODIES = {
    "bytes": lambda: _WHOLE,
    "bytearray": lambda: bytearray(_WHOLE),
    "memoryview": lambda: memoryview(_WHOLE),
    "text": _WHOLE.decode,
    "file": lambda: io.BytesIO(_WHOLE),
    "text file": lambda: io.StringIO(_WHOLE.decode()),
    "generator": lambda: (_WHOLE[at : at + 7] for at in range(0, len(_WHOLE), 7)),
    "list": lambda: [_WHOLE[:9], _WHOLE[9:]],
}


@pytest.mark.parametrize("make", _BODIES.values(), ids=_BODIES.keys())
def test_br_040_br_077_a_body_of_any_kind_is_read_once_and_sent_as_it_was(make, client, url, provider, session):
    def ask():
        return client.request("POST", url, body=make(), headers=_JSON).data

    ask()
    with session("once") as opened:
        first = ask()
    bare, seen = provider.requests
    assert seen.body == bare.body
    if seen.body != _WHOLE:
        pytest.skip("this urllib3 sends text as latin-1, which the provider refuses")
    assert sorted(dict(seen.headers)) == sorted(dict(bare.headers)), "framed as without us"
    assert opened.recorded[0].request.body == _WHOLE
    provider.close()
    with session("none"):
        assert ask() == first


def test_a_file_is_read_from_where_it_stands_or_from_body_pos(url, provider, session):
    pool = urllib3.connection_from_url(provider.url)
    for position, start in ((None, 4), (2, 2)):
        file = io.BytesIO(b"1234" + _WHOLE)
        file.seek(4)
        with session("once", f"from {start}"):
            pool.urlopen("POST", "/v1/chat/completions", body=file, headers=_JSON, body_pos=position)
        assert provider.requests[-1].body == (b"1234" + _WHOLE)[start:]


def test_what_is_no_body_is_urllib3s_own_error(client, url, session):
    with session("once") as opened, pytest.raises(TypeError):
        client.request("POST", url, body=7)
    assert opened.requests == ()


_WAYS = {
    "stream": lambda response: b"".join(response.stream()),
    "stream(7)": lambda response: b"".join(response.stream(7)),
    "stream(None)": lambda response: b"".join(response.stream(None)),
    "read": lambda response: response.read(),
    "read(10)": lambda response: b"".join(iter(lambda: response.read(10), b"")),
    "read1": lambda response: b"".join(iter(lambda: response.read1(10), b"")),
    "readinto": lambda response: io.BufferedReader(response).read(),
    "lines": b"".join,
    "data": lambda response: response.data,
    "read_chunked": lambda response: b"".join(response.read_chunked()),
    "drain": lambda response: response.drain_conn() or b"",
}


@pytest.mark.parametrize("kind", ["whole", "stream", "gzip"])
@pytest.mark.parametrize("way", _WAYS)
def test_br_052_br_066_br_073_every_way_to_read_and_one_connection_for_all(way, kind, client, post, provider, session):
    if way == "read1" and not hasattr(urllib3.HTTPResponse, "read1"):
        pytest.skip("this urllib3 has no read1")
    if way == "read_chunked" and kind != "stream":
        pytest.skip("the body is not chunked")
    reply = openai_stream("one two three") if kind == "stream" else openai_chat("one two three")
    reply = replace(reply, encoding="gzip") if kind == "gzip" else reply
    provider.script([reply] * 3)

    def read():
        response = post("tell", stream=kind == "stream", preload_content=False)
        content = _WAYS[way](response)
        response.release_conn()
        return content

    bare = read()
    with session("once") as opened:
        first = [read(), read()]
    assert first == [bare, bare]
    assert [entry.verdict for entry in opened.recorded] == ["good", "good"]
    assert [entry.response.body for entry in opened.recorded] == [reply.body] * 2
    pool = client.connection_from_url(provider.url)
    assert (pool.num_connections, pool.num_requests) == (1, 3), "the connection went back each time"
    provider.close()
    with session("none") as opened:
        assert [read(), read()] == first
    assert len(opened.played) == 2


def test_br_073_br_079_a_replay_has_what_newer_clients_read(post, url, provider, session):
    with session("once"):
        post("all of it")
    provider.close()
    with session("none"):
        response = post("all of it", preload_content=False)
    assert isinstance(response, urllib3.HTTPResponse)
    assert (response.status, response.reason, response.version) == (200, "OK", 11)
    assert getattr(response, "version_string", "HTTP/1.1") == "HTTP/1.1", "the HTTP version is not kept"
    assert response.geturl() == "/v1/chat/completions"
    assert response.headers.get("Content-Type") == response.getheader("content-type") == "application/json"
    assert response.info() is response.headers
    assert response.retries is not None
    assert (response.connection, response.closed, response.isclosed(), response.tell()) == (None, False, False, 0)
    assert response.readable()
    assert json.loads(response.data)["object"] == "chat.completion"
    assert response.closed
    response.drain_conn()
    response.release_conn()
    response.close()


def test_a_live_response_still_holds_its_connection(client, post, provider, session):
    with session("once"):
        response = post("hold on", preload_content=False)
        assert response.connection is not None
        assert isinstance(response.fileno(), int)
        response.read()
        assert response.connection is None


def test_a_body_that_its_caller_gives_back_unread(post, provider, session):
    provider.script([replace(openai_stream("one two"), hold=threading.Event(), hold_before=1)])
    with session("once") as opened:
        post("never mind", stream=True, preload_content=False).release_conn()
    assert [entry.verdict for entry in opened.recorded] == ["left:0"]


def test_a_body_that_nobody_holds_frees_its_ordinal(post, provider, session):
    reply = openai_stream("one two")
    provider.script([replace(reply, hold=threading.Event(), hold_before=1), reply])
    with session("once") as opened:
        post("drop it", stream=True, preload_content=False)
        gc.collect()
        assert opened.recorded == ()
        assert post("drop it", stream=True).data == reply.body
    assert [(entry.verdict, entry.ordinal) for entry in opened.recorded] == [("good", 0)]


def test_a_timeout_while_reading_is_urllib3s_own_error(post, provider, session):
    provider.script([replace(openai_stream("one two"), hold=threading.Event(), hold_before=1)])
    with session("once") as opened, pytest.raises(urllib3.exceptions.ReadTimeoutError):
        post("slow", stream=True, timeout=0.2)
    assert opened.recorded == ()


def test_identity_is_asked_for_and_the_callers_headers_stay(client, url, provider, session):
    signed = "AWS4-HMAC-SHA256 Credential=x, SignedHeaders=accept-encoding;host, Signature=y"
    for headers, sent in (
        ({}, "identity"),
        ({"Accept-Encoding": "gzip, br"}, "identity"),
        ({b"accept-encoding": b"gzip"}, "identity"),
        ({"Accept-Encoding": "gzip", "Authorization": signed}, "gzip"),
    ):
        before = dict(headers)
        with session("once", f"sent {len(provider.requests)}"):
            client.request("POST", url, body=b'{"messages": []}', headers=headers)
        assert headers == before
        assert {name.lower(): value for name, value in provider.requests[-1].headers}["accept-encoding"] == sent


class _Botocores(urllib3.HTTPConnectionPool):
    """As botocore's pools are: it asks for the bytes as they come, and undoes nothing afterwards."""


_Botocores.__module__ = "botocore.awsrequest"


@pytest.mark.parametrize(
    ("kind", "preload", "undone"),
    [(urllib3.HTTPConnectionPool, True, False), (urllib3.HTTPConnectionPool, False, True), (_Botocores, False, False)],
)
def test_br_070_what_is_undone_hangs_on_who_reads(kind, preload, undone, provider, session):
    provider.script([replace(bytes_reply(b"small " * 20, "text/plain"), encoding="gzip")])
    host = provider.url.removeprefix("http://")
    pool = kind("127.0.0.1", int(provider.url.rpartition(":")[2]))

    def ask():
        options = {"preload_content": preload, "decode_content": False, "retries": False}
        response = pool.urlopen("GET", "/text", **options)
        return response.data if preload else response.read(decode_content=undone)

    with session("once", hosts=[host]) as opened:
        first = ask()
    assert opened.recorded[0].response.decoded == ("gzip" if undone else "")
    provider.close()
    with session("none", hosts=[host]):
        assert ask() == first


def test_br_072_a_length_that_nobody_checks(provider, session):
    """botocore asks urllib3 not to check: a short body is refused by us, and a kept one ends as urllib3 ends a cut."""
    pool = urllib3.connection_from_url(provider.url)

    def ask():
        options = {"headers": _JSON, "preload_content": False, "enforce_content_length": False}
        response = pool.urlopen("POST", "/v1/chat/completions", b'{"messages": []}', **options)
        return b"".join(response.stream(7))

    provider.script([replace(openai_chat("cut off here"), cut_after=40)] * 2)
    with session("once") as opened, opened.expect_refusal():
        ask()
    assert [entry.verdict for entry in opened.rejects] == ["reject:cut"]
    with session("once", keep=["cut"]):
        assert len(ask()) == 40
    with session("none", keep=["cut"]), pytest.raises(urllib3.exceptions.ProtocolError):
        ask()


def test_headers_that_come_twice_pass_as_they_came(post, provider, session):
    twice = (("set-cookie", "a=1"), ("Set-Cookie", "b=2"), ("content-type", "application/json"))
    provider.script([replace(openai_chat("crumbs"), headers=twice)])
    with session("once"):
        response = post("cookies?")
    assert response.headers.getlist("set-cookie") == ["a=1", "b=2"]


def test_a_client_below_a_call_that_is_under_way_is_left_alone(post, provider, session):
    with session("once") as opened, active.inside():
        post("somebody else's call")
    assert (opened.requests, provider.count) == ((), 1)


def test_br_061_a_refusal_in_the_middle_names_the_call(post, provider, session):
    provider.script([openai_stream("one two three", ending="cut")])
    with session("once") as opened, opened.expect_refusal():
        post("half", stream=True)
    with session("none") as opened, opened.expect_refusal():
        post("half", stream=True)
    assert isinstance(opened.refusals[0], InteractionNotFound)

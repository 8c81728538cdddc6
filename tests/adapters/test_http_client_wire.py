"""The bytes that http.client sends, read back; and the chunked coding."""

from __future__ import annotations

import http.client
import io

import pytest

from onetake.adapters.http_client_wire import Chunked, Outgoing, url_of


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_the_chunked_coding_is_undone_at_any_borders(size):
    sent = b"5;note=x\r\nhello\r\nA\r\n, my world\r\n0\r\nTrailing: yes\r\n\r\nafter"
    chunked = Chunked()
    body = b"".join(chunked.feed(sent[at : at + size]) for at in range(0, len(sent), size))
    assert (body, chunked.ended, chunked.broken) == (b"hello, my world", True, False)


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(
    ("sent", "body"),
    [(b"plain\r\n", b""), (b"2\r\nhi\r\n-5\r\n", b"hi"), (b"2\r\nhi\r\n\r\n", b"hi")],
    ids=["no number", "below nothing", "no size"],
)
def test_what_is_not_chunked_is_found_out(sent, body, size):
    chunked = Chunked()
    assert b"".join(chunked.feed(sent[at : at + size]) for at in range(0, len(sent), size)) == body
    assert (chunked.ended, chunked.broken) == (False, True)


@pytest.mark.parametrize("before", [b"", b"1\r\na\r\n0\r\n"], ids=["size", "trailer"])
def test_a_line_that_is_too_long_for_the_client_is_not_chunked(before):
    chunked = Chunked()
    chunked.feed(before + b"0" * 65536)
    assert not chunked.broken
    chunked.feed(b"0")
    assert (chunked.ended, chunked.broken) == (False, True)


def test_any_two_bytes_are_the_line_end_after_a_chunk_as_they_are_for_the_client():
    chunked = Chunked()
    assert chunked.feed(b"2\r\nhi..3\r\nyou\r\n0\r\n\r\n") == b"hiyou"
    assert chunked.ended


@pytest.mark.parametrize(("method", "whole"), [("GET", True), ("DELETE", True), ("POST", False), ("put", False)])
def test_without_a_length_a_request_is_whole_with_its_head_where_no_body_is_due(method, whole):
    outgoing = Outgoing(method, "http://example.com/")
    outgoing.add(b"GET / HTTP/1.1\r\n\r\n", 8192)
    assert outgoing.whole is whole


@pytest.mark.parametrize(
    ("head", "body", "whole_before", "taken"),
    [
        (b"Content-Length: 6\r\n", (b"abc", b"def"), False, b"abcdef"),
        (b"Transfer-Encoding: chunked\r\n", (b"3\r\nabc\r\n", b"0\r\n\r\n"), False, b"abc"),
        (b"Transfer-Encoding: chunked\r\n", (b"3\r\nab", b"c\r\n"), False, b"3\r\nabc\r\n"),
        (b"Transfer-Encoding: chunked\r\n", (b"0\r\n\r\n", b"more"), False, b"0\r\n\r\nmore"),
        (b"", (b"no length", b" told"), False, b"no length told"),
        (b"Content-Length: many\r\n", (b"odd", b""), False, b"odd"),
    ],
    ids=["length", "chunked", "chunked and not ended", "more behind the end", "no length", "no number"],
)
def test_a_request_is_whole_when_what_its_head_announces_was_sent(head, body, whole_before, taken):
    outgoing = Outgoing("post", "http://example.com/v1#part")
    assert (outgoing.begun, outgoing.whole) == (False, False)
    outgoing.add(b"POST /v1 HTTP/1.1\r\nHost: exam", 8192)
    assert (outgoing.begun, outgoing.whole) == (True, False)
    outgoing.add(b"ple.com\r\n" + head + b"\r\n", 8192)
    assert outgoing.whole is whole_before
    for piece in body:
        outgoing.add(piece, 8192)
    assert outgoing.whole is (taken == b"abc" or taken == b"abcdef" or taken.startswith(b"0"))
    assert outgoing.sent == sum(map(len, body))
    request = outgoing.request()
    assert (request.method, request.url, request.body) == ("POST", "http://example.com/v1", taken)
    assert request.headers[0] == ("Host", "example.com")


@pytest.mark.parametrize(
    ("data", "pieces"),
    [
        (memoryview(b"view"), [b"view"]),
        (io.BytesIO(b"a file"), [b"a f", b"ile"]),
        (io.StringIO("t\u00e9xt"), [b"t\xe9x", b"t"]),
        ([b"a", bytearray(b"list")], [b"a", b"list"]),
    ],
    ids=["memoryview", "file", "text file", "list"],
)
def test_what_is_sent_is_taken_in_pieces(data, pieces):
    outgoing = Outgoing("POST", "http://example.com/")
    outgoing.add(data, 3)
    assert outgoing.wire() == pieces


def test_what_cannot_be_sent_is_said_in_the_clients_words():
    with pytest.raises(TypeError, match="data should be a bytes-like object or an iterable, got <class 'int'>"):
        Outgoing("POST", "http://example.com/").add(7, 8192)


def test_the_wire_asks_for_identity_and_the_request_keeps_what_was_asked():
    outgoing = Outgoing("GET", "http://example.com/")
    outgoing.add(b"GET / HTTP/1.1\r\naccept-encoding: gzip, br\r\nX-Two: one\r\n\ttwo\r\n\r\naccept-encoding: x", 8192)
    sent = b"GET / HTTP/1.1\r\nAccept-Encoding: identity\r\nX-Two: one\r\n\ttwo\r\n\r\naccept-encoding: x"
    assert outgoing.wire() == [sent]
    assert outgoing.request().headers == (("accept-encoding", "gzip, br"), ("X-Two", "one two"))
    assert outgoing.request().body == b"accept-encoding: x"


def _without_a_host():
    connection = http.client.HTTPConnection("example.com")
    connection.host = None
    return connection


@pytest.mark.parametrize(
    ("connection", "path", "url"),
    [
        (http.client.HTTPConnection("example.com"), "/v1?a=b", "http://example.com/v1?a=b"),
        (http.client.HTTPConnection("example.com", 8080), "v1", "http://example.com:8080/v1"),
        (http.client.HTTPSConnection("::1", 443), "", "https://[::1]/"),
        (_without_a_host(), "/v1", "http:///v1"),
        (http.client.HTTPConnection("proxy.example"), "HTTP://far.example/", "HTTP://far.example/"),
    ],
)
def test_the_url_of_a_request(connection, path, url):
    assert url_of(connection, path) == url


def test_the_url_through_a_tunnel_is_that_of_its_far_end():
    connection = http.client.HTTPSConnection("proxy.example", 3128)
    connection.set_tunnel("far.example", 8443)
    assert url_of(connection, "/v1") == "https://far.example:8443/v1"

"""http.client: bodies of every form, every way to read, and every way in which one breaks off."""

from __future__ import annotations

import http.client
import io
import json
from contextlib import closing
from dataclasses import replace

import pytest

from onetake import codings
from onetake.testing.adapter_calls import CHAT, refused
from onetake.testing.provider import openai_chat, openai_stream

JSON = {"Content-Type": "application/json"}
BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def _read_into(response):
    body, buffer = b"", bytearray(11)
    while count := response.readinto(buffer):
        body += buffer[:count]
    return body


WAYS = {
    "read": lambda response: response.read(),
    "read by size": lambda response: b"".join(iter(lambda: response.read(7), b"")),
    "read1": lambda response: b"".join(iter(response.read1, b"")),
    "read1 by size": lambda response: b"".join(iter(lambda: response.read1(5), b"")),
    "readinto": _read_into,
    "readline": lambda response: b"".join(iter(response.readline, b"")),
    "short lines": lambda response: b"".join(iter(lambda: response.readline(4), b"")),
    "iteration": b"".join,
    "readlines": lambda response: b"".join(response.readlines()),
    "peek and read": lambda response: response.peek()[:0] + response.read(3) + response.read(),
    "text": lambda response: io.TextIOWrapper(response, "utf-8", newline="").read().encode(),
    "buffered": lambda response: io.BufferedReader(response, 16).read(),
}


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_br_052_every_way_to_read_counts_once(provider, way, framing, post, twice):
    reply = replace(openai_stream("one two"), framing=framing)
    provider.script([reply])

    def ask():
        connection = http.client.HTTPConnection(provider.url.removeprefix("http://"))
        with closing(connection), post(connection, "read me") as response:
            return way(response)

    first, again, running = twice(ask)
    assert first == again == reply.body
    assert [(e.verdict, e.response.body) for e in running.recorded] == [("good", reply.body)]


FORMS = {
    "bytes": lambda body: body,
    "str": lambda body: body.decode(),
    "bytearray": bytearray,
    "memoryview": memoryview,
    "file": io.BytesIO,
    "text file": lambda body: io.StringIO(body.decode()),
    "iterator": lambda body: iter([body[:3], body[3:]]),
    "list": lambda body: [body[:9], b"", body[9:]],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_br_077_bodies_of_every_form_are_stored_whole(provider, connection, form, said, twice):
    body = json.dumps(BODY).encode()

    def ask():
        connection.request("POST", CHAT, form(body), JSON)
        return said(connection.getresponse())

    first, again, running = twice(ask)
    assert first == again
    assert running.recorded[0].request.body == provider.requests[0].body == body


def test_a_body_that_is_sent_in_pieces(provider, connection, said, twice):
    body = json.dumps(BODY).encode()

    def ask(text="x"):
        connection.putrequest("POST", CHAT)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("X-Two", "one", "two")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        connection.send(body[:10])
        connection.send(io.BytesIO(body[10:20]))
        connection.send([body[20:30], body[30:]])
        return said(connection.getresponse())

    first, again, running = twice(ask)
    assert first == again
    assert running.requests[0].body == provider.requests[0].body == body
    assert ("X-Two", "one two") in running.requests[0].headers


def test_a_chunked_body_that_its_program_codes_itself(provider, connection, said, twice):
    body = json.dumps(BODY).encode()

    def ask():
        connection.putrequest("POST", CHAT)
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        connection.send(b"%x;note=1\r\n%b\r\n" % (10, body[:10]))
        connection.send(b"%x\r\n%b\r\n0\r" % (len(body) - 10, body[10:]))
        connection.send(b"\nTrailing: yes\r\n\r\n")
        return said(connection.getresponse())

    first, again, running = twice(ask)
    assert first == again
    assert running.requests[0].body == provider.requests[0].body == body


def test_what_cannot_be_sent_is_the_clients_own_error(session, connection):
    for mode in ("off", "once"):
        with session(mode):
            with pytest.raises(TypeError, match="data should be a bytes-like object or an iterable"):
                connection.putrequest("POST", CHAT)
                connection.putheader("Content-Length", "3")
                connection.endheaders()
                connection.send(7)
            connection.close()


def test_br_063_the_ways_in_which_a_short_body_shows(provider, session, connection, post):
    """`read()` says so; reading by size is silent in http.client, and there our refusal is what says it."""
    short = replace(openai_chat("a body cut short"), cut_after=20)
    provider.script([short, short, replace(short, framing="chunked")])
    with session("once") as running, running.expect_refusal():
        with pytest.raises(http.client.IncompleteRead):
            post(connection, "all").read()
        connection.close()
        response = post(connection, "by size")
        error = refused(lambda: b"".join(iter(lambda: response.read(5), b"")))
        connection.close()
        with pytest.raises(http.client.IncompleteRead):
            post(connection, "chunked").read()
        raise error
    assert [entry.verdict for entry in running.rejects] == ["reject:cut"] * 3


def test_br_063_lines_of_a_chunked_body_that_breaks_off_are_no_silent_end(provider, session, connection, post):
    """http.client's own iteration takes a chunked body that breaks off between chunks as ended; here it says so."""
    broken = replace(openai_chat("a body cut short"), cut_after=20, framing="chunked")
    provider.script([broken, broken])
    with session("once") as running:
        for text in ("rejected", "again"):
            with pytest.raises(http.client.IncompleteRead):
                b"".join(post(connection, text))
            connection.close()
    assert [entry.verdict for entry in running.rejects] == ["reject:cut"] * 2


def _raw_chunks(reply, then):
    """An answer without its last chunk, but with what is given here, whatever is wrong with it."""
    raw = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in reply.pieces)
    headers = (*reply.headers, ("Transfer-Encoding", "chunked"))
    return replace(reply, headers=headers, pieces=(raw + then,), framing="close")


def _first_event():
    stream = openai_stream("a b c")
    return replace(stream, pieces=stream.pieces[:1])


READS = {
    "read": lambda response: response.read(),
    "by size": lambda response: b"".join(iter(lambda: response.read(7), b"")),
    "read1": lambda response: b"".join(iter(lambda: response.read1(7), b"")),
    "lines": b"".join,
}


@pytest.mark.parametrize("way", READS.values(), ids=READS.keys())
@pytest.mark.parametrize("bad", [b"zz\r\n", b"\r\n", b"1" * 70000 + b"\r\n"], ids=["no size", "empty", "long"])
def test_a_stream_whose_chunks_the_provider_broke_is_cut_and_no_entry(provider, session, connection, post, way, bad):
    provider.script([_raw_chunks(_first_event(), bad)] * 2)
    with session("once") as running:
        for _ in range(2):
            with pytest.raises(http.client.HTTPException):
                way(post(connection, "broken"))
            connection.close()
    assert (running.recorded, [entry.verdict for entry in running.rejects]) == ((), ["reject:cut"] * 2)


def test_a_kept_stream_whose_chunks_the_provider_broke_raises_again(provider, connection, post, twice):
    broken = _first_event()
    provider.script([_raw_chunks(broken, b"zz\r\n")])

    def ask():
        response, got = post(connection, "broken"), b""
        with pytest.raises(http.client.IncompleteRead):
            while True:
                got += response.read1(7)
        return got

    first, again, running = twice(ask, keep=["cut"])
    assert first == again == broken.body
    assert [entry.verdict for entry in running.recorded] == ["kept:cut"]


@pytest.mark.parametrize("then", [b"", b"zz\r\n"], ids=["no last chunk", "no size"])
@pytest.mark.parametrize("end", [b"\n\n", b""], ids=["last line", "no line end"])
def test_lines_of_a_stream_that_is_complete_end_as_they_do_without_us(provider, session, connection, post, then, end):
    stream = openai_stream("a b c")
    whole = replace(stream, pieces=(stream.body.rstrip() + end,))
    provider.script([_raw_chunks(whole, then)] * 2)
    got = []
    for mode in ("off", "once", "none"):
        with session(mode) as running:
            got.append(b"".join(post(connection, "complete")))
        connection.close()
    assert got == [whole.body] * 3
    assert [entry.verdict for entry in running.entries] == ["good"]


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_an_encoded_answer_is_stored_as_it_came_and_judged_by_its_content(
    provider, connection, post, twice, framing, encoding
):
    packed = openai_chat("packed")
    provider.script([replace(packed, framing=framing, encoding=encoding)])

    def ask():
        response = post(connection, "pack it")
        return response.getheader("content-encoding"), response.read()

    first, again, running = twice(ask)
    assert first == again
    assert codings.undo(first[1], first[0]) == packed.body
    (entry,) = running.recorded
    assert (entry.verdict, entry.answer.choices[0].text, entry.response.body) == ("good", "packed", first[1])


def test_an_encoded_answer_that_is_no_json_is_refused_for_its_content(provider, session, connection, post):
    provider.script([replace(openai_chat("x"), pieces=(b'{"not": JSON}',), encoding="gzip")])
    with session("once") as running, running.expect_refusal():
        raise refused(lambda: post(connection, "one").read())
    assert "JSON}" in running.rejects[0].violations[0].found


def test_br_060_a_kept_short_body_is_as_loud_and_as_silent_as_it_was(provider, connection, post, twice):
    provider.script([replace(openai_chat("a body cut short"), cut_after=20)] * 2)

    def ask():
        connection.close()
        with pytest.raises(http.client.IncompleteRead) as raised:
            post(connection, "all").read()
        connection.close()
        response = post(connection, "by size")
        return raised.value.partial, b"".join(iter(lambda: response.read(5), b""))

    first, again, _ = twice(ask, keep=["cut"])
    assert first == again
    assert len(first[0]) == len(first[1]) == 20


def test_accept_encoding_is_changed_on_the_wire_only(provider, session, connection):
    with session("once") as running:
        connection.request("POST", CHAT, json.dumps(BODY), JSON | {"Accept-Encoding": "gzip, br"})
        connection.getresponse().read()
    assert provider.requests[0].header("accept-encoding") == "identity"
    assert ("Accept-Encoding", "gzip, br") in running.requests[0].headers

"""The responses that callers of urllib3 get."""

from __future__ import annotations

import pytest
import urllib3

from onetake.adapters.urllib3_answers import Head, answer
from onetake.adapters.urllib3_streams import Held
from onetake.model import Response


@pytest.mark.parametrize(("status", "reason"), [(200, "OK"), (429, "Too Many Requests"), (299, "")])
def test_the_head_of_a_stored_response_has_the_usual_reason(status, reason):
    assert Head.of(Response(status, (("a", "b"),), b"")) == Head(status, (("a", "b"),), reason, 11)


@pytest.mark.parametrize(
    ("version", "chunked", "raw"),
    [
        (11, False, b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nx: \xe9\r\n\r\n"),
        (10, False, b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\nx: \xe9\r\n\r\n"),
        (20, True, b"HTTP/1.1 200 OK\r\nx: \xe9\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ],
)
def test_a_head_on_the_wire(version, chunked, raw):
    head = Head(200, (("Content-Length", "3"), ("x", "\xe9")), "OK", version)
    assert head.raw(chunked=chunked) == raw


def _answer(source, headers=(), **options):
    return answer(urllib3, source, Head(200, headers, "OK", 11), request_method="GET", request_url="/", **options)


def test_an_answer_looks_like_the_clients_own():
    response = _answer(Held([b"abc"]))
    assert isinstance(response, urllib3.HTTPResponse)
    own = urllib3.HTTPResponse
    named = (type(response).__module__, type(response).__qualname__, type(response).__doc__)
    assert named == (own.__module__, own.__qualname__, own.__doc__)


@pytest.mark.parametrize("chunked", [False, True])
def test_an_answer_gives_what_its_source_gives(chunked):
    assert b"".join(_answer(Held([b"abc", b"de"], chunked=chunked)).stream(2)) == b"abcde"
    assert _answer(Held([b"abc", b"de"], chunked=chunked)).data == b"abcde"


def test_chunks_stay_the_pieces_of_their_source():
    assert list(_answer(Held([b"abc", b"de"], chunked=True)).read_chunked()) == [b"abc", b"de"]


def test_an_answer_whose_reader_is_closed_first_closes_without_an_error():
    response = _answer(Held([b"abc", b"de"]))
    original = response._original_response
    original.fp.close()
    original.close()
    assert original.isclosed()

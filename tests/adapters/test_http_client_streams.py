"""http.client's live bodies, watched in the file that the response reads."""

from __future__ import annotations

import io

import pytest

from onetake.adapters.http_client_streams import Passing
from onetake.errors import Refusal
from onetake.model import Cut
from onetake.passage import Passage
from onetake.streams import Watch


@pytest.fixture
def passing(direct):
    """A file of a live chat answer: `passing(raw, length=None, chunked=False)`; its passage and response beside it."""
    asks = direct()

    def opened(raw, *, length=None, chunked=False):
        step = asks.ask(asks.chat("hello"))
        headers = (("content-type", "application/json"),)
        passage = Passage(asks.engine, step, Watch(step.asked.request, 200, headers))
        file = Passing(io.BufferedReader(io.BytesIO(raw)))
        file.passage, file.closed_by = passage, []
        file.response = _Response(length, chunked, file.closed_by)
        file.watch(file.response, passage)
        return file

    opened.entries, opened.body = asks.entries, asks.said("words").body
    return opened


class _Response:
    """What a file asks of the response that reads it."""

    def __init__(self, length, chunked, closed):
        self.length, self.chunked, self._closed = length, chunked, closed

    def close(self):
        self._closed.append(self)


_WAYS = {
    "read": lambda file, size: file.read(size),
    "read1": lambda file, size: file.read1(size),
    "readline": lambda file, size: file.readline(size),
    "readinto": lambda file, size: (buffer := bytearray(size))[: file.readinto(buffer)],
}


@pytest.mark.parametrize("way", _WAYS.values(), ids=_WAYS.keys())
@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_each_way_to_read_counts_what_it_gives_once(passing, way, framing):
    body = passing.body
    raw = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if framing == "chunked" else body
    file = passing(raw, length=len(body) if framing == "length" else None, chunked=framing == "chunked")
    given = b""
    while piece := way(file, 7):
        given += piece
        if framing == "length" and len(given) == len(body):
            break
    assert given == raw
    assert [(entry.verdict, entry.response.body) for entry in passing.entries()] == [("good", body)]


def test_a_chunked_body_without_its_last_chunk_broke_off(passing):
    file = passing(b'4\r\n{"a"\r\n', chunked=True)
    file.read()
    assert (file.broke_off, file.passage.over, passing.entries()) == (True, True, [])


def test_a_chunked_body_that_goes_on_as_none_broke_off(passing):
    file = passing(b'4\r\n{"a"\r\nzz\r\nmore', chunked=True)
    for _ in range(4):
        file.readline()
    assert (file.broke_off, file.passage.over, file.passage.came.cut) == (True, True, Cut.PROVIDER)


def test_a_body_of_no_bytes_is_kept_before_it_is_read(passing):
    with pytest.raises(Refusal):
        passing(b"", length=0)


def test_a_reject_closes_the_response_so_that_its_connection_goes_on(passing):
    file = passing(b"no JSON", length=7)
    with pytest.raises(Refusal):
        file.read(7)
    assert file.closed_by == [file.response]


def test_what_no_passage_watches_is_passed_on(passing):
    file = Passing(io.BufferedReader(io.BytesIO(b"HTTP/1.1 200 OK\r\n")))
    assert (file.readline(), file.seekable()) == (b"HTTP/1.1 200 OK\r\n", True)
    file.close()
    assert file.closed

import gzip
import json
import sys
import zlib
from itertools import pairwise

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from onetake.dialects import openai_chat
from onetake.model import Choice, Cut, Request, header
from onetake.streams import Ending, Watch

CHAT = Request("POST", "https://api.openai.com/v1/chat/completions", body=b"{}")
MESSAGES = Request("POST", "https://api.anthropic.com/v1/messages", body=b"{}")
UNKNOWN = Request("POST", "https://api.example/ask", body=b"{}")
SSE = ("content-type", "text/event-stream")
JSON = ("content-type", "application/json")


def chunk(text):
    return (
        f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}}]}, ensure_ascii=False)}\n\n".encode()
    )


HELLO = (chunk("漢字 "), chunk("👋"), b"data: [DONE]\n\n")
WHOLE = b"".join(HELLO)
ENCODE = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def raw_deflate(body):
    deflate = zlib.compressobj(wbits=-15)
    return deflate.compress(body) + deflate.flush()


def watch(*chunks, request=CHAT, status=200, headers=(SSE,), **more):
    watched = Watch(request, status, headers, **more)
    for each in chunks:
        watched.feed(each)
    return watched


def flushed(*parts):
    """Compress as a streaming server does: what is sent so far can be read."""
    deflate = zlib.compressobj(wbits=31)
    return [deflate.compress(part) + deflate.flush(zlib.Z_SYNC_FLUSH) for part in parts]


def length(body):
    return ("Content-Length", str(len(body)))


def test_a_stream_is_complete_with_its_terminal_event():
    watched = watch()
    seen = []
    for each in HELLO:
        watched.feed(each)
        seen.append((watched.terminal, watched.complete))
    assert seen == [(False, False), (False, False), (True, True)]
    assert {watched.finish(ended).cut for ended in Ending} == {Cut.NO}
    assert watched.finish(Ending.LEFT).body == WHOLE


@pytest.mark.parametrize(
    "request_, last",
    [(CHAT, b"data: [DONE]"), (CHAT, b"data: [DONE]\n"), (MESSAGES, b"event: message_stop\ndata: {}\r\n")],
)
def test_a_last_event_counts_without_its_blank_line_where_its_data_is_whole(request_, last):
    ended = watch(b"data: {}\n\n", last, request=request_)
    assert not ended.terminal
    assert ended.finish(Ending.END).cut is Cut.NO


@pytest.mark.parametrize(
    "request_, last", [(CHAT, b"data: [DONE]\n\n"), (MESSAGES, b"event: message_stop\ndata: {}\n\n")]
)
def test_br_063_a_stream_without_its_terminal_event_is_cut(request_, last):
    cut = watch(b"data: {}\n\n", last[:-4], request=request_)
    assert [cut.finish(ended).cut for ended in (Ending.END, Ending.FAILED, Ending.LEFT)] == [
        Cut.PROVIDER,
        Cut.PROVIDER,
        Cut.LEFT,
    ]
    whole = watch(b"data: {}\n\n", last, request=request_)
    assert whole.finish(Ending.END).cut is Cut.NO


def test_what_follows_the_terminal_event_is_kept_and_changes_nothing():
    watched = watch(*HELLO, b": bye\n\n", b"data: {")
    assert watched.terminal
    found = watched.finish(Ending.FAILED)
    assert (found.cut, found.body) == (Cut.NO, WHOLE + b": bye\n\ndata: {")


def test_a_lone_cr_at_the_end_closes_the_terminal_event():
    watched = watch(WHOLE.replace(b"\n", b"\r"))
    assert not watched.terminal  # an LF might follow
    assert watched.finish(Ending.LEFT).cut is Cut.NO
    assert watched.terminal


@given(st.lists(st.integers(0, len(WHOLE) + 40), max_size=8), st.sampled_from(["", *ENCODE]))
def test_br_061_any_chunk_borders_give_the_same_response(borders, coding):
    wire = ENCODE[coding](WHOLE) if coding else WHOLE
    cuts = [0, *sorted(min(border, len(wire)) for border in borders), len(wire)]
    headers = (SSE, ("content-encoding", coding)) if coding else (SSE,)
    watched = watch(*(wire[start:end] for start, end in pairwise(cuts)), headers=headers)
    found = watched.finish(Ending.END)
    assert (found.body, found.decoded, found.cut, found.headers) == (WHOLE, coding, Cut.NO, (SSE,))
    answer = openai_chat.DIALECT.read(CHAT, found).answer
    assert answer is not None and answer.choices == (Choice("漢字 👋"),)


@pytest.mark.parametrize("coding, encode", [*ENCODE.items(), ("deflate", raw_deflate), ("X-GZIP", gzip.compress)])
def test_encoded_streams_are_watched_in_the_clear(coding, encode):
    wire = encode(WHOLE)
    watched = watch(*(wire[at : at + 1] for at in range(len(wire))), headers=(SSE, ("Content-Encoding", coding)))
    assert watched.terminal
    found = watched.finish(Ending.END)
    assert (found.body, found.decoded, found.headers) == (WHOLE, coding.lower(), (SSE,))


def test_codings_on_top_of_each_other_are_undone_from_the_last():
    wire = brotli.compress(gzip.compress(WHOLE))
    headers = (SSE, ("content-encoding", "gzip"), ("content-encoding", "br"), length(wire))
    watched = watch(wire[:20], wire[20:], headers=headers)
    assert watched.terminal
    found = watched.finish(Ending.END)
    assert (found.body, found.decoded, found.headers) == (WHOLE, "gzip, br", (SSE, length(WHOLE)))


def test_an_encoded_stream_that_was_left_keeps_what_could_be_decoded():
    headers = (SSE, ("content-encoding", "gzip"), ("transfer-encoding", "chunked"))
    left = watch(*flushed(*HELLO[:2]), headers=headers).finish(Ending.LEFT)
    assert (left.body, left.decoded, left.cut, left.headers) == (b"".join(HELLO[:2]), "gzip", Cut.LEFT, (SSE,))
    done = watch(*flushed(*HELLO), headers=headers)
    assert done.terminal
    # The client closes at the terminal event: the end of the coding never comes.
    assert done.finish(Ending.LEFT).cut is Cut.NO
    assert done.finish(Ending.LEFT).body == WHOLE


def test_a_coding_that_stops_in_the_middle_is_cut():
    wire = gzip.compress(b'{"a": 1}' * 100)
    headers = (JSON, ("content-encoding", "gzip"))
    found = watch(wire[:-6], headers=headers).finish(Ending.END)
    assert (found.cut, found.decoded) == (Cut.PROVIDER, "gzip")
    # The length that was declared has come, and still not the end of the coding.
    assert watch(wire[:-6], headers=(*headers, length(wire[:-6]))).finish(Ending.LEFT).cut is Cut.LEFT
    assert watch(wire, headers=headers).finish(Ending.END).cut is Cut.NO


@pytest.mark.parametrize("coding, wire", [("gzip", b"plain text"), ("rot13", b"cynva grkg"), ("br", b"\xff\xff\xff")])
def test_a_coding_that_cannot_be_undone_stays(coding, wire):
    headers = (JSON, ("content-encoding", coding), length(wire))
    found = watch(wire, headers=headers).finish(Ending.END)
    assert (found.body, found.decoded, found.cut, found.headers) == (wire, "", Cut.NO, headers)


@pytest.mark.parametrize(
    ("coding", "wire", "fails"),
    [
        ("gzip", b"plain text", True),
        ("br", b"\xff\xff\xff", True),
        ("rot13", b"cynva grkg", False),
        ("gzip", gzip.compress(b"{}", mtime=0), False),
        ("gzip", gzip.compress(b"{}", mtime=0)[:-4], False),
        ("gzip", b"", False),
    ],
)
def test_bytes_that_are_not_in_their_coding_are_the_clients_to_complain_of(coding, wire, fails):
    for undone, raw in ((True, False), (True, True), (False, False)):
        watched = watch(
            wire,
            headers=(JSON, ("content-encoding", coding)),
            undoes=lambda name, undone=undone: undone,
            reads_raw=lambda raw=raw: raw,
        )
        watched.finish(Ending.END)
        assert watched.undecodable == (fails and undone and not raw)


@pytest.mark.parametrize("coding", ENCODE)
def test_br_070_a_body_that_was_read_raw_stays_encoded(coding):
    wire = ENCODE[coding](WHOLE)
    headers = (SSE, ("content-encoding", coding), length(wire))
    watched = watch(wire, headers=(*headers, ("transfer-encoding", "x")), reads_raw=lambda: True)
    assert watched.terminal
    found = watched.finish(Ending.LEFT)
    assert (found.body, found.decoded, found.cut, found.headers) == (wire, "", Cut.NO, headers)


def test_without_its_decoder_a_coding_stays(monkeypatch):
    monkeypatch.setitem(sys.modules, "brotli", None)
    headers = (SSE, ("content-encoding", "br"))
    watched = watch(brotli.compress(WHOLE), headers=headers)
    assert not watched.terminal
    found = watched.finish(Ending.END)
    assert (found.body, found.decoded, found.cut, found.headers) == (brotli.compress(WHOLE), "", Cut.NO, headers)


@pytest.mark.parametrize("coding", ENCODE)
def test_br_070_a_coding_that_the_client_does_not_undo_stays(coding):
    """Its caller gets the encoded bytes, and so must a replay."""
    asked, wire = [], ENCODE[coding](WHOLE)

    def undoes(name):
        asked.append(name)
        return name != coding

    headers = (SSE, ("content-encoding", coding))
    watched = watch(wire, headers=headers, undoes=undoes)
    assert not watched.terminal
    found = watched.finish(Ending.END)
    assert (found.body, found.decoded, found.cut, found.headers) == (wire, "", Cut.NO, headers)
    assert asked == [coding]


def test_of_two_codings_the_client_must_undo_both():
    wire = brotli.compress(gzip.compress(WHOLE))
    headers = (SSE, ("content-encoding", "gzip, br"))
    for undone in (["gzip"], ["br"]):
        assert watch(wire, headers=headers, undoes=undone.__contains__).finish(Ending.END).body == wire
    assert watch(wire, headers=headers, undoes=["gzip", "br"].__contains__).finish(Ending.END).body == WHOLE


def test_a_stream_that_cannot_be_decoded_is_judged_by_its_ending():
    headers = (SSE, ("content-encoding", "rot13"))
    watched = watch(b"qngn: {}\n\n", headers=headers)
    assert [watched.finish(ended).cut for ended in (Ending.END, Ending.FAILED, Ending.LEFT)] == [
        Cut.NO,
        Cut.PROVIDER,
        Cut.LEFT,
    ]


def test_a_declared_length_makes_a_body_complete():
    body = b'{"a": 1}'
    watched = watch(body[:4], headers=(JSON, length(body)))
    assert not watched.complete
    assert [watched.finish(ended).cut for ended in (Ending.END, Ending.FAILED, Ending.LEFT)] == [
        Cut.PROVIDER,
        Cut.PROVIDER,
        Cut.LEFT,
    ]
    watched.feed(body[4:])
    assert watched.complete
    assert not watched.terminal
    assert [watched.finish(ended).cut for ended in (Ending.END, Ending.LEFT)] == [Cut.NO, Cut.NO]


def test_the_declared_length_counts_encoded_bytes():
    wire = gzip.compress(b'{"a": 1}')
    watched = watch(wire, headers=(("content-encoding", "gzip"), JSON, length(wire)))
    assert watched.complete
    found = watched.finish(Ending.LEFT)
    assert (found.body, found.cut, found.headers) == (b'{"a": 1}', Cut.NO, (JSON, ("Content-Length", "8")))


@pytest.mark.parametrize("declared", ["", "x", "-1", "1e3", "５", "9" * 5_000])
def test_a_length_that_is_none_declares_nothing(declared):
    watched = watch(b"{}", headers=(JSON, ("content-length", declared)))
    assert not watched.complete
    assert watched.finish(Ending.END).cut is Cut.NO


def test_beside_chunks_a_length_does_not_count():
    watched = watch(b"{}", headers=(JSON, ("content-length", "99"), ("Transfer-Encoding", "chunked")))
    found = watched.finish(Ending.END)
    assert (found.cut, header(found.headers, "transfer-encoding")) == (Cut.NO, None)


def test_a_stream_with_its_declared_length_but_no_terminal_event_is_not_complete():
    body = HELLO[0]
    watched = watch(body, headers=(SSE, length(body)))
    assert not watched.complete
    assert watched.finish(Ending.LEFT).cut is Cut.LEFT
    assert watched.finish(Ending.END).cut is Cut.PROVIDER


def test_a_body_without_a_length_that_was_left_is_left():
    watched = watch(b'{"a"', headers=(JSON,))
    assert watched.finish(Ending.LEFT).cut is Cut.LEFT
    assert watched.finish(Ending.END).cut is Cut.NO


def test_of_a_stream_of_no_known_dialect_only_the_ending_is_known():
    watched = watch(b"data: [DONE]\n\n", request=UNKNOWN)
    assert not watched.terminal
    assert not watched.complete
    assert watched.finish(Ending.END).cut is Cut.NO
    assert watched.finish(Ending.LEFT).cut is Cut.LEFT


def test_a_stream_that_its_type_denies_is_watched_too():
    watched = watch(b"\n\n: on", b" the way\n\nda", *HELLO, headers=(JSON,))
    assert watched.terminal
    assert watch(b"da", b"ta: {}\n\n", headers=()).finish(Ending.END).cut is Cut.PROVIDER


def test_a_long_json_body_of_many_chunks_is_no_stream():
    body = json.dumps({"choices": ["data: [DONE]\n\n"] * 99}).encode()
    watched = watch(*(body[at : at + 7] for at in range(0, len(body), 7)), headers=(JSON,))
    assert not watched.terminal
    assert watched.finish(Ending.END).cut is Cut.NO


def test_an_error_status_is_no_stream():
    watched = watch(b'{"error": {}}', status=429, headers=(SSE,))
    assert watched.finish(Ending.END).cut is Cut.NO


@pytest.mark.parametrize("method, status", [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_some_responses_have_no_body(method, status):
    headers = (JSON, ("content-length", "512"), ("content-encoding", "gzip"))
    watched = watch(request=Request(method, CHAT.url), status=status, headers=headers)
    assert watched.complete
    for ended in Ending:
        found = watched.finish(ended)
        assert (found.body, found.cut, found.decoded, found.headers) == (b"", Cut.NO, "", headers)

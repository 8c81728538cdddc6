from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.events import Event, Splitter, events, framing, ndjson_events, pieces, sse_events
from onetake.eventstream import framed, headers
from onetake.model import Response
from onetake.testing.provider import bedrock_exception, bedrock_frame

# What the rules of event streams trip over: every line end, BOM, no colon, no space, comments, odd bytes.
PIECES = st.sampled_from(
    [
        *(b"\n", b"\r", b"\r\n", b"\n\n", b": c", b"id: 1", b"event: x", b"data", b"data:", b"data: "),
        *(b"\xef\xbb\xbf", b" ", b":", b"{}", b'{"a": 1}', b"\xff", b"\xe2", b"\x0b\x0c", "é👋\u2028\u0085".encode()),
    ]
)
BODIES = st.lists(PIECES, max_size=12).map(b"".join)

AWS = (("content-type", "application/vnd.amazon.eventstream"),)
FRAMES = st.builds(
    lambda name, payload: framed(headers({":event-type": name}), payload),
    st.sampled_from(["chunk", "messageStop", ""]),
    st.binary(max_size=40),
)


def datas(body):
    return [event.data for event in sse_events(body)]


@pytest.mark.parametrize(
    "body, expected",
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        (b"data: a\r\rdata: b\r\r", ["a", "b"]),
        (b"data: a\n\r\ndata: b\r\n\n", ["a", "b"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", ["a"]),
        (b": only a comment\n\n:\n\n", []),
        (b": hello\ndata: a\n\n", ["a"]),
        (b"data: a\ndata: b\ndata:\n\n", ["a\nb\n"]),
        (b"data:a\n\ndata:  b\n\n", ["a", " b"]),
        (b"data\n\n", [""]),
        (b"data:\n\n", [""]),
        (b"event: ping\n\n", []),
        (b"DATA: a\nother: b\nid: 1\nretry: 5\n\n", []),
        (b"data: a: b\n\n", ["a: b"]),
        (b"data: a", []),
        (b"data: a\n", []),
        (b"data: a\r\n", []),
        (b"data: a\n\ndata: b", ["a"]),
        (b"", []),
        (b"\n\n\n", []),
        (b"data: \xff\n\n", ["\udcff"]),
    ],
)
def test_sse_data(body, expected):
    assert datas(body) == expected


def test_sse_names_last_for_one_event():
    body = b"event: a\ndata: 1\n\ndata: 2\n\nevent: b\nevent: c\ndata: 3\n\nevent: lost\n\ndata: 4\n\n"
    assert [(event.name, event.data) for event in sse_events(body)] == [("a", "1"), ("", "2"), ("c", "3"), ("", "4")]


def test_raw_is_the_exact_slice():
    body = b"\xef\xbb\xbf: hi\r\n\r\ndata: 1\r\n\r\n\n\nid: 7\ndata: 2\n\nrest"
    assert [event.raw for event in sse_events(body)] == [
        b"\xef\xbb\xbf: hi\r\n\r\ndata: 1\r\n\r\n",
        b"\n\nid: 7\ndata: 2\n\n",
    ]
    assert ndjson_events(b'\n{"a":1}\n{"b":2}') == [
        Event("", '{"a":1}', b'\n{"a":1}\n'),
        Event("", '{"b":2}', b'{"b":2}'),
    ]


@pytest.mark.parametrize(
    "body, expected",
    [
        (b'{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}']),
        (b'{"a":1}\n\n \n{"b":2}', ['{"a":1}', '{"b":2}']),
        (b'{"a":1}\n{"b":', ['{"a":1}']),
        (b'{"a":1}\r\n', ['{"a":1}\r']),
        (b"\n", []),
        (b"", []),
        (b"1\n\xff", ["1"]),
        (b"[" * 100_000, []),
    ],
)
def test_ndjson_data(body, expected):
    assert [event.data for event in ndjson_events(body)] == expected


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1e"])
def test_br_175_no_other_character_ends_a_line(odd):
    assert datas(f"data: a{odd}b\n\n".encode()) == [f"a{odd}b"]
    assert [event.data for event in ndjson_events(f'"a{odd}b"\n"c"\n'.encode())] == [f'"a{odd}b"', '"c"']


def test_br_175_a_cr_ends_no_ndjson_line():
    assert [event.data for event in ndjson_events(b'"a"\r"b"\n"c"\n')] == ['"a"\r"b"', '"c"']


def test_br_061_a_border_inside_a_character_breaks_nothing():
    body = "data: 漢字 👋🏽\n\ndata: né\n\n".encode()
    for border in range(len(body) + 1):
        splitter = Splitter("sse")
        found = splitter.feed(body[:border]) + splitter.feed(body[border:]) + splitter.close()
        assert [event.data for event in found] == ["漢字 👋🏽", "né"]
    assert b"".join(event.raw for event in found) == body


@given(BODIES, st.lists(st.integers(0, 80), max_size=6), st.sampled_from(["sse", "ndjson"]))
def test_any_chunk_borders_give_the_events_of_the_whole(body, borders, kind):
    cuts = [0, *sorted(min(border, len(body)) for border in borders), len(body)]
    splitter = Splitter(kind)
    found = [event for start, end in pairwise(cuts) for event in splitter.feed(body[start:end])]
    found += splitter.close()
    assert found == (sse_events(body) if kind == "sse" else ndjson_events(body))
    assert b"".join(event.raw for event in found) + splitter.rest == body


@given(st.lists(FRAMES, max_size=4), st.binary(max_size=20), st.lists(st.integers(0, 200), max_size=6))
def test_any_chunk_borders_give_the_frames_of_the_whole(frames, more, borders):
    body = b"".join(frames) + more
    cuts = [0, *sorted(min(border, len(body)) for border in borders), len(body)]
    splitter = Splitter("eventstream")
    found = [event for start, end in pairwise(cuts) for event in splitter.feed(body[start:end])]
    assert splitter.close() == []
    assert [event.raw for event in found] == frames
    assert found == events(Response(200, AWS, body))
    assert splitter.rest == more


def test_a_frame_is_named_and_says_what_it_wraps():
    body = bedrock_frame("messageStart", {"role": "assistant"}) + bedrock_frame("chunk", {"bytes": "eyJhIjoi6Jx9"})
    body += bedrock_exception("modelStreamErrorException", "né")
    assert [(event.name, event.data) for event in events(Response(200, AWS, body))] == [
        ("messageStart", '{"role":"assistant","p":"abcdefghijklmnopqrstuv"}'),
        ("chunk", '{"a":"\udce8\udc9c}'),
        ("modelStreamErrorException", '{"message":"né"}'),
    ]


def test_damage_to_a_frame_loses_it_and_all_behind_it():
    first, second, third = (bedrock_frame("a", {"n": number}) for number in range(3))
    damaged = second[:-1] + bytes([second[-1] ^ 1])
    splitter = Splitter("eventstream")
    assert [event.raw for event in splitter.feed(first + damaged + third)] == [first]
    assert splitter.feed(third) == splitter.close() == []
    assert splitter.rest == damaged + third + third


@given(BODIES, st.integers(0, 100))
def test_a_prefix_of_a_stream_has_a_prefix_of_its_events(body, end):
    # The last event of a prefix may lack the LF of its CRLF: its data is the same.
    whole, part = sse_events(body), sse_events(body[:end])
    assert [(e.name, e.data) for e in part] == [(e.name, e.data) for e in whole[: len(part)]]


@given(st.lists(st.tuples(st.sampled_from(["", "a", "message_stop"]), st.text(max_size=8)), max_size=4))
def test_what_is_written_as_events_is_read_back(said):
    written = [(name, data.replace("\r", "")) for name, data in said]
    body = "".join(
        (f"event: {name}\n" if name else "") + "".join(f"data: {line}\n" for line in data.split("\n")) + "\n"
        for name, data in written
    )
    assert [(event.name, event.data) for event in sse_events(body.encode("utf-8", "replace"))] == [
        (name, data.encode("utf-8", "replace").decode()) for name, data in written
    ]


def test_an_event_comes_with_the_chunk_that_completes_it():
    splitter = Splitter("sse")
    assert splitter.feed(b"data: a\n") == []
    assert [event.data for event in splitter.feed(b"\ndata: b\r\n\r")] == ["a"]
    assert splitter.rest == b"data: b\r\n\r"
    assert [event.raw for event in splitter.feed(b"\ndata: c")] == [b"data: b\r\n\r\n"]
    assert splitter.close() == []
    assert splitter.rest == b"data: c"


@pytest.mark.parametrize(
    "kind, start, expected",
    [
        ("text/event-stream", b"", "sse"),
        ("Text/Event-Stream; charset=utf-8", b"data", "sse"),
        ("text/event-stream", b' {"error": {"message": "x"}}', None),
        ("application/x-ndjson", b"", "ndjson"),
        ("application/vnd.amazon.eventstream", b"", "eventstream"),
        ("application/vnd.amazon.eventstream", b"\0\0\0\x10", "eventstream"),
        ("application/vnd.amazon.eventstream", b'{"message": "x"}', None),
        (None, bytes.fromhex("00000010 00000000 05c248eb"), "eventstream"),
        (None, bytes.fromhex("00000010 00000000 05c248"), None),
        ("application/octet-stream", bytes.fromhex("00000010 00000000 05c248ec"), None),
        ("application/stream+json", b"", "ndjson"),
        ("application/jsonl", b"", "ndjson"),
        ("application/json", b'{"data": 1}', None),
        ("application/json", b"data: {}", "sse"),
        (None, b": OPENROUTER PROCESSING\n\n", "sse"),
        (None, b"\xef\xbb\xbf\r\n\r\nevent: x", "sse"),
        (None, b"dat", None),
        (None, b"", None),
    ],
)
def test_framing(kind, start, expected):
    assert framing((("Content-Type", kind),) if kind else (), start) == expected


def test_a_coding_that_was_not_undone_hides_the_stream():
    headers = (("content-type", "text/event-stream"), ("Content-Encoding", "br"))
    assert framing(headers, b"\x1b\x03") is None
    assert framing(headers, b"data: labelled br, sent plain") == "sse"
    assert framing((*headers[:1], ("content-encoding", "identity")), b"") == "sse"


def test_the_events_of_a_body_are_its_own_however_often_they_are_asked_for():
    one, other = (
        Response(200, (("content-type", "text/event-stream"),), b"data: %d\n\n" % number) for number in range(2)
    )
    for _ in range(2):
        assert [event.data for event in events(one)] == ["0"] and [event.data for event in events(other)] == ["1"]
    events(other).clear()
    assert [event.data for event in events(other)] == ["1"]
    assert events(Response(200, (("content-type", "application/x-ndjson"),), other.body))[0].data == "data: 1"


def test_events_of_a_response():
    lines = (("content-type", "application/x-ndjson"),)
    assert [event.data for event in events(Response(200, (), b"data: a\n\n"))] == ["a"]
    assert [event.data for event in events(Response(200, lines, b"1\n2\n"))] == ["1", "2"]
    assert events(Response(200, (), b'{"data": 1}')) == []


def test_sound_that_begins_like_a_stream_is_none():
    for start in (b":\x00\x01", b"data:", b"[{}", b"{}"):
        assert framing((("content-type", "audio/pcm"),), start) is None
    assert framing((("content-type", "text/plain"),), b"data:") == "sse"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [b"data: a\n\n", b"data: b\n\n"]),
        (b"data: a\n\ndata: {", [b"data: a\n\n", b"data: {"]),
        (b'{"data": 1}', [b'{"data": 1}']),
        (b"", []),
    ],
    ids=["stream", "rest", "no stream", "empty"],
)
def test_the_pieces_of_a_body_are_its_events_and_the_rest(body, expected):
    assert pieces(Response(200, (), body)) == expected


@given(BODIES)
def test_the_pieces_of_a_body_are_the_body(body):
    found = pieces(Response(200, (("content-type", "text/event-stream"),), body))
    assert b"".join(found) == body
    assert all(found)

import base64
import json
import struct
import uuid
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.eventstream import failure, framed, frames, headers, starts_frame

EVENT = {":event-type": "contentBlockDelta", ":content-type": "application/json", ":message-type": "event"}
CHUNK = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
payloads = st.binary(max_size=60)
told = st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=12), max_size=3)
bodies = st.lists(st.builds(lambda pairs, payload: framed(headers(pairs), payload), told, payloads), max_size=4)


def frame(pairs, payload):
    return framed(headers(pairs), payload if isinstance(payload, bytes) else json.dumps(payload).encode())


def chunk(said, **more):
    return frame(CHUNK, {"bytes": base64.b64encode(said).decode(), **more})


def only(data):
    (found,) = frames(data)
    return found


@pytest.mark.parametrize(
    "spelled, head, payload",
    [
        ("00000010 00000000 05c248eb 7d98c8ff", b"", b""),
        ("0000001d 00000000 fd528c5a 7b27666f6f273a27626172277d c3653936", b"", b"{'foo':'bar'}"),
    ],
)
def test_frames_of_the_test_vectors_that_all_aws_sdks_share(spelled, head, payload):
    data = bytes.fromhex(spelled)
    assert framed(head, payload) == data
    assert (only(data).head, only(data).payload) == (head, payload)
    assert starts_frame(data)


def test_headers_of_every_type_are_passed_and_texts_are_read():
    pairs = [
        (b"\0", b""),
        (b"\1", b""),
        (b"\2", b"\xff"),
        (b"\3", b"\0\1"),
        (b"\4", b"\0\0\0\1"),
        (b"\5", bytes(8)),
        (b"\6", b"\0\2ab"),
        (b"\x07", b"\0\3" + "é!".encode()),
        (b"\x08", struct.pack(">q", 1_700_000_000_000)),
        (b"\x09", uuid.UUID(int=7).bytes),
    ]
    head = b"".join(b"\2h%d" % kind[0] + kind + value for kind, value in pairs)
    found = only(framed(head, b"x"))
    assert found.headers == {"h7": "é!"}
    assert found.payload == b"x"


@pytest.mark.parametrize(
    "head",
    [
        b"\5:even",  # the name ends behind the headers
        b"\1a",  # no type
        b"\1a\x0a",  # an unknown type
        b"\1a\7\0\5abc",  # the value ends behind the headers
        b"\1a\7\0\1\xff",  # no UTF-8
        b"\1a\0\1a\1",  # twice
    ],
)
def test_a_frame_with_broken_headers_is_none(head):
    assert list(frames(framed(head, b"{}"))) == []


@pytest.mark.parametrize("total, head", [(15, 0), (20, 5), (16 + 24 * 1024 * 1024 + 1, 0), (1 << 20, 128 * 1024 + 1)])
def test_lengths_that_no_client_takes(total, head):
    import zlib

    lengths = struct.pack(">II", total, head)
    data = lengths + struct.pack(">I", zlib.crc32(lengths)) + bytes(64)
    assert list(frames(data)) == []


@given(bodies)
def test_frames_joined_give_the_body(body):
    assert [found.raw for found in frames(b"".join(body))] == body


@given(bodies, st.binary(max_size=20))
def test_what_lacks_a_byte_is_no_frame(body, more):
    for end in (0, -1):
        whole = b"".join(body)[: end or None] + (more if end == 0 and not starts_frame(more) else b"")
        assert [found.raw for found in frames(whole)] == (body if end == 0 else body[:-1])


@given(st.lists(st.builds(lambda payload: frame(EVENT, payload), payloads), min_size=1, max_size=3), st.data())
def test_a_damaged_byte_ends_the_stream_before_its_frame(body, data):
    at = data.draw(st.integers(0, sum(map(len, body)) - 1))
    damaged = bytearray(b"".join(body))
    damaged[at] ^= data.draw(st.integers(1, 255))
    starts = [sum(map(len, body[:number])) for number in range(len(body) + 1)]
    before = next(number for number, (start, end) in enumerate(pairwise(starts)) if start <= at < end)
    assert [found.raw for found in frames(damaged)] == body[:before]


@given(told, payloads, payloads)
def test_saying_something_else_changes_nothing_but_that(pairs, payload, other):
    pairs.pop(":event-type", None)
    changed = only(framed(headers(pairs), payload)).saying(other)
    again = only(changed.raw)
    assert (again.head, again.headers, again.payload) == (headers(pairs), pairs, other)
    assert again == changed


@given(payloads.filter(len), payloads.filter(len))
def test_what_a_chunk_wraps_is_said_and_changed_in_place(said, other):
    found = only(chunk(said, p="abc"))
    assert found.said == said
    assert only(found.saying(other).raw).said == other
    assert found.saying(other).payload == found.payload.replace(base64.b64encode(said), base64.b64encode(other))
    assert found.saying(said).raw == found.raw


@pytest.mark.parametrize(
    "data",
    [
        frame(EVENT, {"bytes": "e30="}),
        frame(CHUNK, {"bytes": "e30"}),
        frame(CHUNK, {"bytes": 7}),
        frame(CHUNK, ["bytes"]),
        frame(CHUNK, b'{"bytes": "e30=", "bytes": "W10="}'),
        frame(CHUNK, b'{"p": {"bytes": "e30="}}'),
        frame(CHUNK, b"not JSON"),
    ],
)
def test_a_payload_that_wraps_nothing_speaks_for_itself(data):
    assert only(data).said == only(data).payload


def test_names_and_failures():
    exception = frame({":message-type": "exception", ":exception-type": "throttlingException"}, {"message": "slow"})
    bare = frame({":message-type": "exception"}, b"")
    error = frame({":message-type": "error", ":error-code": "InternalFailure", ":error-message": "oh"}, b"")
    event = frame(EVENT, {"message": "no failure"})
    assert [only(data).name for data in (exception, bare, error, event)] == [
        "throttlingException",
        "",
        "InternalFailure",
        "contentBlockDelta",
    ]
    assert [failure(data) for data in (exception, bare, error, event, b"", b"data: x\n\n")] == [
        "throttlingException: slow",
        "error",
        "InternalFailure: oh",
        None,
        None,
        None,
    ]

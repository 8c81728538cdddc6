from __future__ import annotations

import binascii
import json

import pytest

from onetake import picking
from onetake.errors import FormatError
from onetake.format import bodies
from onetake.format.bodies import fold_body, stream_ext, unfold_body

SSE = b'data: {"a": 1}\n\ndata: [DONE]\n\n'
NDJSON = b'{"response":"a","done":false}\n{"response":"b","done":true}\n'
JSON = "application/json"


def aws_frame(payload: bytes) -> bytes:
    """One frame of Amazon's event stream encoding, without headers."""
    prelude = (16 + len(payload)).to_bytes(4, "big") + bytes(4)
    head = prelude + binascii.crc32(prelude).to_bytes(4, "big") + payload
    return head + binascii.crc32(head).to_bytes(4, "big")


@pytest.mark.parametrize(
    ("data", "content_type", "form"),
    [
        (b'{"a":[1]}', JSON, {"style": "compact", "$json": {"a": [1]}}),
        (b'{"a":[1]}', "", {"style": "compact", "$json": {"a": [1]}}),
        (b"[\n  1\n]\n", "text/plain", {"style": "indent-2 newline", "$json": [1]}),
        (b'{"m":[{"t":"a\\nb"}]}', JSON, {"style": "compact", "$json": {"m": [{"t": {"$lines": ["a", "b"]}}]}}),
        (b'{"n":1.10}', JSON, {"style": "compact", "$json": {"n": {"$number": "1.10"}}}),
        (b'{"a":1,"a":2}', JSON, {"$text": '{"a":1,"a":2}'}),
        (b'{"a":NaN}', JSON, {"$text": '{"a":NaN}'}),
        (b'{"a":1, "b":2}\n', JSON, {"$lines": ['{"a":1, "b":2}', ""]}),
        (b'{"cut": [', JSON, {"$text": '{"cut": ['}),
        (b"17", JSON, {"$text": "17"}),
        (b'"text"', JSON, {"$text": '"text"'}),
        (b"plain", "text/plain", {"$text": "plain"}),
        (b"<html>\r\n</html>\n", "text/html", {"$lines": ["<html>\r", "</html>", ""]}),
        (b"\n", "", {"$lines": ["", ""]}),
        ('\ufeff{"a":1}'.encode(), JSON, {"$text": '\ufeff{"a":1}'}),
        (b"\x89PN", "image/png", {"$base64": "iVBO"}),
        (b"hello", "image/png", {"$base64": "aGVsbG8="}),
        (b"<svg/>", "image/svg+xml", {"$text": "<svg/>"}),
        (b"\x00\x01\x02\x03", "", {"$base64": "AAECAw=="}),
        (b"abc\xff", "text/plain", {"$base64": "YWJj/w=="}),
    ],
)
def test_a_body_has_its_form_and_comes_back(data, content_type, form):
    sides: dict = {}
    found = fold_body(data, content_type, sides)
    assert (found, sides) == (form, {})
    assert unfold_body(json.loads(json.dumps(found)), {}.get) == data


@pytest.mark.parametrize(
    ("data", "content_type", "ext"),
    [
        (SSE, "text/event-stream; charset=utf-8", "sse"),
        (SSE, "", "sse"),
        (SSE.replace(b"\n", b"\r\n"), "application/json", "sse"),
        (b": keep-alive\n\n" + SSE, "text/plain", "sse"),
        (b"event: x\ndata: 1\n\n", "", "sse"),
        (b"", "text/event-stream", "sse"),
        (b'\n{"error": {"code": 429}}', "text/event-stream", None),
        (b"data: only one line", "", None),
        (b":) hello\n\nyou", "text/plain", None),
        (NDJSON, "application/x-ndjson", "ndjson"),
        (NDJSON, "", "ndjson"),
        (NDJSON.replace(b"\n", b"\r\n"), "application/octet-stream", "ndjson"),
        (b'{"one":"line"}\n', "application/jsonl", "ndjson"),
        (b'{"one":"line"}\n', "", None),
        (b"{\n}\n{\n}", "", None),
        (aws_frame(b"{}"), "application/vnd.amazon.eventstream", "eventstream"),
        (aws_frame(b"{}") * 2, "", "eventstream"),
        (b'[{\n  "candidates": [{"index": 0}]\n}\n,\r\n{"usageMetadata": {}}\n]', "application/json", "json"),
        (b'[{"embedding": [1]}]', "application/json", None),
        (b"\x00\x00\x00\x12" + bytes(20), "", None),
        (b"short", "", None),
    ],
)
def test_a_stream_is_known_by_its_type_or_its_bytes(data, content_type, ext):
    assert stream_ext(data, content_type) == ext


@pytest.mark.parametrize(
    ("data", "ext"), [(SSE, "sse"), (NDJSON, "ndjson"), (aws_frame(b'{"text":"hi"}'), "eventstream")]
)
def test_br_067_streams_go_aside_with_their_exact_bytes(data, ext):
    sides: dict = {}
    form = fold_body(data, "", sides)
    assert form["$raw"]["ext"] == ext
    assert list(sides.values()) == [data]
    assert unfold_body(form, sides.get) == data


def test_br_061_characters_split_over_events_stay_as_they_came():
    data = 'data: {"t":"漢😀"}\n\n'.encode()
    cut = data[: data.index("😀".encode()) + 2]
    for body in (data, cut):
        sides: dict = {}
        form = fold_body(body, "text/event-stream", sides)
        assert unfold_body(form, sides.get) == body


@pytest.mark.parametrize("content_type", ["", "application/pdf", "image/jpeg", "text/plain"])
def test_br_075_bytes_that_are_no_text_are_kept_as_bytes(content_type):
    data = bytes.fromhex("ffd8003dfe")
    multipart = b'--b\r\nContent-Disposition: form-data; name="f"\r\n\r\n' + data + b"\r\n--b--\r\n"
    assert fold_body(data, content_type, {}) == {"$base64": "/9gAPf4="}
    for body in (data, multipart):
        assert unfold_body(fold_body(body, content_type, {}), {}.get) == body


def test_br_128_control_characters_and_emoji_come_back():
    text = "\x1b[31mred\x1b[0m then plain words that go on \x00 and on \ufffe 😀"
    for body in (
        text.encode(),
        json.dumps({"out": text}, ensure_ascii=False).encode(),
        json.dumps({"out": text}).encode(),
    ):
        form = fold_body(body, "", {})
        assert set(form) in ({"$text"}, {"style", "$json"})
        assert unfold_body(json.loads(json.dumps(form)), {}.get) == body


@pytest.mark.parametrize(("size", "aside"), [(2048, False), (2049, True)])
def test_long_binary_goes_aside(size, aside):
    data = (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 10)[:size]
    sides: dict = {}
    form = fold_body(data, "image/png", sides)
    assert set(form) == ({"$raw"} if aside else {"$base64"})
    assert not aside or form["$raw"]["ext"] == "png"
    assert unfold_body(form, sides.get) == data


def test_very_long_text_goes_aside(monkeypatch):
    monkeypatch.setattr(bodies, "LONG_BODY", 9)
    sides: dict = {}
    assert fold_body(b'{"a":100}', JSON, sides) == {"style": "compact", "$json": {"a": 100}}
    form = fold_body(b'{"a":1000}', JSON, sides)
    assert form["$raw"]["ext"] == "json"
    assert unfold_body(form, sides.get) == b'{"a":1000}'


@pytest.mark.parametrize(
    ("form", "why"),
    [
        (None, "a body is one of"),
        ("text", "a body is one of"),
        ({}, "a body is one of"),
        ({"$text": "a", "$lines": []}, "a body is one of"),
        ({"$json": {}}, "a body is one of"),
        ({"$text": 1}, "must be a string"),
        ({"$text": "\ud83d"}, "lone surrogate"),
        ({"$lines": 1}, "list of strings"),
        ({"$base64": "a"}, "must be a string of base64"),
        ({"$base64": "Zm8=\n"}, "must be a string of base64"),
        ({"$base64": 5}, "must be a string of base64"),
        ({"style": "x", "$json": {}}, "unknown style"),
    ],
)
def test_a_malformed_body_is_named(form, why):
    with pytest.raises(FormatError, match=why):
        unfold_body(form, {}.get)


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":[1,2.5,null,true,{"b":"x\\n\\ud83d"}]}',
        b'{"a":{"$lines":1},"b":"https:\\/\\/x"}',
        b'{"n":1.10,"m":-0,"k":1e999}',
        b'{\n  "a": 0.1\n}',
        b'{"a":"{\\"b\\":1.10}"}',
        b'{"a":[' + b",".join([b"1"] * 70) + b"]}",
        b"[1]",
    ],
)
def test_what_a_body_says_is_known_from_its_form_as_a_reader_reads_it(data):
    sides = {}
    form = json.loads(json.dumps(fold_body(data, JSON, sides)))
    body = unfold_body(form, sides.get)
    assert body == data
    said = json.loads(data)
    assert repr(picking.document(body)) == repr(said if isinstance(said, dict) else {})

"""Responses in every shape, and bodies whose label says something else than their bytes."""

from __future__ import annotations

import base64
import gzip
import json
import zlib

import pytest

from onetake import codings
from onetake.errors import FormatError
from onetake.importers.answered import read_response
from onetake.model import Cut, Request, header

REQUEST = Request("POST", "https://api.openai.com/v1/chat/completions")
ANSWER = {"choices": [{"message": {"content": "Grüße 😀"}, "finish_reason": "stop"}]}
TEXT = json.dumps(ANSWER, ensure_ascii=False)
SSE = 'data: {"choices": [{"delta": {"content": "hi"}}]}\r\n\r\ndata: [DONE]\r\n\r\n'
OK = {"code": 200, "message": "OK"}
JSON = {"content-type": ["application/json"]}


def answer(request=REQUEST, **raw):
    read = read_response({"status": OK, "headers": JSON} | raw, request)
    return read.response, read.notes


@pytest.mark.parametrize(
    "raw",
    [
        {"body": {"string": TEXT}},
        {"body": {"string": TEXT.encode()}},
        {"body": {"string": TEXT, "encoding": "utf-8"}},
        {"body": {"base64_string": base64.b64encode(TEXT.encode()).decode(), "encoding": "utf-8"}},
        {"body": TEXT},
        {"body": [TEXT.encode()[:9], TEXT.encode()[9:]]},
        {"content": TEXT, "status_code": 200, "http_version": "HTTP/1.1", "status": None},
        {"body": {"string": TEXT}, "status": 200},
        {"body": {"string": TEXT}, "status": "200 OK"},
        {"body": {"string": TEXT}, "status": "HTTP/1.1 200 OK"},
    ],
)
def test_br_137_every_layout_gives_the_same_response(raw):
    raw = {name: value for name, value in raw.items() if value is not None}
    if "status_code" in raw:
        read = read_response({"headers": JSON} | raw, REQUEST)
    else:
        read = read_response({"status": OK, "headers": JSON} | raw, REQUEST)
    assert (read.response.status, read.response.body, read.notes) == (200, TEXT.encode(), ())


def test_a_parsed_answer_is_json_again():
    response, notes = answer(parsed_body=ANSWER, body={"string": ""})
    assert json.loads(response.body) == ANSWER
    assert "parsed" in notes[0]
    response, notes = answer(body={"a": {"string": 1}})
    assert response.body == b'{"a":{"string":1}}'
    assert "structure" in notes[0]


@pytest.mark.parametrize("body", [TEXT, SSE, b"\x00\x00\x00\x10\x00\x00\x00\x00\x05\xc2\x48\xeb\x00\x00\x00\x00"])
def test_br_136_no_body_becomes_empty(body):
    response, _ = answer(body={"string": body}, headers={})
    assert response.body == (body.encode() if isinstance(body, str) else body)


def test_br_136_a_body_that_would_come_out_empty_is_an_error():
    with pytest.raises(FormatError, match="would come out empty"):
        answer(body={"string": gzip.compress(b"", mtime=0)}, headers={"content-encoding": "gzip"})


ENCODED = [
    ("gzip", gzip.compress(TEXT.encode(), mtime=0)),
    ("deflate", zlib.compress(TEXT.encode())),
    ("GZIP", gzip.compress(TEXT.encode(), mtime=0)),
]


@pytest.mark.parametrize(("label", "body"), ENCODED)
def test_br_139_a_body_that_is_so_encoded_is_decoded(label, body):
    response, notes = answer(body={"string": body}, headers={"Content-Encoding": [label], "Content-Length": ["5"]})
    assert (response.body, response.decoded, notes) == (TEXT.encode(), label, response_notes(notes))
    assert header(response.headers, "content-encoding") is None
    assert header(response.headers, "content-length") == str(len(TEXT.encode()))


def response_notes(notes):
    """The note on the content-type that was not recorded, which these cassettes do not have."""
    return tuple(note for note in notes if "content-type" in note)


@pytest.mark.parametrize("label", ["gzip", "deflate", "br", "zstd", "gzip, br", "made-up"])
def test_br_139_a_plain_body_under_a_label_loses_the_label_and_that_is_told(label):
    response, notes = answer(body={"string": TEXT}, headers=JSON | {"content-encoding": label})
    assert (response.body, response.decoded) == (TEXT.encode(), "")
    assert header(response.headers, "content-encoding") is None
    assert notes == (f"its answer is labelled {label} and is plain: the label is left out",)


def test_br_139_encoded_bytes_without_a_label_are_known_by_how_they_begin():
    response, notes = answer(body={"string": gzip.compress(TEXT.encode(), mtime=0)})
    assert (response.body, response.decoded) == (TEXT.encode(), "gzip")
    assert notes == ("its answer is gzip, which no header said",)


def test_a_packed_file_stays_packed():
    body = gzip.compress(b"a,b\n", mtime=0)
    response, _ = answer(body={"string": body}, headers={"content-type": "application/gzip"})
    assert (response.body, response.decoded) == (body, "")


def test_an_encoding_that_cannot_be_undone_here_stays(monkeypatch):
    monkeypatch.setattr(codings, "find_spec", lambda name: None)
    monkeypatch.delitem(codings._DECODERS, "br")
    response, notes = answer(body={"string": b"\x8b\x00\x80\xff\x03"}, headers={"content-encoding": "br"})
    assert header(response.headers, "content-encoding") == "br"
    assert notes == ("its answer is in br, which cannot be undone here: it stays as it is",)


@pytest.mark.parametrize(
    ("raw", "cut"),
    [
        ({"body": {"string": '{"a": "b'}, "headers": {"content-length": "90"}}, Cut.PROVIDER),
        ({"body": {"string": '{"a": 1}'}, "headers": {"content-length": "90"}}, Cut.NO),
        ({"body": {"string": b"\x89PNG\xff"}, "headers": {"content-length": "90"}}, Cut.PROVIDER),
        ({"body": {"string": b"\x89PNG\xff"}, "headers": {"content-length": "5"}}, Cut.NO),
        ({"body": {"string": "made shorter by a filter"}, "headers": {"content-length": "90"}}, Cut.NO),
        ({"body": {"string": SSE}, "headers": {"content-length": "9000"}}, Cut.NO),
        ({"body": {"string": "text"}, "headers": {"content-length": "4"}}, Cut.NO),
        ({"body": {"string": "text"}, "headers": {"content-length": "3"}}, Cut.NO),
        ({"body": {"string": ""}, "headers": {"content-length": "90"}}, Cut.NO),
        ({"body": {"string": "text"}, "headers": {"content-length": "90", "content-encoding": "gzip"}}, Cut.NO),
        ({"parsed_body": "text", "headers": {"content-length": "90"}}, Cut.NO),
    ],
)
def test_a_body_is_cut_where_more_was_promised_and_it_has_no_end(raw, cut):
    assert answer(**raw)[0].cut is cut


def test_the_length_says_what_is_stored_but_for_a_head():
    raw = {"body": {"string": "text"}, "headers": {"Content-Length": "99", "content-encoding": "gzip"}}
    assert header(answer(**raw)[0].headers, "content-length") == "4"
    head = {"body": {"string": ""}, "headers": {"Content-Length": "99"}}
    assert header(answer(Request("HEAD", "https://h/"), **head)[0].headers, "content-length") == "99"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (TEXT, "application/json"),
        (SSE, "text/event-stream"),
        (b"\x00\x00\x00\x10\x00\x00\x00\x00\x05\xc2\x48\xeb\x00\x00\x00\x00", "application/vnd.amazon.eventstream"),
        ("plain words", None),
        ("", None),
    ],
)
def test_a_content_type_that_a_filter_took_is_told_by_the_bytes(body, kind):
    response, notes = answer(body={"string": body}, headers={"content-type": ["**REDACTED**"]})
    assert header(response.headers, "content-type") == kind
    assert notes[0] == "1 header of the response redacted"
    assert len(notes) == (2 if kind else 1)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ({"status": None}, "no status"),
        ({"status": {"code": None}}, "no status"),
        ({"status": True}, "no status"),
        ({"status": "fine"}, "no status"),
        ({"status": 7}, "no status"),
        ({"body": {"string": {"a": b"x"}}}, "no JSON"),
        ({"body": {"base64_string": "a"}}, "no base64"),
        ({"body": {"base64_string": 7}}, "neither text nor bytes"),
        ({"body": {"other": b"x"}}, "no JSON"),
    ],
)
def test_what_cannot_be_read_says_why(raw, why):
    with pytest.raises(FormatError, match=why):
        answer(**raw)

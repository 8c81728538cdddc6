"""Requests in every shape."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from onetake.errors import FormatError
from onetake.importers.asked import read_request
from onetake.key import Keyer
from onetake.model import Request, header

CHAT = "https://api.openai.com/v1/chat/completions"
MESSAGES = "https://api.anthropic.com/v1/messages"
ASKED = {"model": "m", "messages": [{"role": "user", "content": "“Grüße” – 😀"}]}
JSON = {"content-type": ["application/json"]}
SENT = Request("POST", CHAT, (("content-type", "application/json"),), json.dumps(ASKED).encode())


def ask(**raw):
    return read_request({"method": "POST", "uri": CHAT, "headers": JSON} | raw)


@pytest.mark.parametrize(
    "raw",
    [
        {"body": json.dumps(ASKED)},
        {"body": json.dumps(ASKED, ensure_ascii=False, indent=2)},
        {"body": json.dumps(ASKED).encode()},
        {"body": ASKED},
        {"body": None, "parsed_body": ASKED},
        {"parsed_body": ASKED},
        {"body": {"string": json.dumps(ASKED), "encoding": "utf-8"}},
        {"body": [json.dumps(ASKED).encode()[:5], json.dumps(ASKED).encode()[5:]]},
        {"body": json.dumps(ASKED), "headers": {"content-type": ["**REDACTED**"]}},
        {"body": json.dumps(ASKED), "headers": None},
        {"body": json.dumps(ASKED), "method": "post"},
        {"body": json.dumps(ASKED), "uri": f"{CHAT}#part"},
    ],
)
def test_every_form_of_one_request_has_the_key_of_what_was_sent(raw):
    read = ask(**raw)
    assert not read.bodyless
    assert Keyer().key(read.request) == Keyer().key(SENT)


def test_a_text_keeps_its_bytes():
    body = '{"a": 1,\n\t"b": "\\u00e9é"}'
    assert ask(body=body).request.body == body.encode()
    assert ask(body=b"\x00\xff").request.body == b"\x00\xff"


@pytest.mark.parametrize(
    ("raw", "url"),
    [
        ({"protocol": "http", "host": "h", "port": 80, "path": "/ip"}, "http://h/ip"),
        ({"protocol": "https", "host": "h", "port": 8443, "path": "ip?a=b"}, "https://h:8443/ip?a=b"),
        ({"protocol": "https", "host": "h", "path": "/", "query": "?a=b"}, "https://h/?a=b"),
        ({"uri": b"http://h/x"}, "http://h/x"),
    ],
)
def test_the_url_of_version_0_is_put_together(raw, url):
    assert read_request({"method": "GET", "headers": {}} | raw).request.url == url


@pytest.mark.parametrize(
    ("raw", "bodyless"),
    [
        ({"body": None}, True),
        ({"body": ""}, True),
        ({"body": None, "headers": None}, True),
        ({"body": None, "headers": {"content-length": ["0"]}}, True),
        ({"body": None, "uri": "https://api.openai.com/v1/batches/b/cancel", "headers": {}}, True),
        ({"body": "", "uri": "https://api.openai.com/v1/batches/b/cancel", "headers": {}}, False),
        ({"body": "", "uri": "https://example.com/x"}, False),
        ({"body": None, "uri": "https://example.com/x"}, True),
        ({"body": None, "uri": "https://example.com/x", "headers": {"content-length": "0"}}, False),
        ({"body": "", "uri": "https://example.com/x", "headers": {"content-length": "12"}}, True),
        ({"body": None, "uri": "https://example.com/x", "headers": {"accept": "*/*"}}, False),
        ({"body": None, "method": "GET", "headers": {}}, False),
        ({"body": None, "method": "GET", "headers": {"content-length": "12"}}, True),
        ({"body": None, "method": "DELETE"}, False),
        ({"body": "x"}, False),
    ],
)
def test_a_body_that_was_not_recorded_is_told_from_none(raw, bodyless):
    assert ask(**raw).bodyless is bodyless


def test_the_version_header_that_every_anthropic_sdk_sends_is_put_back():
    read = ask(uri=f"{MESSAGES}?beta=true", body="{}")
    assert header(read.request.headers, "anthropic-version") == "2023-06-01"
    assert any("anthropic-version" in note for note in read.notes)
    own = ask(uri=MESSAGES, body="{}", headers={"Anthropic-Version": "2020-01-01"})
    assert header(own.request.headers, "anthropic-version") == "2020-01-01"
    assert own.notes == ()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"--b1\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b1--\r\n", "multipart/form-data; boundary=b1"),
        ("grant_type=x&apikey=y%20z", "application/x-www-form-urlencoded"),
        ("--b1\r\nno end", None),
        ("just text", None),
        ("a=b&c=d&", None),
        ("a=b&&c=d", None),
        ("a=b c&d=e", None),
        ("a=&b=c", "application/x-www-form-urlencoded"),
        ('{"a": 1}', None),
    ],
)
def test_a_content_type_that_was_taken_away_is_told_by_the_bytes(body, kind):
    assert header(ask(body=body, headers={}).request.headers, "content-type") == kind


def test_a_form_is_known_in_little_memory():
    body = "a=b&" * 50_000 + "c=d"
    tracemalloc.start()
    assert header(ask(body=body, headers={}).request.headers, "content-type") is not None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * len(body)


def test_a_form_that_was_stored_as_a_mapping_is_one_again():
    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert ask(body={"a": "b c", "d": ["e", "f"]}, headers=kind).request.body == b"a=b+c&d=e&d=f"


def test_what_may_differ_from_what_was_sent_is_told():
    assert ask(body="{}").notes == ()
    assert "may differ" in ask(parsed_body={}).notes[0]
    assert "structure" in ask(body={"a": 1}).notes[0]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ({"method": None}, "no method"),
        ({"method": 7}, "no method"),
        ({"method": "GET /x"}, "no method"),
        ({"method": "A" * 41}, "no method"),
        ({"uri": None}, "no absolute URL"),
        ({"uri": "/v1/x"}, "no absolute URL"),
        ({"uri": "http://[x/"}, "URL cannot be read"),
        ({"body": {"string": 7}}, "neither text nor bytes"),
        ({"body": {"a": b"x"}}, "no JSON"),
    ],
)
def test_what_cannot_be_read_says_why(raw, why):
    with pytest.raises(FormatError, match=why):
        ask(**raw)

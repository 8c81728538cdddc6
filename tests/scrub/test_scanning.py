"""The last look: what it finds in bytes that are about to be written, and what it lets through."""

import base64
import gzip
import json
import subprocess
import sys
import zlib

import pytest

from onetake.scrub.scanning import Finding, scan

KEY = "sk-" + "proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8"


def frame(payload, headers=b""):
    prelude = (16 + len(headers) + len(payload)).to_bytes(4) + len(headers).to_bytes(4)
    prelude += zlib.crc32(prelude).to_bytes(4)
    return prelude + headers + payload + zlib.crc32(prelude + headers + payload).to_bytes(4)


def test_a_finding_says_where_and_on_which_line_but_not_what():
    entry = {"request": {"body": {"messages": [{"content": f"a {KEY}"}]}}, "metrics": {"input_tokens": 7}}
    found = scan(json.dumps(entry, indent=2).encode())
    assert found == [Finding("openai key", "$.request.body.messages[0].content", 6)]
    assert KEY[:6] not in repr(found)


@pytest.mark.parametrize(
    "data",
    [
        KEY.encode(),
        base64.b64encode(f"x {KEY}".encode()),
        "".join(f"%{byte:02X}" for byte in KEY.encode()).encode(),
        json.dumps({"a": json.dumps({"b": f"\n{KEY}"})}).encode(),
        b"\0\xff" + KEY.encode(),
        gzip.compress(KEY.encode(), mtime=0),
        b"--b1\r\nContent-Type: text/plain\r\n\r\n" + KEY.encode() + b"\r\n--b1--",
        b'data: {"t": "' + KEY[:9].encode() + b'"}\n\ndata: {"t": "' + KEY[9:].encode() + b'"}\n\n',
    ],
)
def test_escaped_wrapped_and_split_secrets_are_found(data):
    assert [finding.kind for finding in scan(data)] == ["openai key"]


@pytest.mark.parametrize(
    "payload",
    [
        lambda text: json.dumps({"contentBlockIndex": 0, "delta": {"text": text}}).encode(),
        lambda text: json.dumps(
            {"bytes": base64.b64encode(json.dumps({"outputText": text}).encode()).decode()}
        ).encode(),
    ],
)
def test_br_069_a_secret_in_checksummed_frames_refuses_the_entry(payload):
    headers = b"\x0b:event-type\x07\x00\x05chunk"
    assert scan(frame(payload("hello"), headers) + frame(payload("world"), headers)) == []
    whole = frame(payload(f"a {KEY}"), headers)
    split = frame(payload("a " + KEY[:9]), headers) + frame(payload(KEY[9:] + " b"), headers)
    assert [finding.kind for finding in scan(whole)] == ["openai key"]
    assert [finding.kind for finding in scan(split)] == ["openai key"]


def test_names_and_headers_of_an_old_entry_are_found():
    entry = {
        "request": {
            "headers": [["Authorization", "Bearer abc"], ["accept", "x"]],
            "body": {"mcp_servers": [{"api_key": "v"}]},
        },
        "response": {"headers": [["set-cookie", "a=b"], ["x-amzn-bedrock-input-token-count", "12"]]},
    }
    assert [finding.where for finding in scan(json.dumps(entry).encode())] == [
        "$.request.headers[0][1]",
        "$.request.body.mcp_servers[0].api_key",
        "$.response.headers[0][1]",
    ]


@pytest.mark.parametrize(
    "value",
    [
        {
            "key": "0123456789abcdef" * 4,
            "contract": {"schema": "fedcba9876543210" * 4},
            "provenance": {"commit": "0be49bf" * 5},
        },
        {"answer": {"choices": [{"tool_calls": [{"name": "login", "arguments": {"password": "x"}}]}]}},
        {"response": {"body": {"content": [{"signature": KEY}], "usage": {"max_tokens": 5, "total_tokens": 9}}}},
        {"request": {"body": {"metadata": {"style": "compact", "$json": {"api_key": "as in a string"}}}}},
        {"request": {"headers": [["authorization", "Bearer [credential 1]"]], "body": {"api_key": "[secret 1]"}}},
        {"request": {"url": "https://h/%5Bopenai%20key%201%5D?api_key=%5Bsecret%201%5D"}},
        {"image": "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 20).decode()},
    ],
)
def test_what_an_entry_may_hold(value):
    assert scan(json.dumps(value).encode()) == []


@pytest.mark.parametrize(
    "data", [b"", b"\x1f\x8b broken", b"{", bytes(range(256)), b"\0" * 40, b"apikey=%5Bsecret+1%5D&a=1"]
)
def test_odd_bytes_are_no_finding(data):
    assert scan(data) == []


def test_each_finding_is_told_once():
    assert len(scan(f"{KEY} {KEY}".encode())) == 1


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("wrap", [lambda data: data, base64.b64encode, lambda data: b"\xff\0\xfe" + data + b"\xff"])
def test_utf_16_is_read(codec, wrap):
    assert [finding.kind for finding in scan(wrap(json.dumps({"a": KEY}).encode(codec)))] == ["openai key"]


@pytest.mark.parametrize("part", [KEY.encode("utf-16"), b"\x89PNG\0" + KEY.encode()])
def test_a_part_of_a_multipart_body_that_is_no_text_is_read(part):
    head = b"--b1\r\nContent-Disposition: form-data; name=n\r\n\r\n"
    body = head + b"plain\r\n" + head + part + b"\r\n--b1--\r\n"
    assert scan(body) == [Finding("openai key", "", None)]


HUGE = """
import base64, json, random
from onetake.events import Splitter
from onetake.model import Request
from onetake.scrub import Scrubber, scan
noise = random.Random(5).randbytes(15_000_000)
key = "sk-" + "proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8"
def feed():
    splitter = Splitter("sse")
    return [event for chunk in [b"data: ", *[bytes(9999)] * 5000, b"\\n\\n"] for event in splitter.feed(chunk)]
def scrub(kind, body):
    return Scrubber().begin().request(Request("POST", "https://a.example/", (("content-type", kind),), body))
"""


@pytest.mark.parametrize(
    "work",
    [
        "scan(noise)",
        pytest.param(
            "scan(json.dumps({'b64_json': base64.b64encode(noise).decode()}).encode())", marks=pytest.mark.whole
        ),
        "scan(json.dumps({'a': '-----BEGIN PRIVATE KEY-----' * 40_000}).encode())",
        "scan(b'data: {' + b'\\\\\"' * 500_000)",
        pytest.param("scan(json.dumps({'a': (key + ' ') * 30_000}).encode())", marks=pytest.mark.whole),
        "scrub('application/x-www-form-urlencoded', b'a' * 1_000_000)",
        "scrub('application/json', json.dumps({'a': ('[openai key 1] ' + key + ' ') * 10_000}).encode())",
        "feed()",
    ],
)
def test_what_is_huge_does_not_hang(work):
    """Each took minutes where the work grew with the square of the size; the limit is no timing."""
    subprocess.run([sys.executable, "-c", HUGE + work], check=True, timeout=60)

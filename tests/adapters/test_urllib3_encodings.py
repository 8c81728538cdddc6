"""Encoded answers by urllib3 and requests: what the first caller read, decoded or raw, is what a replay gives."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest
import requests
import urllib3

from onetake.testing.provider import openai_chat, openai_stream

_JSON = {"Content-Type": "application/json"}


@pytest.fixture
def ask(url, body):
    """Ask by urllib3 or requests and read in a way of its own: `ask(way, stream=False)`."""

    def asked(way, *, stream=False):
        client, read = _WAYS[way]
        content = json.dumps(body("tell", stream=stream)).encode()
        with urllib3.PoolManager() as pools, requests.Session() as session:
            if client == "requests":
                return read(session.post(url, data=content, headers=_JSON, stream=True))
            return read(pools.request("POST", url, body=content, headers=_JSON, preload_content=False))

    return asked


_WAYS = {
    "read": ("urllib3", lambda response: response.read()),
    "read raw": ("urllib3", lambda response: response.read(decode_content=False)),
    "read raw by position": ("urllib3", lambda response: response.read(None, False)),
    "read some raw": ("urllib3", lambda r: b"".join(iter(lambda: r.read(9, decode_content=False), b""))),
    "read1": ("urllib3", lambda response: b"".join(iter(lambda: response.read1(9), b""))),
    "read1 raw": ("urllib3", lambda r: b"".join(iter(lambda: r.read1(9, decode_content=False), b""))),
    "stream": ("urllib3", lambda response: b"".join(response.stream(16))),
    "stream decoded": ("urllib3", lambda response: b"".join(response.stream(16, decode_content=True))),
    "stream raw": ("urllib3", lambda response: b"".join(response.stream(16, decode_content=False))),
    "data": ("urllib3", lambda response: response.data),
    "content": ("requests", lambda response: response.content),
    "raw.read": ("requests", lambda response: response.raw.read()),
    "raw.data": ("requests", lambda response: response.raw.data),
}


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("repeats", ["sequence", "same"])
def test_br_070_what_was_read_comes_back(repeats, way, framing, provider, session, ask):
    if (repeats, way, framing) == ("same", "stream", "close"):
        pytest.skip("urllib3 decodes here only what is not chunked, and an entry does not say whether it was")
    answer = replace(openai_chat("tell"), encoding="gzip", framing=framing)
    provider.script([answer] * 2)
    bare = ask(way)
    with session("once", repeats=repeats) as opened:
        first = ask(way)
    provider.close()
    with session("none", repeats=repeats):
        again = ask(way)
    raw = bare != answer.body
    assert (gzip.decompress(bare) if raw else bare) == answer.body
    assert (first, again) == (bare, bare)
    stored = opened.recorded[0]
    assert stored.verdict == "good"
    # Under `same` it is read before its caller reads it: as that may be raw, it stays encoded.
    assert stored.response.decoded == ("" if raw or repeats == "same" else "gzip")


@pytest.mark.parametrize("way", ["read raw", "stream raw", "raw.read"])
def test_br_070_a_stream_that_is_read_raw_comes_back_raw(way, provider, session, ask):
    answer = replace(openai_stream("tell me more"), encoding="gzip")
    provider.script([answer] * 2)
    bare = ask(way, stream=True)
    with session("once") as opened:
        first = ask(way, stream=True)
    provider.close()
    with session("none"):
        assert ask(way, stream=True) == first == bare
        decoded = "content" if way == "raw.read" else "read"
    with session("none"):
        assert ask(decoded, stream=True) == answer.body
    assert [entry.verdict for entry in opened.recorded] == ["good"]


@pytest.mark.parametrize(("way", "decoded"), [("read raw", "read"), ("raw.read", "content")])
def test_br_070_what_was_read_raw_can_be_read_decoded(way, decoded, provider, session, ask):
    answer = replace(openai_chat("tell"), encoding="gzip")
    provider.script([answer])
    with session("once"):
        ask(way)
    provider.close()
    with session("none"):
        assert ask(decoded) == answer.body


@pytest.mark.parametrize(
    ("way", "error", "rejects"),
    [
        ("read", urllib3.exceptions.DecodeError, ["reject:json"]),
        ("stream decoded", urllib3.exceptions.DecodeError, []),  # it stops at the first bytes
        ("content", requests.exceptions.ContentDecodingError, ["reject:json"]),
    ],
)
def test_a_body_that_the_client_cannot_decode_is_the_clients_error(way, error, rejects, provider, session, ask):
    headers = (("content-type", "application/json"), ("content-encoding", "gzip"))
    provider.script([replace(openai_chat("x"), headers=headers)] * 2)
    with pytest.raises(error):
        ask(way)
    with session("once") as opened, pytest.raises(error):
        ask(way)
    assert ([entry.verdict for entry in opened.rejects], opened.recorded) == (rejects, ())

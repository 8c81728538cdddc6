"""What programs hand to aiohttp to be sent: every kind is stored, and reaches the provider as without us."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import aiohttp
import pytest

from onetake.errors import InteractionNotFound
from onetake.testing.provider import bytes_reply, openai_chat

pytestmark = [pytest.mark.filterwarnings("error::ResourceWarning"), pytest.mark.usefixtures("nothing_unclosed")]


_PNG = b"\xff\xd8\x00\x3d\xfe"


def _form():
    form = aiohttp.FormData()
    form.add_field("prompt", "more")
    form.add_field("file", _PNG, filename="a.png", content_type="image/png")
    return form


def _fields():
    form = aiohttp.FormData()
    form.add_field("prompt", "more & more")
    return form


async def _pieces():
    for piece in (b'{"in": ', b'"pieces', b'"}'):
        yield piece


_BODIES = {
    "json": lambda: {"json": {"a": [1, "é"]}},
    "bytes": lambda: {"data": _PNG},
    "bytearray": lambda: {"data": bytearray(_PNG)},
    "str": lambda: {"data": "text é"},
    "dict": lambda: {"data": {"field": "a b"}},
    "fields": lambda: {"data": _fields()},
    "multipart": lambda: {"data": _form()},
    "generator": lambda: {"data": _pieces()},
    "file": lambda: {"data": io.BytesIO(b"from a file")},
    "payload": lambda: {"data": aiohttp.BytesPayload(b"a payload")},
    "compressed": lambda: {"data": b"squeeze me " * 20, "compress": True},
    "chunked": lambda: {"data": b"in chunks", "chunked": True},
    "expect": lambda: {"data": b"may I?", "expect100": True},
    "none": dict,
}


def _sent(request):
    """What reached the provider, of a multipart body without its boundary."""
    kind = request.header("content-type") or ""
    boundary = kind.partition("boundary=")[2].strip('"')
    return request.body.replace(boundary.encode(), b"BOUNDARY") if boundary else request.body


@pytest.mark.parametrize("make", _BODIES.values(), ids=_BODIES.keys())
def test_br_077_every_kind_of_body_is_stored_and_sent_as_without_us(provider, host, session, make, run):
    url = provider.url + "/v1/anything"
    provider.script(lambda request: bytes_reply(b"took %d" % len(_sent(request)), "text/plain"))

    async def post():
        async with aiohttp.ClientSession() as client, client.post(url, **make()) as response:
            return await response.read()

    bare = run(post())
    with session("once", hosts=[host]) as opened:
        first = run(post())
    without, with_us = provider.requests
    assert _sent(with_us) == _sent(without)
    dropped = {"accept-encoding", "content-type", "host"}
    names = [
        [(name.lower(), value) for name, value in request.headers if name.lower() not in dropped]
        for request in provider.requests
    ]
    assert sorted(names[0]) == sorted(names[1])
    stored = opened.recorded[0].request.body
    assert (b"squeeze me " * 20 if "compress" in make() else _sent(with_us)) == (
        stored if b"BOUNDARY" not in _sent(with_us) else _sent(replace(with_us, body=stored))
    )
    provider.close()
    with session("none", hosts=[host]):
        assert run(post()) == first == bare


def test_br_077_another_body_is_another_request(url, provider, session, body, run, said, ask):
    with session("once"):
        answers = [said(run(ask(url, body(text)))) for text in ("one", "two")]
    provider.close()
    with session("none") as opened, opened.expect_refusal():
        assert [said(run(ask(url, body(text)))) for text in ("two", "one")] == answers[::-1]
        run(ask(url, body("three")))
    assert isinstance(opened.refusals[0], InteractionNotFound)


@pytest.mark.skipif(not hasattr(aiohttp.ClientRequest, "update_body"), reason="this aiohttp never sends a generator on")
def test_br_040_a_generator_body_survives_a_redirect(provider, session, run):
    async def post():
        async with (
            aiohttp.ClientSession() as client,
            client.post(provider.url + "/old/v1/chat/completions", data=_pieces()) as response,
        ):
            return await response.json(), [hop.status for hop in response.history], str(response.url)

    moved = replace(bytes_reply(b"gone", "text/plain", 307), headers=(("location", "/v1/chat/completions"),))
    provider.script([moved, openai_chat("there")])
    with session("once") as opened:
        first = run(post())
    assert provider.requests[1].body == provider.requests[0].body == b'{"in": "pieces"}'
    assert next((entry.verdict, entry.response.body) for entry in opened.recorded) == ("good", b"gone")
    assert first[1:] == ([307], provider.url + "/v1/chat/completions")
    provider.close()
    with session("none"):
        assert run(post()) == first


def test_the_session_makes_the_body_and_the_address(provider, session, run):
    """Base URL, params, default headers, cookies, auth and the session's own JSON."""

    async def post():
        async with aiohttp.ClientSession(
            provider.url + "/v1/",
            json_serialize=lambda value: json.dumps(value, indent=1),
            headers={"x-mine": "1", "Authorization": "Bearer sk-EXAMPLE"},
            cookies={"a": "b"},
        ) as client:
            asked = {"model": "m", "messages": []}
            async with client.post("chat/completions", json=asked, params={"b": "2", "a": "1 é"}) as response:
                return await response.read()

    with session("once") as opened:
        first = run(post())
    request = opened.recorded[0].request
    assert request.url == provider.url + "/v1/chat/completions?b=2&a=1+%C3%A9"
    assert request.body == b'{\n "model": "m",\n "messages": []\n}' == provider.requests[0].body
    assert provider.requests[0].header("cookie") == "a=b"
    provider.close()
    with session("none"):
        assert run(post()) == first

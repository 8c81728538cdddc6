"""What is particular to httpx and httpx2: their bodies, transports, lifetimes and neighbours."""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
from dataclasses import replace

import pytest

from onetake.testing.provider import bytes_reply, openai_chat


def test_br_040_an_async_generator_is_read_once_and_sent_whole(url, provider, session, body, async_client):
    whole = json.dumps(body("in pieces")).encode()

    async def pieces():
        for start in range(0, len(whole), 5):
            yield whole[start : start + 5]

    async def post():
        async with async_client() as client:
            return await client.post(url, content=pieces(), headers={"content-type": "application/json"})

    with session("once") as opened:
        first = asyncio.run(post())
    assert provider.requests[0].body == opened.recorded[0].request.body == whole
    provider.close()
    with session("none"):
        assert asyncio.run(post()).content == first.content


def test_br_041_a_generator_body_with_two_candidates(url, provider, session, body, sync_client, said):
    def post(text):
        whole = json.dumps(body(text)).encode()
        with sync_client() as client:
            return client.post(url, content=iter([whole[:9], whole[9:]]), headers={"content-type": "application/json"})

    with session("once"):
        first = [said(post(text).json()) for text in ("one", "two")]
    assert [json.loads(request.body)["messages"][0]["content"] for request in provider.requests] == ["one", "two"]
    provider.close()
    with session("none"):
        assert [said(post(text).json()) for text in ("two", "one")] == first[::-1]


def test_br_037_the_boundary_of_a_multipart_body_does_not_count(provider, session, sync_client):
    def post(content):
        with sync_client() as client:
            files = {"file": ("a.png", content, "image/png")}
            return client.post(provider.url + "/v1/images/edits", data={"prompt": "more"}, files=files).content

    host = provider.url.removeprefix("http://")
    provider.script([bytes_reply(b"\x89PNG one", "image/png")])
    with session("once", hosts=[host]) as opened:
        post(b"\xff\xd8\x00\x3d\xfe")
    assert b"\xff\xd8\x00\x3d\xfe" in provider.requests[0].body
    provider.close()
    with session("none", hosts=[host]) as opened, opened.expect_refusal():
        assert post(b"\xff\xd8\x00\x3d\xfe") == b"\x89PNG one"
        post(b"\xff\xd8\x00\x3d\xff")


def test_br_079_the_http_version_is_not_kept(url, provider, session, body, sync_client):
    """Documented as not kept: a replay says HTTP/1.1."""
    with session("once"), sync_client() as client:
        client.post(url, json=body("version"))
    with session("none"), sync_client() as client:
        response = client.post(url, json=body("version"))
    assert (response.http_version, response.reason_phrase) == ("HTTP/1.1", "OK")
    assert response.elapsed is not None
    assert response.request.url == url


def test_clients_made_before_the_session_and_after_another(url, provider, session, body, sync_client, said):
    with sync_client() as client:
        for name in ("one", "two"):
            with session("once", name) as opened:
                client.post(url, json=body("hello"))
            assert len(opened.recorded) == 1
        assert said(client.post(url, json=body("hello")).json()) == "answer 3 to: hello"


def test_transports_that_reach_no_network_are_left_alone(module, session):
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"from the app"})

    async def ask():
        async with module.AsyncClient(transport=module.ASGITransport(app=app)) as client:
            return (await client.post("http://app.example/v1/chat/completions")).content

    mock = module.MockTransport(lambda request: module.Response(200, content=b"mocked"))
    with session("none") as opened:
        with module.Client(transport=mock) as client:
            assert client.post("http://mock.example/v1/chat/completions").content == b"mocked"
        assert asyncio.run(ask()) == b"from the app"
    assert opened.requests == ()


def test_a_transport_below_another_one_is_recorded_once(module, url, provider, session, body):
    class Outer(module.HTTPTransport):
        def handle_request(self, request):
            request.headers["x-outer"] = "1"
            return super().handle_request(request)

    with session("once") as opened, module.Client(transport=Outer(verify=False)) as client:
        client.post(url, json=body("layers"))
    assert len(opened.recorded) == provider.count == 1


def test_one_connection_serves_many_recorded_calls(
    module, url, provider, session, body, sync_client, async_client, said
):
    """Under `same` bodies are read before their caller sees them; the connection must still go back to the pool."""
    one = module.Limits(max_connections=1)
    with session("once", repeats="same"), sync_client(limits=one, timeout=5) as client:
        for number in range(5):
            client.post(url, json=body(f"call {number}"))

    async def post():
        async with async_client(limits=one, timeout=5) as client:
            return [said((await client.post(url, json=body(f"awaited {number}"))).json()) for number in range(5)]

    with session("new_episodes", repeats="same"):
        assert len(asyncio.run(post())) == 5


def test_the_callers_request_keeps_its_headers(url, provider, session, body, sync_client):
    with session("once"), sync_client() as client:
        response = client.post(url, json=body("plain please"), headers={"accept-encoding": "gzip"})
    assert response.request.headers["accept-encoding"] == "gzip"
    assert provider.requests[0].header("accept-encoding") == "identity"


def test_an_unreachable_provider_is_the_clients_own_error(module, url, provider, session, body, sync_client):
    provider.close()
    with session("once") as opened, sync_client() as client, pytest.raises(module.ConnectError):
        client.post(url, json=body("anyone?"))
    assert (opened.recorded, opened.rejects) == ((), ())


@pytest.mark.parametrize("coding", ["br", "zstd"])
@pytest.mark.parametrize("undone", [True, False], ids=["undone", "not-undone"])
def test_br_070_a_coding_is_undone_where_the_client_undoes_it(
    module, provider, session, monkeypatch, coding, undone, sync_client
):
    """Without its decoder the client hands on what came, and so does the replay."""
    decoders = sys.modules[f"{module.__name__}._decoders"].SUPPORTED_DECODERS
    if not undone:
        monkeypatch.delitem(decoders, coding, raising=False)
    elif coding not in decoders:
        pytest.skip(f"{module.__name__} has no decoder of {coding} here")
    provider.script([replace(bytes_reply(b"plain text " * 20, "text/plain"), encoding=coding)])
    host = provider.url.removeprefix("http://")
    came = []
    for mode in ("once", "none"):
        with session(mode, hosts=[host]) as opened, sync_client() as client:
            response = client.get(provider.url + "/text")
        came.append((response.content, response.headers.get("content-encoding")))
        provider.close()
    assert came[1][0] == came[0][0]
    assert (came[0][0] == b"plain text " * 20) == undone
    assert came[1][1] == (None if undone else coding)
    assert opened.entries[0].response.decoded == (coding if undone else "")


def test_br_070_json_that_the_client_cannot_read_comes_back_as_it_came(
    module, url, provider, session, monkeypatch, body, sync_client
):
    monkeypatch.delitem(sys.modules[f"{module.__name__}._decoders"].SUPPORTED_DECODERS, "br")
    answer = openai_chat("never read")
    provider.script([replace(answer, encoding="br")])
    came = []
    for mode in ("once", "none"):
        with session(mode) as opened, sync_client() as client:
            came.append(client.post(url, json=body("compress")).content)
        provider.close()
    assert came[0] == came[1] != answer.body
    assert [(entry.verdict, entry.response.decoded) for entry in opened.entries] == [("good", "")]


@pytest.mark.parametrize("mode", ["once", "none"])
def test_a_web_socket_is_refused(mode, url, provider, host, session, sync_client):
    headers = {"connection": "upgrade", "upgrade": "WebSocket"}
    with session(mode, hosts=[host]) as opened, opened.expect_refusal() as expected, sync_client() as client:
        client.get(url.replace("http", "ws"), headers=headers)
    assert expected.refusals[0].args[0] == "a web socket cannot be recorded"
    assert (provider.count, opened.recorded) == (0, ())


@pytest.mark.parametrize("replays_raw", [True, False])
def test_br_070_a_body_that_is_read_raw_comes_back_raw(replays_raw, url, provider, session, body, sync_client):
    answer = openai_chat("as it lies on the wire")
    provider.script([replace(answer, encoding="gzip")])

    def ask(*, raw):
        with sync_client() as client, client.stream("POST", url, json=body("compress")) as response:
            return b"".join(response.iter_raw() if raw else response.iter_bytes())

    with session("once") as opened:
        first = ask(raw=True)
    provider.close()
    assert (gzip.decompress(first), opened.recorded[0].verdict) == (answer.body, "good")
    with session("none"):
        assert ask(raw=replays_raw) == (first if replays_raw else answer.body)


@pytest.mark.parametrize("mode", ["once", "all"])
def test_a_body_that_the_client_cannot_decode_is_the_clients_error(
    mode, module, url, provider, session, body, sync_client
):
    headers = (("content-type", "application/json"), ("content-encoding", "gzip"))
    provider.script([replace(openai_chat("x"), headers=headers)])
    with session(mode) as opened, sync_client() as client, pytest.raises(module.DecodingError):
        client.post(url, json=body("garbage"))
    assert ([entry.verdict for entry in opened.rejects], opened.recorded) == (["reject:json"], ())


def test_headers_outside_ascii_come_back_as_they_were(url, provider, session, body, sync_client):
    served = replace(
        openai_chat("hello"), headers=(("content-type", "application/json"), ("x-ratelimit-note", "gr\xfcn"))
    )
    provider.script([served])
    with session("once"), sync_client() as client:
        first = client.post(url, json=body("headers")).headers.raw
    provider.close()
    with session("none") as opened, sync_client() as client:
        again = client.post(url, json=body("headers")).headers.raw
    assert set(again) <= set(first)
    assert [tuple(map(bytes.decode, pair, ("latin-1",) * 2)) for pair in again] == list(
        opened.entries[0].response.headers
    )

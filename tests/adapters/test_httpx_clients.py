"""What is particular to httpx and httpx2: their bodies, transports, lifetimes and neighbours."""

from __future__ import annotations

import asyncio
import gc
import json
import ssl
import sys
import threading
from dataclasses import replace

import pydantic
import pytest

from onetake.testing.provider import bytes_reply, openai_chat, openai_stream

_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _text(response):
    return response.json()["choices"][0]["message"]["content"]


def _client(module, **options):
    return module.Client(verify=_TLS, **options)


def _unsync(module, **options):
    return module.AsyncClient(verify=_TLS, **options)


def test_br_040_an_async_generator_is_read_once_and_sent_whole(module, url, provider, session, body):
    whole = json.dumps(body("in pieces")).encode()

    async def pieces():
        for start in range(0, len(whole), 5):
            yield whole[start : start + 5]

    async def post():
        async with _unsync(module) as client:
            return await client.post(url, content=pieces(), headers={"content-type": "application/json"})

    with session("once") as opened:
        first = asyncio.run(post())
    assert provider.requests[0].body == opened.recorded[0].request.body == whole
    provider.close()
    with session("none"):
        assert asyncio.run(post()).content == first.content


def test_br_041_a_generator_body_with_two_candidates(module, url, provider, session, body):
    def post(text):
        whole = json.dumps(body(text)).encode()
        with _client(module) as client:
            return client.post(url, content=iter([whole[:9], whole[9:]]), headers={"content-type": "application/json"})

    with session("once"):
        first = [_text(post(text)) for text in ("one", "two")]
    assert [json.loads(request.body)["messages"][0]["content"] for request in provider.requests] == ["one", "two"]
    provider.close()
    with session("none"):
        assert [_text(post(text)) for text in ("two", "one")] == first[::-1]


def test_br_037_the_boundary_of_a_multipart_body_does_not_count(module, provider, session):
    def post(content):
        with _client(module) as client:
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


@pytest.mark.parametrize("how", ["iter_bytes", "iter_raw", "iter_lines", "iter_text"])
def test_br_052_br_066_every_way_to_read_a_stream(module, url, provider, session, how, body):
    def read():
        with _client(module) as client, client.stream("POST", url, json=body("tell", stream=True)) as response:
            return list(getattr(response, how)())

    async def aread():
        async with (
            _unsync(module) as client,
            client.stream("POST", url, json=body("tell", stream=True)) as response,
        ):
            return [part async for part in getattr(response, "a" + how)()]

    with session("once"):
        first, awaited = read(), asyncio.run(aread())
    assert first
    provider.close()
    empty = type(first[0])()
    with session("none"):
        assert empty.join(read()) == empty.join(first)
        assert empty.join(asyncio.run(aread())) == empty.join(awaited)


def test_br_079_the_http_version_is_not_kept(module, url, provider, session, body):
    """Documented as not kept: a replay says HTTP/1.1."""
    with session("once"), _client(module) as client:
        client.post(url, json=body("version"))
    with session("none"), _client(module) as client:
        response = client.post(url, json=body("version"))
    assert (response.http_version, response.reason_phrase) == ("HTTP/1.1", "OK")
    assert response.elapsed is not None
    assert response.request.url == url


def test_clients_made_before_the_session_and_after_another(module, url, provider, session, body):
    with _client(module) as client:
        for name in ("one", "two"):
            with session("once", name) as opened:
                client.post(url, json=body("hello"))
            assert len(opened.recorded) == 1
        assert _text(client.post(url, json=body("hello"))) == "answer 3 to: hello"


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

    with session("once") as opened, module.Client(transport=Outer(verify=_TLS)) as client:
        client.post(url, json=body("layers"))
    assert len(opened.recorded) == provider.count == 1


def test_one_connection_serves_many_recorded_calls(module, url, provider, session, body):
    """Under `same` bodies are read before their caller sees them; the connection must still go back to the pool."""
    one = module.Limits(max_connections=1)
    with session("once", repeats="same"), _client(module, limits=one, timeout=5) as client:
        for number in range(5):
            client.post(url, json=body(f"call {number}"))

    async def post():
        async with _unsync(module, limits=one, timeout=5) as client:
            return [_text(await client.post(url, json=body(f"awaited {number}"))) for number in range(5)]

    with session("new_episodes", repeats="same"):
        assert len(asyncio.run(post())) == 5


def test_the_callers_request_keeps_its_headers(module, url, provider, session, body):
    with session("once"), _client(module) as client:
        response = client.post(url, json=body("plain please"), headers={"accept-encoding": "gzip"})
    assert response.request.headers["accept-encoding"] == "gzip"
    assert provider.requests[0].header("accept-encoding") == "identity"


def test_a_stream_dropped_unread_frees_those_who_wait(module, url, provider, session, body):
    never = threading.Event()
    provider.script([replace(openai_stream("never read"), hold=never, hold_before=1)])
    asked = body("drop me", stream=True)
    found = []

    def wait():
        with _client(module) as other:
            found.append(other.post(url, json=asked).content)

    with session("new_episodes", repeats="same") as opened:
        client = _client(module)
        response = client.send(client.build_request("POST", url, json=asked), stream=True)
        waiting = threading.Thread(target=wait)
        waiting.start()
        del response
        gc.collect()
        waiting.join()
        client.close()
    assert found[0].endswith(b"data: [DONE]\n\n")
    assert [entry.verdict for entry in opened.recorded] == ["good"]
    assert provider.count == 2


def test_a_stream_dropped_unread_frees_its_ordinal(module, url, provider, session, body):
    asked = body("drop me", stream=True)
    with session("once") as opened, _client(module) as client:
        response = client.send(client.build_request("POST", url, json=asked), stream=True)
        del response
        gc.collect()
        client.post(url, json=asked)
    assert [entry.ordinal for entry in opened.recorded] == [0]


def test_an_unreachable_provider_is_the_clients_own_error(module, url, provider, session, body):
    provider.close()
    with session("once") as opened, _client(module) as client, pytest.raises(module.ConnectError):
        client.post(url, json=body("anyone?"))
    assert (opened.recorded, opened.rejects) == ((), ())


def test_a_cancelled_keep_is_finished_all_the_same(module, url, provider, session, body):
    """Cancelled while its answer is being judged: it is kept, once, although the client then closes the body."""
    begun, go = threading.Event(), threading.Event()

    class Slow(pydantic.BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def checked(cls, value):
            begun.set()
            assert go.wait(20)
            return value

    async def main():
        async with _unsync(module) as client, client.stream("POST", url, json=body("x", stream=True)) as response:
            task = asyncio.create_task(_drain(response))
            assert await asyncio.to_thread(begun.wait, 20)
            task.cancel()
            go.set()
            await asyncio.wait([task])
            assert task.cancelled()

    provider.script([openai_stream('{"n": 1}')])
    with session("once", contract=Slow) as opened:
        asyncio.run(asyncio.wait_for(main(), 20))
    assert [(entry.verdict, entry.ordinal) for entry in opened.recorded] == [("good", 0)]


async def _drain(response):
    async for _ in response.aiter_bytes():
        pass


def test_a_web_socket_body_is_never_read_whole(module, url, provider, session, body):
    """A 101 has no end: under `same` its body must not be waited for."""
    upgrade = {"connection": "upgrade", "upgrade": "websocket"}
    open_end = replace(openai_chat("x"), status=101, headers=tuple(upgrade.items()), pieces=(b"", b""), hold_before=1)
    never = threading.Event()
    provider.script([replace(open_end, hold=never)])
    with (
        session("once", repeats="same") as opened,
        _client(module, timeout=5) as client,
        client.stream("POST", url, json=body("upgrade"), headers=upgrade) as response,
    ):
        assert response.status_code == 101
        assert "network_stream" in response.extensions
    assert opened.recorded == ()


@pytest.mark.parametrize("coding", ["br", "zstd"])
@pytest.mark.parametrize("undone", [True, False], ids=["undone", "not-undone"])
def test_br_070_a_coding_is_undone_where_the_client_undoes_it(module, provider, session, monkeypatch, coding, undone):
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
        with session(mode, hosts=[host]) as opened, _client(module) as client:
            response = client.get(provider.url + "/text")
        came.append((response.content, response.headers.get("content-encoding")))
        provider.close()
    assert came[1][0] == came[0][0]
    assert (came[0][0] == b"plain text " * 20) == undone
    assert came[1][1] == (None if undone else coding)
    assert opened.entries[0].response.decoded == (coding if undone else "")


def test_br_070_json_that_the_client_cannot_read_is_no_answer(module, url, provider, session, monkeypatch, body):
    monkeypatch.delitem(sys.modules[f"{module.__name__}._decoders"].SUPPORTED_DECODERS, "br")
    provider.script([replace(openai_chat("never read"), encoding="br")])
    with session("once") as opened, opened.expect_refusal() as expected, _client(module) as client:
        client.post(url, json=body("compress"))
    assert [
        (refusal.kind, entry.verdict) for refusal, entry in zip(expected.refusals, opened.rejects, strict=True)
    ] == [("json", "reject:json")]


def test_headers_outside_ascii_come_back_as_they_were(module, url, provider, session, body):
    served = replace(
        openai_chat("hello"), headers=(("content-type", "application/json"), ("x-ratelimit-note", "gr\xfcn"))
    )
    provider.script([served])
    with session("once"), _client(module) as client:
        first = client.post(url, json=body("headers")).headers.raw
    provider.close()
    with session("none") as opened, _client(module) as client:
        again = client.post(url, json=body("headers")).headers.raw
    assert set(again) <= set(first)
    assert [tuple(map(bytes.decode, pair, ("latin-1",) * 2)) for pair in again] == list(
        opened.entries[0].response.headers
    )


def test_a_whole_answer_that_is_dropped_unclosed_is_kept(module, url, provider, session, body):
    with session("once") as opened:
        with _client(module) as client:
            request = client.build_request("POST", url, json=body("drop me"))
            response = client.send(request, stream=True)
            chunks = response.iter_raw()
            said = next(chunks)
            del response, chunks
            gc.collect()
        for thread in [thread for thread in threading.enumerate() if thread.name == "onetake"]:
            thread.join(20)
    (entry,) = opened.recorded
    assert entry.response.body == said

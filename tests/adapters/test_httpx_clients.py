"""What is particular to httpx and httpx2: their bodies, transports, lifetimes and neighbours."""

from __future__ import annotations

import asyncio
import functools
import gc
import json
import ssl
import threading
from dataclasses import replace

import httpx
import httpx2
import pytest
import respx

from onetake.errors import AdapterError, InteractionNotFound
from onetake.testing.provider import bytes_reply, openai_chat, openai_stream

_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@pytest.fixture(params=[httpx, httpx2], ids=["httpx", "httpx2"])
def module(request):
    """Each of the two modules."""
    return request.param


@pytest.fixture
def url(provider):
    """The provider's chat endpoint."""
    return provider.url + "/v1/chat/completions"


def _body(text, **more):
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def _text(response):
    return response.json()["choices"][0]["message"]["content"]


def _client(module, **options):
    return module.Client(verify=_TLS, **options)


def _unsync(module, **options):
    return module.AsyncClient(verify=_TLS, **options)


def test_br_040_an_async_generator_is_read_once_and_sent_whole(module, url, provider, session):
    whole = json.dumps(_body("in pieces")).encode()

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


def test_br_041_a_generator_body_with_two_candidates(module, url, provider, session):
    def post(text):
        whole = json.dumps(_body(text)).encode()
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
def test_br_052_br_066_every_way_to_read_a_stream(module, url, provider, session, how):
    def read():
        with _client(module) as client, client.stream("POST", url, json=_body("tell", stream=True)) as response:
            return list(getattr(response, how)())

    async def aread():
        async with (
            _unsync(module) as client,
            client.stream("POST", url, json=_body("tell", stream=True)) as response,
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


def test_br_079_the_http_version_is_not_kept(module, url, provider, session):
    """Documented as not kept: a replay says HTTP/1.1."""
    with session("once"), _client(module) as client:
        client.post(url, json=_body("version"))
    with session("none"), _client(module) as client:
        response = client.post(url, json=_body("version"))
    assert (response.http_version, response.reason_phrase) == ("HTTP/1.1", "OK")
    assert response.elapsed is not None
    assert response.request.url == url


def test_clients_made_before_the_session_and_after_another(module, url, provider, session):
    with _client(module) as client:
        for name in ("one", "two"):
            with session("once", name) as opened:
                client.post(url, json=_body("hello"))
            assert len(opened.recorded) == 1
        assert _text(client.post(url, json=_body("hello"))) == "answer 3 to: hello"


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


def test_a_transport_below_another_one_is_recorded_once(module, url, provider, session):
    class Outer(module.HTTPTransport):
        def handle_request(self, request):
            request.headers["x-outer"] = "1"
            return super().handle_request(request)

    with session("once") as opened, module.Client(transport=Outer(verify=_TLS)) as client:
        client.post(url, json=_body("layers"))
    assert len(opened.recorded) == provider.count == 1


def test_one_connection_serves_a_hundred_recorded_calls(module, url, provider, session):
    """Under `same` bodies are read before their caller sees them; the connection must still go back to the pool."""
    one = module.Limits(max_connections=1)
    with session("once", repeats="same"), _client(module, limits=one, timeout=5) as client:
        for number in range(5):
            client.post(url, json=_body(f"call {number}"))

    async def post():
        async with _unsync(module, limits=one, timeout=5) as client:
            return [_text(await client.post(url, json=_body(f"awaited {number}"))) for number in range(5)]

    with session("new_episodes", repeats="same"):
        assert len(asyncio.run(post())) == 5


def test_the_callers_request_keeps_its_headers(module, url, provider, session):
    with session("once"), _client(module) as client:
        response = client.post(url, json=_body("plain please"), headers={"accept-encoding": "gzip"})
    assert response.request.headers["accept-encoding"] == "gzip"
    assert provider.requests[0].header("accept-encoding") == "identity"


def test_a_stream_dropped_unread_frees_those_who_wait(module, url, provider, session):
    never = threading.Event()
    provider.script([replace(openai_stream("never read"), hold=never, hold_before=1)])
    body = _body("drop me", stream=True)
    found = []

    def wait():
        with _client(module) as other:
            found.append(other.post(url, json=body).content)

    with session("new_episodes", repeats="same") as opened:
        client = _client(module)
        response = client.send(client.build_request("POST", url, json=body), stream=True)
        waiting = threading.Thread(target=wait)
        waiting.start()
        del response
        gc.collect()
        waiting.join()
        client.close()
    assert found[0].endswith(b"data: [DONE]\n\n")
    assert [entry.verdict for entry in opened.recorded] == ["good"]
    assert provider.count == 2


def test_a_stream_dropped_unread_frees_its_ordinal(module, url, provider, session):
    body = _body("drop me", stream=True)
    with session("once") as opened, _client(module) as client:
        response = client.send(client.build_request("POST", url, json=body), stream=True)
        del response
        gc.collect()
        client.post(url, json=body)
    assert [entry.ordinal for entry in opened.recorded] == [0]


def test_an_unreachable_provider_is_the_clients_own_error(module, url, provider, session):
    provider.close()
    with session("once") as opened, _client(module) as client, pytest.raises(module.ConnectError):
        client.post(url, json=_body("anyone?"))
    assert (opened.recorded, opened.rejects) == ((), ())


def test_a_cancelled_keep_is_finished_all_the_same(module, url, provider, session):
    """Cancelled while its answer is being written: it is kept, once, although the client then closes the body."""

    async def main():
        async with _unsync(module) as client, client.stream("POST", url, json=_body("x", stream=True)) as response:
            stream = response.stream
            while not hasattr(stream, "passage"):
                stream = stream._stream
            kept, go = stream.passage.keep, threading.Event()
            begun = asyncio.Event()
            loop = asyncio.get_running_loop()

            def slow(ending):
                loop.call_soon_threadsafe(begun.set)
                go.wait()
                kept(ending)

            stream.passage.keep = slow
            task = asyncio.create_task(_drain(response))
            await begun.wait()
            task.cancel()
            await asyncio.wait([task])
            stream.passage.keep = kept
            go.set()
            assert task.cancelled()

    with session("once") as opened:
        asyncio.run(main())
    assert [(entry.verdict, entry.ordinal) for entry in opened.recorded] == [("good", 0)]


async def _drain(response):
    async for _ in response.aiter_bytes():
        pass


def _using(using):
    return respx.mock(using=using, assert_all_called=False)


def test_br_084_respx_below_us_is_named(url, session):
    with session("once") as opened, _using("httpcore") as router:
        router.post(url).respond(200, json={"made": "up"})
        with opened.expect_refusal() as expected, _client(httpx) as client:
            client.post(url, json=_body("who answers?"))
    assert isinstance(expected.refusals[0], InteractionNotFound)
    assert "respx and onetake are both active" in str(expected.refusals[0])
    assert opened.recorded == ()


def test_br_084_respx_below_us_is_named_at_replay_too(url, provider, session):
    async def post():
        async with _unsync(httpx) as client:
            await client.post(url, json=_body("who answers?"))

    with session("once"):
        asyncio.run(post())
    with session("none") as opened, _using("httpcore") as router, opened.expect_refusal():
        router.post(url).respond(200)
        asyncio.run(post())
    assert opened.played == ()


def test_br_084_respx_over_us_is_named_at_the_end(url, session):
    with _using("httpx") as router, pytest.raises(AdapterError, match=r"respx .*and onetake are both active"):
        router.post(url).respond(200)
        with session("once"), _client(httpx) as client:
            client.post(url, json=_body("who answers?"))


@pytest.mark.parametrize("using", ["httpcore", "httpx"])
def test_respx_that_passes_the_call_through_is_no_rival(url, provider, session, using):
    with session("once") as opened, _using(using) as router, _client(httpx) as client:
        router.post(url).pass_through()
        client.post(url, json=_body("who answers?"))
    assert len(opened.recorded) == provider.count == 1


def test_respx_on_httpx_is_no_rival_of_httpx2(url, provider, session):
    with session("once") as opened, _using("httpcore"), _client(httpx2) as client:
        client.post(url, json=_body("who answers?"))
    assert len(opened.recorded) == 1


def test_br_084_pytest_httpx_is_named_at_the_end(module, url, session, monkeypatch):
    """It replaces the method that we hook, by a function of its own module."""

    def mocked(self, request):
        return module.Response(200, json={"made": "up"})

    mocked.__module__ = "pytest_httpx._httpx_internals"
    with session("once"), _client(module) as client, pytest.MonkeyPatch.context():
        pass
    with (
        pytest.raises(AdapterError, match=r"pytest-httpx \(on httpx2?\) and onetake"),
        session("none", "mocked"),
        _client(module) as client,
    ):
        monkeypatch.setattr(module.HTTPTransport, "handle_request", mocked)
        client.post(url, json=_body("who answers?"))


def test_instrumentation_over_us_is_no_rival(module, url, provider, session, monkeypatch):
    with session("once") as opened, _client(module) as client:
        hooked = module.HTTPTransport.handle_request

        @functools.wraps(hooked)
        def traced(self, request):
            return hooked(self, request)

        monkeypatch.setattr(module.HTTPTransport, "handle_request", traced)
        client.post(url, json=_body("traced"))
    with session("none") as opened, _client(module) as client:
        client.post(url, json=_body("traced"))
    assert len(opened.played) == provider.count == 1


def test_a_patch_that_was_taken_away_is_put_back(module, url, provider, session, monkeypatch):
    original = module.HTTPTransport.handle_request
    while hasattr(original, "__wrapped__"):
        original = original.__wrapped__
    monkeypatch.setattr(module.HTTPTransport, "handle_request", original)
    with session("once") as opened, _client(module) as client:
        client.post(url, json=_body("still there?"))
    assert len(opened.recorded) == 1


def test_a_web_socket_body_is_never_read_whole(module, url, provider, session):
    """A 101 has no end: under `same` its body must not be waited for."""
    provider.script([replace(openai_chat("x"), status=101, pieces=(), framing="close")])
    with session("once", repeats="same"), _client(module, timeout=5) as client:
        with client.stream("POST", url, json=_body("upgrade")) as response:
            assert response.status_code == 101

"""respx, pytest-httpx and instrumentation beside us on httpx and httpx2."""

from __future__ import annotations

import asyncio
import functools
import ssl

import httpx
import httpx2
import pytest
import respx

from onetake.errors import AdapterError, InteractionNotFound

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


def _client(module, **options):
    return module.Client(verify=_TLS, **options)


def _unsync(module, **options):
    return module.AsyncClient(verify=_TLS, **options)


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


def test_br_084_respx_takes_what_no_route_names(url, session):
    with session("once") as opened, _using("httpcore"), opened.expect_refusal(), _client(httpx) as client:
        client.post(url, json=_body("no route"))
    with session("once", "other") as opened, _using("httpcore") as router, opened.expect_refusal():
        router.route().respond(200)
        with _client(httpx) as client:
            client.post(url, json=_body("any route"))


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

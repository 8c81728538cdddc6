"""vcrpy beside us: of the two one would record or answer unseen, so both are named before anything is paid for."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, nullcontext

import aiohttp
import httpx
import httpx2
import pytest
import requests
import urllib3
import vcr

from onetake.errors import AdapterError, InteractionNotFound


async def _aiohttp(url, body):
    async with aiohttp.ClientSession() as client, client.post(url, json=body) as response:
        return await response.json()


async def _unsync(module, url, body):
    async with module.AsyncClient() as client:
        return (await client.post(url, json=body)).json()


_CLIENTS = {
    "aiohttp": lambda url, body: asyncio.run(_aiohttp(url, body)),
    "httpx": lambda url, body: httpx.post(url, json=body).json(),
    "httpx awaited": lambda url, body: asyncio.run(_unsync(httpx, url, body)),
    "httpx2": lambda url, body: httpx2.post(url, json=body).json(),
    "httpx2 awaited": lambda url, body: asyncio.run(_unsync(httpx2, url, body)),
    "requests": lambda url, body: requests.post(url, json=body).json(),
    "urllib3": lambda url, body: urllib3.request("POST", url, json=body).json(),
}
_OVER_CONNECTIONS = ("requests", "urllib3")


@pytest.fixture(params=_CLIENTS)
def client(request):
    return request.param


@pytest.fixture
def tape(tmp_path):
    """vcrpy's cassette."""
    return lambda **options: vcr.use_cassette(str(tmp_path / "tape.yaml"), **options)


@pytest.fixture
def opened(session, tape):
    """Enter both, vcrpy's inside or outside of the session's, and return the session."""

    def enter(stack, mode, *, inside):
        both = [session(mode), tape()] if inside else [tape(), session(mode)]
        return stack.enter_context(both[0]), stack.enter_context(both[1])

    return lambda stack, mode, inside: enter(stack, mode, inside=inside)[0 if inside else 1]


@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
@pytest.mark.parametrize("mode", ["once", "none"])
def test_br_084_a_call_that_both_would_take_is_refused(mode, inside, client, url, provider, opened, body):
    with ExitStack() as stack:
        session = opened(stack, mode, inside)
        with session.expect_refusal() as expected:
            _CLIENTS[client](url, body("who answers?"))
    assert isinstance(expected.refusals[0], InteractionNotFound)
    assert str(expected.refusals[0]).startswith("vcrpy and onetake are both active on this client")
    assert (session.recorded, provider.count) == ((), 0)


@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
@pytest.mark.parametrize("mode", ["once", "none"])
def test_br_084_a_call_that_vcrpy_answers_is_told(mode, inside, client, url, provider, opened, tape, body):
    with tape():
        _CLIENTS[client](url, body("who answers?"))
    goes_by = client == "aiohttp"  # it answers before a middleware is asked
    ends = pytest.raises(AdapterError, match=r"vcrpy.* and onetake are both active") if goes_by else nullcontext()
    with ends, ExitStack() as stack:
        session = opened(stack, mode, inside)
        with nullcontext() if goes_by else session.expect_refusal():
            _CLIENTS[client](url, body("who answers?"))
    assert (session.recorded, provider.count) == ((), 1)


def test_vcrpy_that_is_closed_is_no_rival(client, url, provider, session, tape, body):
    for mode, count in (("once", 1), ("none", 1)):
        with tape():
            pass
        with session(mode) as running:
            _CLIENTS[client](url, body("who answers?"))
        assert (len(running.entries), provider.count) == (1, count)


def test_vcrpy_that_ignores_the_call_is_no_rival(client, url, provider, session, tape, body):
    if client in _OVER_CONNECTIONS:
        pytest.skip("vcrpy wraps every response of urllib3's connections")
    with session("once") as running, tape(ignore_hosts=["127.0.0.1"]):
        _CLIENTS[client](url, body("who answers?"))
    assert len(running.recorded) == provider.count == 1


def test_calls_after_vcrpy_within_one_session_are_ours(client, url, provider, session, tape, body):
    with session("once") as running:
        with tape():
            pass
        _CLIENTS[client](url, body("who answers?"))
    assert len(running.recorded) == provider.count == 1

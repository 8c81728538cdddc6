"""Sessions in a folder of the test's own, and what the tests of one client share."""

from __future__ import annotations

import asyncio
import gc
import http.client
import json
import ssl
from contextlib import contextmanager

import aiohttp
import httpx
import httpx2
import pytest

from onetake.scopes import use_cassette
from onetake.settings_start import set_start
from onetake.testing.adapter_calls import CHAT


@pytest.fixture
def session(tmp_path):
    """Open a session on a cassette of this test: `session(mode, name="cassette", **options)`."""
    (tmp_path / "onetake.toml").touch()

    @contextmanager
    def opened(mode, name="cassette", **options):
        before = set_start(tmp_path / "program.py")
        try:
            with use_cassette(name, mode=mode, **options) as running:
                yield running
        finally:
            set_start(before)

    return opened


@pytest.fixture(params=[httpx, httpx2], ids=["httpx", "httpx2"])
def module(request):
    """Each of the two modules that one adapter serves."""
    return request.param


_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # one for all: it takes a while to make


@pytest.fixture
def sync_client(module):
    """Make a blocking client of httpx or httpx2: `sync_client(**options)`."""
    return lambda **options: module.Client(verify=_TLS, **options)


@pytest.fixture
def async_client(module):
    """Make an awaited client of httpx or httpx2: `async_client(**options)`."""
    return lambda **options: module.AsyncClient(verify=_TLS, **options)


@pytest.fixture
def url(provider):
    """The provider's chat endpoint."""
    return provider.url + "/v1/chat/completions"


@pytest.fixture
def body():
    """Make a chat request's body: `body(text, **more)`."""
    return lambda text, **more: {"model": "m", "messages": [{"role": "user", "content": text}], **more}


@pytest.fixture
def host(provider):
    """The provider as a pattern of `hosts`, for what is of no known dialect."""
    return provider.url.removeprefix("http://")


@pytest.fixture
def nothing_unclosed(caplog):
    """Check that the test leaves no connection, response or session of aiohttp open: it says so to the loop's log."""
    yield
    gc.collect()
    said = [record.getMessage() for record in caplog.get_records("call") if record.name == "asyncio"]
    assert [line for line in said if "nclosed" in line or "never" in line] == []


@pytest.fixture
def run():
    """Run a coroutine in a loop of its own, which says what it finds wrong: `run(coroutine)`."""
    return lambda coroutine: asyncio.run(asyncio.wait_for(coroutine, 20), debug=True)


@pytest.fixture
def ask():
    """Ask by aiohttp and parse the answer: `await ask(url, body, session=None, **options of the request)`."""

    async def asked(url, body, session=None, **options):
        if session is None:
            async with aiohttp.ClientSession() as session:
                return await asked(url, body, session, **options)
        async with session.post(url, json=body, **options) as response:
            return await response.json()

    return asked


@pytest.fixture
def ask_stream():
    """Ask by aiohttp and read all the bytes: `await ask_stream(url, body)`."""

    async def asked(url, body):
        async with aiohttp.ClientSession() as client, client.post(url, json=body) as response:
            return await response.read()

    return asked


@pytest.fixture
def said():
    """Return the text of a chat's answer: of a parsed one, or of a response that is read here."""

    def found(answer):
        parsed = answer if isinstance(answer, dict) else json.loads(answer.read())
        return parsed["choices"][0]["message"]["content"]

    return found


@pytest.fixture
def connection(provider):
    """A connection of http.client to the provider, not opened yet."""
    opened = http.client.HTTPConnection(provider.url.removeprefix("http://"))
    yield opened
    opened.close()


@pytest.fixture
def post(body):
    """Ask by http.client: `post(connection, text, **options of the request)`."""

    def asked(connection, text, **options):
        connection.request("POST", CHAT, json.dumps(body(text)), {"Content-Type": "application/json"}, **options)
        return connection.getresponse()

    return asked


@pytest.fixture
def twice(session, provider):
    """Make a call live and then with the provider gone: `twice(call, **options of the session)`.

    Gives what it returned both times, and the session that recorded.
    """

    def made(call, **options):
        with session("once", **options) as running:
            first = call()
        provider.close()
        with session("none", **options):
            return first, call(), running

    return made

"""Sessions in a folder of the test's own, and what the tests of one client share."""

from __future__ import annotations

import gc
from contextlib import contextmanager

import httpx
import httpx2
import pytest

from onetake.scopes import set_start, use_cassette


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

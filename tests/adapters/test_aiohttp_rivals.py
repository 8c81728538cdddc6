"""aioresponses stands where this adapter stands: of the two one would answer unseen."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys

import aiohttp
import pytest

from onetake.errors import AdapterError


@pytest.fixture(scope="session")
def aioresponses_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aioresponses")
    install = [sys.executable, "-m", "uv", "pip", "install", "--no-deps", "--target", str(folder), "aioresponses"]
    done = subprocess.run(install, capture_output=True, text=True, timeout=100)
    if done.returncode:
        pytest.skip(f"aioresponses cannot be installed here: {done.stderr.strip()[-200:]}")
    return folder


@pytest.fixture
def aioresponses(aioresponses_folder, monkeypatch):
    """The tool, of a folder of its own: it is none of the environment's."""
    monkeypatch.syspath_prepend(str(aioresponses_folder))
    yield importlib.import_module("aioresponses").aioresponses
    for name in [name for name in sys.modules if name.partition(".")[0] == "aioresponses"]:
        del sys.modules[name]


# An error, as it cannot build the responses of aiohttp 3.14.
_MADE_UP = aiohttp.ClientConnectionError("made up")


def _answered_by_it(url):
    with pytest.raises(aiohttp.ClientConnectionError, match="made up"):
        asyncio.run(_asked(url))


async def _asked(url):
    async with aiohttp.ClientSession() as client, client.post(url, json={}) as response:
        return await response.json()


def test_br_084_it_stands_first(aioresponses, url, provider, session):
    with aioresponses() as mocked:
        mocked.post(url, exception=_MADE_UP)
        with (
            pytest.raises(AdapterError, match=r"aioresponses \(on aiohttp\) and onetake are both active"),
            session("once") as opened,
        ):
            _answered_by_it(url)
    assert (opened.recorded, provider.count) == ((), 0)


def test_br_084_it_comes_over_us(aioresponses, url, provider, session):
    mocked = aioresponses()
    try:
        with (
            pytest.raises(AdapterError, match=r"aioresponses \(on aiohttp\) and onetake are both active"),
            session("once"),
        ):
            mocked.start()
            mocked.post(url, exception=_MADE_UP)
            _answered_by_it(url)
    finally:
        mocked.stop()
    assert provider.count == 0


def test_br_084_it_came_and_went_within_the_session(aioresponses, url, provider, session):
    with (
        pytest.raises(AdapterError, match=r"aioresponses \(on aiohttp\) and onetake are both active"),
        session("once"),
        aioresponses() as mocked,
    ):
        mocked.post(url, exception=_MADE_UP)
        _answered_by_it(url)
    assert provider.count == 0


def test_br_084_it_is_gone_again(aioresponses, url, provider, session):
    with aioresponses() as mocked:
        mocked.post(url, exception=_MADE_UP)
        _answered_by_it(url)
    with session("once") as opened:
        asyncio.run(_asked(url))
    assert len(opened.recorded) == provider.count == 1

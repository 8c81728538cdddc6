"""How a body ends that is closed: left by its caller, or torn away with it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import threading
import urllib.error
import urllib.request
from dataclasses import replace

import aiohttp
import httpx
import pytest
import requests
import urllib3
from lm15 import transports as lm15

import onetake
from onetake.errors import InteractionNotFound
from onetake.passage import is_interrupted
from onetake.testing.provider import openai_stream


def _seen_at_exit(error):
    """Return what is said while a block ends with an error, seen from the block's own `__exit__`."""
    seen = []

    class Closing:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            seen.append(is_interrupted())

    with pytest.raises(type(error)), Closing():
        raise error
    return seen[0]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), asyncio.CancelledError()], ids=repr)
def test_torn_away(error):
    assert _seen_at_exit(error)


@pytest.mark.parametrize("error", [ValueError("parse"), InteractionNotFound("no", "x"), GeneratorExit()], ids=repr)
def test_left(error):
    assert not _seen_at_exit(error)


def test_nothing_on_its_way():
    assert not is_interrupted()


def test_a_generator_between_is_asked_why_it_is_closed():
    seen = []

    def between():
        try:
            yield
        finally:
            seen.append(is_interrupted())

    for error in (asyncio.CancelledError(), ValueError()):
        values = between()
        next(values)
        try:
            raise error
        except BaseException:  # noqa: BLE001 - it must be on its way while the generator is closed
            values.close()
    assert seen == [True, False]


_STREAM = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}


_HEADERS = {"Content-Type": "application/json"}


def _by_urllib(url):
    request = urllib.request.Request(url, json.dumps(_STREAM).encode(), _HEADERS)
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request)


def _by_urllib3(url):
    pool = urllib3.PoolManager()
    return pool.request("POST", url, body=json.dumps(_STREAM), headers=_HEADERS, retries=False, preload_content=False)


def _by_httpx(url):
    client = httpx.Client()
    return client.send(client.build_request("POST", url, json=_STREAM), stream=True)


def _by_lm15(url):
    request = lm15.TransportRequest("POST", url, list(_HEADERS.items()), json.dumps(_STREAM).encode())
    return lm15.StdlibTransport().stream(request)


async def _by_aiohttp(url):
    async with aiohttp.ClientSession() as client:
        response = await client.post(url, json=_STREAM)
        del response
        gc.collect()


def _let_helpers_end():
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "onetake":
            thread.join()


_CALLS = {
    "urllib": _by_urllib,
    "urllib3": _by_urllib3,
    "requests": lambda url: requests.post(url, json=_STREAM, stream=True),
    "httpx": _by_httpx,
    "lm15": _by_lm15,
    "aiohttp": lambda url: asyncio.run(_by_aiohttp(url)),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("call", _CALLS.values(), ids=_CALLS.keys())
@pytest.mark.parametrize("status", [200, 429])
def test_an_answer_that_is_dropped_unread_is_said_not_to_be_recorded(tmp_path, provider, capsys, call, status):
    provider.script([replace(openai_stream("a b c"), hold=(never := threading.Event()), hold_before=1, status=status)])
    with onetake.use_cassette(tmp_path / "c", mode="once") as session:
        with contextlib.suppress(urllib.error.HTTPError):
            call(provider.url + "/v1/chat/completions")
        _let_helpers_end()
        assert (session.recorded, session.refusals) == ((), ())
    never.set()
    said = capsys.readouterr().err
    assert said.count("onetake: an answer was dropped unread, so it is not recorded") == (status == 200)
    assert said.count("/v1/chat/completions") == (status == 200)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("how", ["drops", "closes", "reads-on"])
def test_a_call_that_is_under_way_at_a_fork_is_the_parents_and_one_entry(tmp_path, provider, how):
    client = httpx.Client()
    with onetake.use_cassette(tmp_path / "c", mode="new_episodes") as session:
        request = client.build_request("POST", provider.url + "/v1/chat/completions", json=_STREAM)
        response = client.send(request, stream=True)
        chunks, came = response.iter_raw(), b""
        while b"[DONE]" not in came:
            came += next(chunks)
        pid = os.fork()
        if not pid:
            if how == "drops":
                del chunks, response
                gc.collect()
            elif how == "closes":
                response.close()
            else:
                list(chunks)
            _let_helpers_end()
            os._exit(len(session.recorded))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        response.close()
        assert (provider.count, len(session.recorded), len(session.entries)) == (1, 1, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_function_that_forks_while_it_is_called_is_one_entry(tmp_path):
    @onetake.recorded
    def ask(text):
        return f"child of {text}" if os.fork() == 0 else f"answer to {text}"

    with onetake.use_cassette(tmp_path / "c", mode="new_episodes") as session:
        said = ask("x")
        if said == "child of x":
            os._exit(len(session.recorded))
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
        assert [said, len(session.recorded), len(session.entries)] == ["answer to x", 1, 1]

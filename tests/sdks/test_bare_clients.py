"""Programs without an SDK: requests, urllib.request, aiohttp, httpx and httpx2 by themselves."""

from __future__ import annotations

import asyncio
import json

import pytest

BODY = {"model": "m", "messages": [{"role": "user", "content": "name a city"}]}
TEXT = "answer 1 to: name a city"


def _said(answer):
    return answer["choices"][0]["message"]["content"]


@pytest.mark.sdk("requests")
def test_requests(recorded_once):
    import requests

    def ask(url):
        return requests.post(url + "/v1/chat/completions", json=BODY, timeout=10).json()

    assert _said(recorded_once("post", ask, client="urllib3", dialect="openai-chat")) == TEXT


@pytest.mark.sdk("requests")
def test_requests_stream(recorded_once):
    import requests

    def ask(url):
        body = BODY | {"stream": True}
        with requests.post(url + "/v1/chat/completions", json=body, stream=True, timeout=10) as response:
            return [line.decode() for line in response.iter_lines()]

    assert "data: [DONE]" in recorded_once("post, stream", ask, client="urllib3", dialect="openai-chat")


@pytest.mark.sdk("pytest")
def test_urllib_request(recorded_once):
    from urllib.request import Request, urlopen

    def ask(url):
        headers = {"content-type": "application/json"}
        with urlopen(Request(url + "/v1/chat/completions", json.dumps(BODY).encode(), headers), timeout=10) as response:
            return json.loads(response.read())

    assert _said(recorded_once("urllib.request", ask, client="http.client", dialect="openai-chat")) == TEXT


@pytest.mark.sdk("aiohttp")
def test_aiohttp(recorded_once):
    import aiohttp

    async def call(url):
        async with (
            aiohttp.ClientSession() as session,
            session.post(url + "/v1/chat/completions", json=BODY) as response,
        ):
            return await response.json()

    got = recorded_once("post", lambda url: asyncio.run(call(url)), client="aiohttp", dialect="openai-chat")
    assert _said(got) == TEXT


@pytest.mark.sdk("aiohttp")
def test_aiohttp_stream(recorded_once):
    import aiohttp

    async def call(url):
        async with (
            aiohttp.ClientSession() as session,
            session.post(url + "/v1/chat/completions", json=BODY | {"stream": True}) as response,
        ):
            return [line.decode() async for line in response.content]

    got = recorded_once("post, stream", lambda url: asyncio.run(call(url)), client="aiohttp", dialect="openai-chat")
    assert "data: [DONE]\n" in got


@pytest.mark.sdk("httpx")
def test_httpx(recorded_once):
    import httpx

    def ask(url):
        return httpx.post(url + "/v1/chat/completions", json=BODY).json()

    assert _said(recorded_once("post", ask, client="httpx", dialect="openai-chat")) == TEXT


@pytest.mark.sdk("httpx2")
def test_httpx2(recorded_once):
    import httpx2

    def ask(url):
        return httpx2.post(url + "/v1/chat/completions", json=BODY).json()

    assert _said(recorded_once("post", ask, client="httpx2", dialect="openai-chat")) == TEXT

"""mistralai, over httpx2 (older versions: httpx)."""

from __future__ import annotations

import asyncio

import pytest

pytestmark = pytest.mark.sdk("mistralai")

ASKED = {"model": "m", "messages": [{"role": "user", "content": "name a city"}]}
TEXT = "answer 1 to: name a city"


def client_of(url):
    try:
        from mistralai.client import Mistral
    except ImportError:
        from mistralai import Mistral

    return Mistral(api_key="test", server_url=url)


def carrier():
    """Name the client that this version of the SDK is built on."""
    import importlib

    try:
        module = importlib.import_module("mistralai.client.httpclient")
    except ImportError:
        module = importlib.import_module("mistralai.httpclient")
    return "httpx2" if getattr(module, "httpx", module).__name__ == "httpx2" or hasattr(module, "httpx2") else "httpx"


def test_sync(recorded_once):
    def ask(url):
        with client_of(url) as client:
            return client.chat.complete(**ASKED).choices[0].message.content

    assert recorded_once("chat", ask, client=carrier(), dialect="openai-chat") == TEXT


def test_stream(recorded_once):
    def ask(url):
        with client_of(url) as client, client.chat.stream(**ASKED) as stream:
            return [event.data.choices[0].delta.content for event in stream]

    assert "".join(filter(None, recorded_once("chat, stream", ask, client=carrier(), dialect="openai-chat"))) == TEXT


def test_async(recorded_once):
    async def call(url):
        async with client_of(url) as client:
            return (await client.chat.complete_async(**ASKED)).choices[0].message.content

    got = recorded_once("chat, async", lambda url: asyncio.run(call(url)), client=carrier(), dialect="openai-chat")
    assert got == TEXT

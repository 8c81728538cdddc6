"""google-genai: blocking over httpx2 (older versions: httpx), awaited over aiohttp where that is installed."""

from __future__ import annotations

import asyncio

import pytest

pytestmark = pytest.mark.sdk("google.genai", "google-genai")

ASKED = {"model": "gemini-3-flash", "contents": "name a city"}
TEXT = "answer 1 to: name a city"


def client_of(url):
    from google import genai

    return genai.Client(api_key="test-key", http_options={"base_url": url})


def carrier():
    """Name the client that this version of the SDK is built on."""
    from google.genai import _api_client

    return "httpx2" if hasattr(_api_client, "httpx2") or hasattr(_api_client, "SyncHttpx2Client") else "httpx"


def test_sync(recorded_once):
    def ask(url):
        client = client_of(url)
        return client.models.generate_content(**ASKED).text

    assert recorded_once("generateContent", ask, client=carrier(), dialect="gemini") == TEXT


def test_stream(recorded_once):
    def ask(url):
        client = client_of(url)
        return [chunk.text for chunk in client.models.generate_content_stream(**ASKED)]

    assert (
        "".join(filter(None, recorded_once("streamGenerateContent", ask, client=carrier(), dialect="gemini"))) == TEXT
    )


def test_async(recorded_once):
    async def call(url):
        client = client_of(url).aio
        try:
            return (await client.models.generate_content(**ASKED)).text
        finally:
            await client.aclose()

    got = recorded_once(
        "generateContent, async", lambda url: asyncio.run(call(url)), client="aiohttp", dialect="gemini"
    )
    assert got == TEXT


def test_async_stream(recorded_once):
    async def call(url):
        client = client_of(url).aio
        try:
            return [chunk.text async for chunk in await client.models.generate_content_stream(**ASKED)]
        finally:
            await client.aclose()

    got = recorded_once(
        "streamGenerateContent, async", lambda url: asyncio.run(call(url)), client="aiohttp", dialect="gemini"
    )
    assert "".join(filter(None, got)) == TEXT


def test_structured(recorded_once):
    import pydantic

    class City(pydantic.BaseModel):
        name: str
        people: int

    def ask(url):
        config = {"response_mime_type": "application/json", "response_schema": City}
        client = client_of(url)
        return client.models.generate_content(config=config, **ASKED).parsed.model_dump()

    got = recorded_once("generateContent, responseSchema", ask, client=carrier(), dialect="gemini")
    assert "answer 1 to" in got["name"]

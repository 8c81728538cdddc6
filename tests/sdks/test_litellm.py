"""litellm: blocking over httpx, awaited over aiohttp below httpx, whatever the provider."""

from __future__ import annotations

import asyncio
import importlib.util

import pytest

pytestmark = pytest.mark.sdk("litellm")

MESSAGES = [{"role": "user", "content": "name a city"}]
TEXT = "answer 1 to: name a city"
AWS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "aws_region_name": "us-east-1"}


def asked(url, model="openai/m", **more):
    base = url + "/v1" if model.startswith("openai/") else url
    return {"model": model, "messages": MESSAGES, "api_base": base, "api_key": "sk-test", "num_retries": 0, **more}


def said(answer):
    return answer.choices[0].message.content


async def closed(result):
    """Close the pool that litellm keeps for a loop, so that the next loop has its own; older versions have no such."""
    import litellm

    if close := getattr(litellm, "close_litellm_async_clients", None):
        await close()
    return result


def awaited():
    """Name the client below litellm's awaited calls: older versions stay on httpx."""
    return "aiohttp" if importlib.util.find_spec("litellm.llms.custom_httpx.aiohttp_transport") else "httpx"


def test_sync(recorded_once):
    import litellm

    assert recorded_once("openai", lambda url: said(litellm.completion(**asked(url))), **OPENAI_SYNC) == TEXT


def test_stream(recorded_once):
    import litellm

    def ask(url):
        return [chunk.choices[0].delta.content for chunk in litellm.completion(stream=True, **asked(url))]

    assert "".join(filter(None, recorded_once("openai, stream", ask, **OPENAI_SYNC))) == TEXT


def test_async(recorded_once):
    import litellm

    async def call(url):
        return await closed(said(await litellm.acompletion(**asked(url))))

    assert (
        recorded_once("openai, async", lambda url: asyncio.run(call(url)), client=awaited(), dialect="openai-chat")
        == TEXT
    )


def test_async_stream(recorded_once):
    import litellm

    async def call(url):
        stream = await litellm.acompletion(stream=True, **asked(url))
        return await closed([chunk.choices[0].delta.content async for chunk in stream])

    got = recorded_once(
        "openai, async stream", lambda url: asyncio.run(call(url)), client=awaited(), dialect="openai-chat"
    )
    assert "".join(filter(None, got)) == TEXT


def test_anthropic(recorded_once):
    import litellm

    def ask(url):
        return said(litellm.completion(**asked(url, "anthropic/claude")))

    assert recorded_once("anthropic", ask, client="httpx", dialect="anthropic-messages") == TEXT


def test_anthropic_async(recorded_once):
    import litellm

    async def call(url):
        return await closed(said(await litellm.acompletion(**asked(url, "anthropic/claude"))))

    got = recorded_once(
        "anthropic, async", lambda url: asyncio.run(call(url)), client=awaited(), dialect="anthropic-messages"
    )
    assert got == TEXT


def test_bedrock(recorded_once):
    import litellm

    def ask(url):
        wanted = asked(url, "bedrock/converse/amazon.nova-lite-v1:0", aws_bedrock_runtime_endpoint=url, **AWS)
        del wanted["api_base"], wanted["api_key"]
        return said(litellm.completion(**wanted))

    assert recorded_once("bedrock converse", ask, client="httpx", dialect="bedrock-converse") == TEXT


OPENAI_SYNC = {"client": "httpx", "dialect": "openai-chat"}

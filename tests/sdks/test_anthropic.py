"""The anthropic SDK, over httpx2 and over aiohttp."""

from __future__ import annotations

import asyncio

import pytest

pytestmark = pytest.mark.sdk("anthropic")


@pytest.fixture
def carrier(base_of):
    return base_of("anthropic")


ASKED = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "name a city"}]}
TOOL = {
    "name": "look_up",
    "description": "",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def client_of(url, kind="Anthropic", **options):
    import anthropic

    return getattr(anthropic, kind)(base_url=url, api_key="sk-ant-test", **options)


def test_sync(recorded_once, carrier):
    def ask(url):
        with client_of(url) as client:
            return client.messages.create(**ASKED).to_dict()

    got = recorded_once("messages", ask, client=carrier, dialect="anthropic-messages")
    assert got["content"][0]["text"] == "answer 1 to: name a city"


def test_stream(recorded_once, carrier):
    def ask(url):
        with client_of(url) as client, client.messages.stream(**ASKED) as stream:
            return ["".join(stream.text_stream), stream.get_final_message().to_dict()]

    got = recorded_once("messages, stream", ask, client=carrier, dialect="anthropic-messages")
    assert got[0] == "answer 1 to: name a city"


def test_async(recorded_once, carrier):
    async def call(url):
        async with client_of(url, "AsyncAnthropic") as client:
            return (await client.messages.create(**ASKED)).to_dict()

    recorded_once("messages, async", lambda url: asyncio.run(call(url)), client=carrier, dialect="anthropic-messages")


def test_async_stream(recorded_once, carrier):
    async def call(url):
        async with client_of(url, "AsyncAnthropic") as client, client.messages.stream(**ASKED) as stream:
            return [text async for text in stream.text_stream]

    got = recorded_once(
        "messages, async stream", lambda url: asyncio.run(call(url)), client=carrier, dialect="anthropic-messages"
    )
    assert "".join(got) == "answer 1 to: name a city"


def test_tools(recorded_once, carrier):
    def ask(url):
        with client_of(url) as client:
            answer = client.messages.create(tools=[TOOL], tool_choice={"type": "any"}, **ASKED)
            return [[block.name, block.input] for block in answer.content if block.type == "tool_use"]

    ((name, given),) = recorded_once("messages, tools", ask, client=carrier, dialect="anthropic-messages")
    assert (name, list(given)) == ("look_up", ["city"])


def test_over_aiohttp(recorded_once):
    import anthropic

    if not hasattr(anthropic, "DefaultAioHttpClient"):
        pytest.skip("this version of the anthropic SDK has no aiohttp client")

    async def call(url):
        async with client_of(url, "AsyncAnthropic", http_client=anthropic.DefaultAioHttpClient()) as client:
            return (await client.messages.create(**ASKED)).to_dict()

    recorded_once(
        "messages, async, aiohttp client",
        lambda url: asyncio.run(call(url)),
        client="aiohttp",
        dialect="anthropic-messages",
    )

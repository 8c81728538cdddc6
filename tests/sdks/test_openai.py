"""The openai SDK, over httpx2, over aiohttp, and over a program's own httpx client."""

from __future__ import annotations

import asyncio
import json

import pytest

pytestmark = pytest.mark.sdk("openai")


@pytest.fixture
def carrier(base_of):
    return base_of("openai")


ASKED = {"model": "m", "messages": [{"role": "user", "content": "name a city"}]}
TOOL = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def client_of(url, kind="OpenAI", **options):
    import openai

    return getattr(openai, kind)(base_url=url + "/v1", api_key="sk-test", **options)


def test_sync(recorded_once, carrier):
    def ask(url):
        with client_of(url) as client:
            return client.chat.completions.create(**ASKED).to_dict()

    got = recorded_once("chat", ask, client=carrier, dialect="openai-chat")
    assert got["choices"][0]["message"]["content"] == "answer 1 to: name a city"


def test_stream(recorded_once, carrier):
    def ask(url):
        with client_of(url) as client:
            return [chunk.to_dict() for chunk in client.chat.completions.create(stream=True, **ASKED)]

    got = recorded_once("chat, stream", ask, client=carrier, dialect="openai-chat")
    assert "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in got) == "answer 1 to: name a city"


def test_async(recorded_once, carrier):
    async def call(url):
        async with client_of(url, "AsyncOpenAI") as client:
            return (await client.chat.completions.create(**ASKED)).to_dict()

    recorded_once("chat, async", lambda url: asyncio.run(call(url)), client=carrier, dialect="openai-chat")


def test_async_stream(recorded_once, carrier):
    async def call(url):
        async with client_of(url, "AsyncOpenAI") as client:
            return [chunk.to_dict() async for chunk in await client.chat.completions.create(stream=True, **ASKED)]

    got = recorded_once("chat, async stream", lambda url: asyncio.run(call(url)), client=carrier, dialect="openai-chat")
    assert len(got) > 2


def test_raw_response(recorded_once, carrier):
    def ask(url):
        with client_of(url) as client:
            raw = client.chat.completions.with_raw_response.create(**ASKED)
            return [raw.status_code, raw.headers["content-type"], raw.content.decode(), raw.parse().to_dict()]

    got = recorded_once("chat, raw response", ask, client=carrier, dialect="openai-chat")
    assert json.loads(got[2]) == got[3]


def test_tools(recorded_once, carrier):
    function = {"name": "look_up", "description": "", "parameters": TOOL, "strict": True}

    def ask(url):
        with client_of(url) as client:
            tools = [{"type": "function", "function": function}]
            answer = client.chat.completions.create(tools=tools, tool_choice="required", **ASKED)
            return [call.function.to_dict() for call in answer.choices[0].message.tool_calls]

    (call,) = recorded_once("chat, tools", ask, client=carrier, dialect="openai-chat")
    assert call["name"] == "look_up"
    assert "answer 1 to" in json.loads(call["arguments"])["city"]


def test_parse(recorded_once, carrier):
    import pydantic

    class City(pydantic.BaseModel):
        name: str
        people: int

    def ask(url):
        with client_of(url) as client:
            parse = getattr(client.chat.completions, "parse", None) or client.beta.chat.completions.parse
            return parse(response_format=City, **ASKED).choices[0].message.parsed.model_dump()

    got = recorded_once("chat, parse", ask, client=carrier, dialect="openai-chat")
    assert "answer 1 to" in got["name"]


def test_embeddings(recorded_once, carrier):
    def ask(url):
        with client_of(url) as client:
            return client.embeddings.create(model="m", input=["a", "b"]).to_dict()

    assert len(recorded_once("embeddings", ask, client=carrier, dialect="openai-embeddings/")["data"]) == 2


def test_over_aiohttp(recorded_once):
    import openai

    if not hasattr(openai, "DefaultAioHttpClient"):
        pytest.skip("this version of the openai SDK has no aiohttp client")

    async def call(url):
        async with client_of(url, "AsyncOpenAI", http_client=openai.DefaultAioHttpClient()) as client:
            return (await client.chat.completions.create(**ASKED)).to_dict()

    recorded_once(
        "chat, async, aiohttp client", lambda url: asyncio.run(call(url)), client="aiohttp", dialect="openai-chat"
    )


def test_over_aiohttp_stream(recorded_once):
    import openai

    if not hasattr(openai, "DefaultAioHttpClient"):
        pytest.skip("this version of the openai SDK has no aiohttp client")

    async def call(url):
        async with client_of(url, "AsyncOpenAI", http_client=openai.DefaultAioHttpClient()) as client:
            return [chunk.to_dict() async for chunk in await client.chat.completions.create(stream=True, **ASKED)]

    got = recorded_once(
        "chat, async stream, aiohttp client",
        lambda url: asyncio.run(call(url)),
        client="aiohttp",
        dialect="openai-chat",
    )
    assert len(got) > 2


def test_users_own_httpx_client(recorded_once):
    import httpx

    def ask(url):
        with httpx.Client() as inner:
            return client_of(url, http_client=inner).chat.completions.create(**ASKED).to_dict()

    recorded_once("chat, own httpx client", ask, client="httpx", dialect="openai-chat")


def test_responses(recorded_once, carrier):
    def ask(url):
        with client_of(url) as client:
            return client.responses.create(model="m", input="name a city").to_dict()

    got = recorded_once("responses", ask, client=carrier, dialect="openai-responses")
    assert got["output"][0]["content"][0]["text"] == "answer 1 to: name a city"


def test_responses_stream(recorded_once, carrier):
    def ask(url):
        with client_of(url) as client:
            return [event.to_dict() for event in client.responses.create(model="m", input="name a city", stream=True)]

    got = recorded_once("responses, stream", ask, client=carrier, dialect="openai-responses")
    assert got[-1]["type"] == "response.completed"


def test_responses_async_stream(recorded_once, carrier):
    async def call(url):
        async with client_of(url, "AsyncOpenAI") as client:
            stream = await client.responses.create(model="m", input="name a city", stream=True)
            return [event.to_dict() async for event in stream]

    got = recorded_once(
        "responses, async stream", lambda url: asyncio.run(call(url)), client=carrier, dialect="openai-responses"
    )
    assert got[-1]["type"] == "response.completed"

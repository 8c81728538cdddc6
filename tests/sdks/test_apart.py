"""SDKs that do not go together with the others; `scripts/matrix` has an environment for each."""

from __future__ import annotations

import asyncio

import pytest

BODY = {"model": "m", "messages": [{"role": "user", "content": "name a city"}]}
TEXT = "answer 1 to: name a city"


@pytest.mark.sdk("instructor")
def test_instructor(recorded_once):
    import instructor
    import openai
    import pydantic

    class City(pydantic.BaseModel):
        name: str

    modules = {base.__module__.partition(".")[0] for base in openai.DefaultHttpxClient.__mro__}
    carrier = next(name for name in ("httpx2", "httpx") if name in modules)

    def ask(url):
        client = instructor.from_openai(openai.OpenAI(base_url=url + "/v1", api_key="sk-test", max_retries=0))
        return client.chat.completions.create(response_model=City, max_retries=0, **BODY).model_dump()

    got = recorded_once("from_openai", ask, client=carrier, dialect="openai-chat")
    assert "answer 1 to" in got["name"]


@pytest.mark.sdk("niquests")
def test_niquests(recorded_once):
    import niquests

    def ask(url):
        answer = niquests.post(url + "/v1/chat/completions", json=BODY, timeout=10).json()
        return answer["choices"][0]["message"]["content"]

    assert recorded_once("post", ask, client="urllib3-future", dialect="openai-chat") == TEXT


@pytest.mark.sdk("niquests")
def test_niquests_async(recorded_once):
    import niquests

    async def call(url):
        async with niquests.AsyncSession() as session:
            answer = await session.post(url + "/v1/chat/completions", json=BODY, timeout=10)
            return answer.json()["choices"][0]["message"]["content"]

    assert (
        recorded_once("post, async", lambda url: asyncio.run(call(url)), client="urllib3-future", dialect="openai-chat")
        == TEXT
    )


@pytest.mark.sdk("niquests")
def test_niquests_stream(recorded_once):
    import niquests

    def ask(url):
        with niquests.post(url + "/v1/chat/completions", json=BODY | {"stream": True}, stream=True) as answer:
            return b"".join(answer.iter_content())

    got = recorded_once("post, stream", ask, client="urllib3-future", dialect="openai-chat")
    assert got.endswith(b"data: [DONE]\n\n")


@pytest.mark.sdk("niquests")
def test_niquests_async_stream(recorded_once):
    import niquests

    async def call(url):
        async with niquests.AsyncSession() as session:
            answer = await session.post(url + "/v1/chat/completions", json=BODY | {"stream": True}, stream=True)
            return b"".join([chunk async for chunk in await answer.iter_content()])

    got = recorded_once(
        "post, async stream", lambda url: asyncio.run(call(url)), client="urllib3-future", dialect="openai-chat"
    )
    assert got.endswith(b"data: [DONE]\n\n")

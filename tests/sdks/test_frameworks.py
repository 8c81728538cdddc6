"""langchain-openai and pydantic-ai: programs that sit on another SDK."""

from __future__ import annotations

import asyncio

import pytest

TEXT = "answer 1 to: name a city"


@pytest.fixture
def carrier(base_of):
    return base_of("openai")


@pytest.mark.sdk("langchain_openai", "langchain-openai")
class TestLangchain:
    def model(self, url):
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(model="m", base_url=url + "/v1", api_key="sk-test", max_retries=0)

    def test_sync(self, recorded_once, carrier):
        got = recorded_once(
            "invoke", lambda url: self.model(url).invoke("name a city").content, client=carrier, dialect="openai-chat"
        )
        assert got == TEXT

    def test_stream(self, recorded_once, carrier):
        def ask(url):
            return [chunk.content for chunk in self.model(url).stream("name a city")]

        assert "".join(recorded_once("stream", ask, client=carrier, dialect="openai-chat")) == TEXT

    def test_async(self, recorded_once, carrier):
        async def call(url):
            return (await self.model(url).ainvoke("name a city")).content

        got = recorded_once("ainvoke", lambda url: asyncio.run(call(url)), client=carrier, dialect="openai-chat")
        assert got == TEXT


@pytest.mark.sdk("pydantic_ai", "pydantic-ai-slim")
class TestPydanticAI:
    def agent(self, url):
        from pydantic_ai import Agent
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        return Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=url + "/v1", api_key="sk-test")))

    def test_run_sync(self, recorded_once, carrier):
        def ask(url):
            return self.agent(url).run_sync("name a city").output

        assert recorded_once("run_sync", ask, client=carrier, dialect="openai-chat") == TEXT

    def test_run_stream(self, recorded_once, carrier):
        async def call(url):
            async with self.agent(url).run_stream("name a city") as result:
                return [text async for text in result.stream_text(delta=True)]

        got = recorded_once("run_stream", lambda url: asyncio.run(call(url)), client=carrier, dialect="openai-chat")
        assert "".join(got) == TEXT

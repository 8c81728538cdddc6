"""cohere, groq and ollama, over httpx."""

from __future__ import annotations

import asyncio

import pytest

MESSAGES = [{"role": "user", "content": "name a city"}]
TEXT = "answer 1 to: name a city"


@pytest.mark.sdk("cohere")
class TestCohere:
    def client(self, url, kind="ClientV2"):
        import cohere

        return getattr(cohere, kind)(api_key="test", base_url=url)

    def test_sync(self, recorded_once):
        def ask(url):
            return self.client(url).chat(model="m", messages=MESSAGES).message.content[0].text

        assert recorded_once("v2 chat", ask, client="httpx", dialect="cohere", hosts=True) == TEXT

    def test_stream(self, recorded_once):
        def ask(url):
            events = self.client(url).chat_stream(model="m", messages=MESSAGES)
            return [event.delta.message.content.text for event in events if event.type == "content-delta"]

        assert "".join(recorded_once("v2 chat, stream", ask, client="httpx", dialect="cohere", hosts=True)) == TEXT

    def test_async(self, recorded_once):
        async def call(url):
            async with self.client(url, "AsyncClientV2") as client:
                return (await client.chat(model="m", messages=MESSAGES)).message.content[0].text

        got = recorded_once(
            "v2 chat, async", lambda url: asyncio.run(call(url)), client="httpx", dialect="cohere", hosts=True
        )
        assert got == TEXT


@pytest.mark.sdk("groq")
class TestGroq:
    def test_sync(self, recorded_once):
        import groq

        def ask(url):
            with groq.Groq(api_key="test", base_url=url) as client:
                return client.chat.completions.create(model="m", messages=MESSAGES).choices[0].message.content

        assert recorded_once("chat", ask, client="httpx", dialect="openai-chat") == TEXT

    def test_stream(self, recorded_once):
        import groq

        def ask(url):
            with groq.Groq(api_key="test", base_url=url) as client:
                chunks = client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
                return [chunk.choices[0].delta.content for chunk in chunks]

        assert "".join(filter(None, recorded_once("chat, stream", ask, client="httpx", dialect="openai-chat"))) == TEXT


@pytest.mark.sdk("ollama")
class TestOllama:
    def test_chat(self, recorded_once):
        import ollama

        def ask(url):
            return ollama.Client(host=url).chat(model="m", messages=MESSAGES).message.content

        assert recorded_once("chat", ask, client="httpx", dialect="ollama", hosts=True) == TEXT

    def test_chat_stream(self, recorded_once):
        import ollama

        def ask(url):
            stream = ollama.Client(host=url).chat(model="m", messages=MESSAGES, stream=True)
            return [part.message.content for part in stream]

        assert "".join(recorded_once("chat, stream", ask, client="httpx", dialect="ollama", hosts=True)) == TEXT

    def test_generate_async(self, recorded_once):
        import ollama

        async def call(url):
            return (await ollama.AsyncClient(host=url).generate(model="m", prompt="name a city")).response

        got = recorded_once(
            "generate, async", lambda url: asyncio.run(call(url)), client="httpx", dialect="ollama", hosts=True
        )
        assert got == TEXT

"""The real SDKs, as programs use them: record, then replay with the provider gone."""

from __future__ import annotations

import asyncio

import anthropic
import openai
import pydantic
import pytest

from onetake.errors import InteractionNotFound
from onetake.testing.provider import anthropic_error, anthropic_message, openai_chat, openai_error

_SAID = [{"role": "user", "content": "name a city"}]
_TOOL = {
    "name": "look_up",
    "description": "",
    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
}


class City(pydantic.BaseModel):
    name: str
    people: int


def _openai(provider, kind=openai.OpenAI, **options):
    return kind(base_url=provider.url + "/v1", api_key="sk-test", **options)


def _anthropic(provider, kind=anthropic.Anthropic, **options):
    return kind(base_url=provider.url, api_key="sk-ant-test", **options)


def _asked(**more):
    return {"model": "m", "messages": _SAID, **more}


def _claude(**more):
    return {"model": "m", "max_tokens": 9, "messages": _SAID, **more}


def _openai_stream(provider):
    with _openai(provider) as client, client.chat.completions.create(**_asked(stream=True)) as stream:
        return [chunk.to_json() for chunk in stream]


async def _openai_async(provider):
    async with _openai(provider, openai.AsyncOpenAI) as client:
        return (await client.chat.completions.create(**_asked())).to_json()


async def _openai_async_stream(provider):
    async with _openai(provider, openai.AsyncOpenAI) as client:
        return [chunk.to_json() async for chunk in await client.chat.completions.create(**_asked(stream=True))]


def _openai_raw(provider):
    with _openai(provider) as client:
        raw = client.chat.completions.with_raw_response.create(**_asked())
        return [raw.status_code, raw.headers["content-type"], raw.content, raw.parse().to_json()]


def _openai_streaming_response(provider):
    with _openai(provider) as client, client.chat.completions.with_streaming_response.create(**_asked()) as response:
        return [response.headers["content-type"], b"".join(response.iter_bytes())]


def _openai_tools(provider):
    with _openai(provider) as client:
        tools = [{"type": "function", "function": _TOOL}]
        answer = client.chat.completions.create(**_asked(tools=tools, tool_choice="required"))
        return [call.function.to_json() for call in answer.choices[0].message.tool_calls]


def _openai_parse(provider):
    with _openai(provider) as client:
        return client.chat.completions.parse(**_asked(response_format=City)).choices[0].message.parsed


def _openai_embeddings(provider):
    with _openai(provider) as client:
        return client.embeddings.create(model="e", input=["a", "b"]).data[1].embedding


def _openai_stream_helper(provider):
    with _openai(provider) as client, client.chat.completions.stream(**_asked()) as stream:
        return [[event.type for event in stream], stream.get_final_completion().choices[0].message.content]


def _anthropic_plain(provider):
    with _anthropic(provider) as client:
        return client.messages.create(**_claude()).to_json()


def _anthropic_stream(provider):
    with _anthropic(provider) as client, client.messages.stream(**_claude()) as stream:
        return [list(stream.text_stream), stream.get_final_message().to_json()]


async def _anthropic_async_stream(provider):
    async with _anthropic(provider, anthropic.AsyncAnthropic) as client, client.messages.stream(**_claude()) as stream:
        return [event.type async for event in stream]


def _anthropic_raw(provider):
    with _anthropic(provider) as client:
        raw = client.messages.with_raw_response.create(**_claude())
        return [raw.headers["content-type"], raw.parse().to_json()]


def _anthropic_tools(provider):
    tool = {"name": "look_up", "input_schema": _TOOL["parameters"]}
    with _anthropic(provider) as client:
        answer = client.messages.create(**_claude(tools=[tool], tool_choice={"type": "any"}))
        return [block.input for block in answer.content]


_WAYS = [
    _openai_stream,
    _openai_async,
    _openai_async_stream,
    _openai_raw,
    _openai_streaming_response,
    _openai_tools,
    _openai_parse,
    _openai_embeddings,
    _openai_stream_helper,
    _anthropic_plain,
    _anthropic_stream,
    _anthropic_async_stream,
    _anthropic_raw,
    _anthropic_tools,
]


@pytest.mark.parametrize("way", _WAYS, ids=lambda way: way.__name__.strip("_"))
def test_br_055_what_the_program_got_it_gets_again(session, provider, way):
    def call():
        given = way(provider)
        return asyncio.run(given) if asyncio.iscoroutine(given) else given

    hosts = [provider.url.removeprefix("http://")]  # embeddings are of no dialect: on loopback they must be asked for
    with session("once", hosts=hosts) as opened:
        first = call()
    assert first
    assert [entry.verdict for entry in opened.recorded] == ["good"]
    assert opened.recorded[0].answer is not None or way is _openai_embeddings
    provider.close()
    with session("none", hosts=hosts):
        assert call() == first


@pytest.mark.parametrize("way", [_openai_async_stream, _anthropic_async_stream], ids=["openai", "anthropic"])
def test_br_053_an_awaited_stream_ends_at_replay(session, provider, way):
    with session("once"):
        first = asyncio.run(way(provider))
    provider.close()
    with session("none"):
        assert len(asyncio.run(asyncio.wait_for(way(provider), 20))) == len(first)


def test_br_117_the_sdk_retries_and_only_the_success_is_stored(session, provider):
    provider.script([openai_error(429), openai_error(503), openai_chat("third time lucky")])
    with session("once") as opened, _openai(provider, max_retries=2) as client:
        assert client.chat.completions.create(**_asked()).choices[0].message.content == "third time lucky"
    assert [(entry.response.status, entry.ordinal) for entry in opened.recorded] == [(200, 0)]
    provider.close()
    with session("none") as opened, _openai(provider, max_retries=2) as client:
        assert client.chat.completions.create(**_asked()).choices[0].message.content == "third time lucky"
    assert len(opened.requests) == 1


def test_br_117_anthropic_too(session, provider):
    provider.script([anthropic_error(529, "Overloaded", "overloaded_error"), anthropic_message("second")])
    with session("once") as opened, _anthropic(provider, max_retries=2) as client:
        assert client.messages.create(**_claude()).content[0].text == "second"
    assert [entry.ordinal for entry in opened.recorded] == [0]


@pytest.mark.parametrize("make", [_openai, _anthropic], ids=["openai", "anthropic"])
def test_br_048_a_miss_is_neither_retried_nor_renamed(session, provider, make):
    def ask(client):
        return client.chat.completions.create(**_asked()) if make is _openai else client.messages.create(**_claude())

    with session("none") as opened, opened.expect_refusal(), make(provider, max_retries=2) as client:
        try:
            ask(client)
        except Exception:  # noqa: BLE001 - what programs do
            pytest.fail("an SDK's or the program's `except Exception` must not see a miss")
    assert (len(opened.requests), len(opened.refusals), provider.count) == (1, 1, 0)


def test_br_048_a_miss_that_is_swallowed_comes_up_at_the_end(session, provider):
    def main():
        with session("none"), _openai(provider) as client:
            try:
                client.chat.completions.create(**_asked())
            except BaseException:  # noqa: BLE001 - what a framework does
                return "connection failed"
        return None

    with pytest.raises(InteractionNotFound):
        main()


def test_a_blocking_sdk_inside_a_running_loop(session, provider):
    async def main():
        with _openai(provider) as client:
            return client.chat.completions.create(**_asked()).choices[0].message.content

    with session("once"):
        first = asyncio.run(main())
    provider.close()
    with session("none"):
        assert asyncio.run(main()) == first

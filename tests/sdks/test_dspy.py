"""dspy: its default engine speaks over sockets of its own (a vendored lm15), the other one is litellm."""

from __future__ import annotations

import asyncio

import pytest

pytestmark = pytest.mark.sdk("dspy")

MESSAGES = [{"role": "user", "content": "name a city"}]
TEXT = "answer 1 to: name a city"


def model(url, **options):
    import dspy

    return dspy.LM("openai/m", api_base=url + "/v1", api_key="sk-test", cache=False, num_retries=0, **options)


def has_engines():
    import dspy

    return "engine" in getattr(dspy.LM.__init__, "__annotations__", {}) or _takes_engine(dspy.LM)


def _takes_engine(kind):
    import inspect

    return "engine" in inspect.signature(kind.__init__).parameters


def text_of(found):
    return found[0] if isinstance(found[0], str) else found[0]["text"]


def test_default_engine(recorded_once):
    if not has_engines():
        pytest.skip("this version of dspy has litellm alone")
    got = recorded_once(
        "default engine",
        lambda url: text_of(model(url)(messages=MESSAGES)),
        client="dspy._vendor.lm15",
        dialect="openai",
    )
    assert got == TEXT


def test_default_engine_async(recorded_once):
    if not has_engines():
        pytest.skip("this version of dspy has litellm alone")

    async def call(url):
        return text_of(await model(url).acall(messages=MESSAGES))

    got = recorded_once(
        "default engine, async", lambda url: asyncio.run(call(url)), client="dspy._vendor.lm15", dialect="openai"
    )
    assert got == TEXT


def test_litellm_engine(recorded_once):
    options = {"engine": "litellm"} if has_engines() else {}
    got = recorded_once(
        "litellm engine",
        lambda url: text_of(model(url, **options)(messages=MESSAGES)),
        client="httpx",
        dialect="openai-chat",
    )
    assert got == TEXT

"""What must come out right over the real SDKs: every answer to its own request, whatever the order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import anthropic
import openai
import pytest

import onetake
from onetake import settings_start
from onetake.errors import ContractError, InteractionNotFound, NotStored
from onetake.testing.provider import (
    bytes_reply,
    openai_chat,
    openai_error,
    openai_stream,
)

LABEL = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}


@pytest.fixture(autouse=True)
def project(tmp_path):
    """A project of its own for each test; cassettes lie in it."""
    before = settings_start.set_start(tmp_path)
    yield tmp_path
    settings_start.set_start(before)


def cassette(mode, name="c", **options):
    return onetake.use_cassette(name, mode=mode, **options)


def client(provider, **options):
    return openai.OpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=0, **options)


def async_client(provider):
    return openai.AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=0)


def messages(prompt):
    return [{"role": "user", "content": prompt}]


def ask(of, prompt, **fields):
    return (
        of.chat.completions.create(**{"model": "m", "messages": messages(prompt), **fields}).choices[0].message.content
    )


PROMPTS = [f"question {number}" for number in range(10)]


def in_threads(of, prompts):
    """Ask all at once, each in a thread of a plain executor."""
    start = threading.Barrier(len(prompts))

    def one(prompt):
        start.wait()
        return prompt, ask(of, prompt)

    with ThreadPoolExecutor(len(prompts)) as pool:
        return dict(pool.map(one, prompts))


async def in_tasks(of, prompts):
    async def one(prompt):
        answer = await of.chat.completions.create(model="m", messages=messages(prompt))
        return prompt, answer.choices[0].message.content

    return dict(await asyncio.gather(*map(one, prompts)))


def orders():
    shuffler = random.Random(7)
    return [PROMPTS[::-1], *(shuffler.sample(PROMPTS, len(PROMPTS)) for _ in range(20))]


def test_br_033_ten_concurrent_requests_replayed_by_threads_in_any_order(provider):
    with cassette("once"):
        recorded = in_threads(client(provider), PROMPTS)
    assert all(recorded[prompt].endswith(f"to: {prompt}") for prompt in PROMPTS)
    provider.close()
    for order in orders():
        with cassette("none"):
            assert in_threads(client(provider), order) == recorded
    assert provider.count == 10


def test_br_033_ten_concurrent_requests_replayed_by_tasks_in_any_order(provider):
    async def main():
        with cassette("once"):
            recorded = await in_tasks(async_client(provider), PROMPTS)
        provider.close()
        for order in orders():
            async with cassette("none"):
                assert await in_tasks(async_client(provider), order) == recorded

    asyncio.run(main())
    assert provider.count == 10


BASE = {
    "model": "m",
    "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
    "temperature": 0.5,
}
TOOL = {"type": "function", "function": {"name": "tag", "parameters": LABEL}}
CHANGED = {
    "temperature": {"temperature": 0.6},
    "top_p": {"top_p": 0.9},
    "max_tokens": {"max_tokens": 5},
    "seed": {"seed": 7},
    "tools": {"tools": [TOOL]},
    "tool_choice": {"tool_choice": "none"},
    "response_format": {"response_format": {"type": "json_object"}},
    "user": {"user": "ann"},
    "stream": {"stream": True},
    "model": {"model": "n"},
    "top_k": {"extra_body": {"top_k": 3}},
    "$.messages[1].role": {"messages": [BASE["messages"][0], {"role": "assistant", "content": "hello"}]},
    "only the order of messages differs": {"messages": BASE["messages"][::-1]},
    "$.messages[0].content": {"messages": [{"role": "system", "content": "be long"}, BASE["messages"][1]]},
    "openai-beta": {"extra_headers": {"OpenAI-Beta": "assistants=v2"}},
    "api-version": {"extra_query": {"api-version": "2026-01-01"}},
}


@pytest.mark.parametrize(("named", "change"), CHANGED.items(), ids=CHANGED)
def test_br_005_one_changed_field_is_a_miss_that_names_it(provider, named, change):
    with cassette("once"):
        client(provider).chat.completions.create(**BASE)
    with cassette("none") as session, session.expect_refusal() as expected:
        client(provider).chat.completions.create(**{**BASE, **change})
    assert provider.count == 1
    (refusal,) = expected.refusals
    assert named in refusal.args[3]


@pytest.mark.parametrize(("named", "url"), [("origin", "http://localhost:{port}/v1"), ("path", "{url}/proxy/v1")])
def test_another_host_or_base_path_is_a_miss_that_names_it(provider, named, url):
    with cassette("once"):
        client(provider).chat.completions.create(**BASE)
    other = url.format(url=provider.url, port=provider.url.rpartition(":")[2])
    with cassette("none") as session, session.expect_refusal() as expected:
        openai.OpenAI(base_url=other, api_key="none").chat.completions.create(**BASE)
    assert named in expected.refusals[0].args[3]
    assert provider.count == 1


def test_anthropics_beta_header_is_part_of_the_request(provider):
    def message(**options):
        of = anthropic.Anthropic(base_url=provider.url, api_key="none", max_retries=0)
        return of.messages.create(model="m", max_tokens=9, messages=messages("hi"), **options).content[0].text

    with cassette("once"):
        recorded = message()
    provider.close()
    with cassette("none") as session:
        assert message() == recorded
        with session.expect_refusal() as expected:
            message(extra_headers={"anthropic-beta": "context-1m"})
    assert "anthropic-beta" in expected.refusals[0].args[3]


def test_two_cassettes_in_two_concurrent_tasks_do_not_mix(provider):
    async def work(name, mode, both):
        async with cassette(mode, name) as session:
            await both.wait()
            answers = await in_tasks(async_client(provider), [f"{name} {number}" for number in range(5)])
            return answers, {entry.answer.choices[0].text for entry in session.recorded}

    async def main(mode):
        both = asyncio.Barrier(2)
        return await asyncio.gather(work("left", mode, both), work("right", mode, both))

    recorded = asyncio.run(main("once"))
    for answers, kept in recorded:
        assert kept == set(answers.values())
    provider.close()
    assert [answers for answers, _ in asyncio.run(main("none"))] == [answers for answers, _ in recorded]


def test_br_117_the_series_of_failures_before_an_answer_is_not_recorded(provider):
    provider.script(
        [replace(openai_error(429), headers=(("retry-after", "0"),)), openai_error(500), openai_chat("good")]
    )
    of = openai.OpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=2)
    with cassette("once") as session:
        assert ask(of, "q") == "good"
        assert [entry.response.status for entry in session.recorded] == [200]
    assert provider.count == 3
    provider.close()
    with cassette("none"):
        assert ask(of, "q") == "good"


def test_an_answer_that_cannot_be_written_is_asked_for_once_whatever_the_sdk_retries(provider, project):
    def answer(_):
        (project / "c").write_text("in the way of the cassette's folder")
        return openai_chat("paid")

    provider.script(answer)
    of = openai.OpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=5)
    with cassette("once") as session, session.expect_refusal() as expected:
        ask(of, "q")
    (refusal,) = expected.refusals
    assert isinstance(refusal, NotStored)
    assert b"paid" in refusal.response.body
    assert provider.count == 1


BAD = {
    "429": (openai_error(429), {}, openai.RateLimitError),
    "500": (openai_error(500), {}, openai.InternalServerError),
    "an error under 200": (openai_error(200), {}, None),
    "a stream that ends early": (openai_stream("a b c d", ending="cut"), {"stream": True}, ContractError),
    "an error event": (openai_stream("a b c d", ending="error"), {"stream": True}, openai.APIError),
    "half a body": (replace(openai_chat("x" * 500), cut_after=100), {}, openai.APIConnectionError),
    "broken JSON": (bytes_reply(b'{"choices": [NaN', "application/json"), {}, ContractError),
    "a schema that is broken": (openai_chat('{"label": 7}'), {}, ContractError),
    "an answer cut by length": (openai_chat('{"label": "b', finish="length"), {}, ContractError),
    "a refusal": (openai_chat(refusal="I cannot"), {}, ContractError),
}


@pytest.mark.parametrize(("reply", "fields", "error"), BAD.values(), ids=BAD)
def test_br_114_no_bad_answer_becomes_an_entry(provider, reply, fields, error):
    provider.script([reply])

    def call():
        answer = client(provider).chat.completions.create(model="m", messages=messages("q"), **fields)
        return list(answer) if fields else answer

    with cassette("once", contract=onetake.Contract(LABEL, name="label")) as session:
        if error is None:
            call()
        elif error is ContractError:
            with session.expect_refusal():
                call()
        else:
            with pytest.raises(error):
                call()
        assert session.recorded == ()
    provider.close()
    with cassette("none") as session, session.expect_refusal() as expected:
        call()
    assert [type(refusal) for refusal in expected.refusals] == [InteractionNotFound]


def test_the_first_token_arrives_while_the_rest_is_still_held_back(provider):
    rest = threading.Event()
    provider.script([replace(openai_stream("one two three"), hold=rest, hold_before=2)])
    with cassette("once") as session:
        stream = iter(client(provider).chat.completions.create(model="m", messages=messages("q"), stream=True))
        first = [next(stream), next(stream)]
        assert not rest.is_set()
        rest.set()
        text = "".join(chunk.choices[0].delta.content or "" for chunk in [*first, *stream])
        assert text == "one two three"
        assert [entry.verdict for entry in session.recorded] == ["good"]
    provider.close()
    with cassette("none"):
        stream = client(provider).chat.completions.create(model="m", messages=messages("q"), stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == text


def test_a_miss_that_the_program_swallows_surfaces_at_the_end_of_the_scope(provider):
    with pytest.raises(InteractionNotFound), cassette("none"), contextlib.suppress(BaseException):  # as frameworks do
        ask(client(provider), "q")
    assert provider.count == 0


def test_a_refusal_beside_another_error_becomes_a_note_on_it(provider):
    with pytest.raises(ZeroDivisionError) as caught, cassette("none"):
        with contextlib.suppress(BaseException):  # as frameworks do
            ask(client(provider), "q")
        raise ZeroDivisionError
    assert "onetake refused 1 call" in caught.value.__notes__[0]


def test_br_050_repeats_are_replayed_in_their_order(provider):
    provider.script([openai_chat(text) for text in "abcde"])
    with cassette("once"):
        assert [ask(client(provider), "q") for _ in range(5)] == [*"abcde"]
    provider.close()
    with cassette("none"):
        assert [ask(client(provider), "q") for _ in range(5)] == [*"abcde"]


def test_br_047_asking_a_third_time_says_both_counts(provider):
    with cassette("once"):
        for _ in range(2):
            ask(client(provider), "q")
    with cassette("none") as session, session.expect_refusal() as expected:
        for _ in range(3):
            ask(client(provider), "q")
    assert "asked 3 times and recorded twice" in expected.refusals[0].args[0]
    assert provider.count == 2


def test_br_018_an_options_object_that_was_used_before_asks_the_same(provider):
    from pydantic import BaseModel

    class Options(BaseModel):
        temperature: float = 0

        @property
        def touched(self):
            return self.model_dump_json()

    @onetake.recorded
    def label(options):
        return provider.url

    options = Options()
    with cassette("once"):
        label(options)
    options.model_extra, options.touched, hash(json.dumps(options.__dict__))
    provider.close()
    with cassette("none"):
        assert label(options) == provider.url


def test_br_041_a_body_that_is_an_iterator_is_read_once_and_sent_whole(provider):
    import httpx

    def parts():
        yield b'{"model": "m", "messages": '
        yield b'[{"role": "user", "content": "in parts"}]}'

    def post():
        with httpx.Client() as of:
            url = f"{provider.url}/v1/chat/completions"
            return of.post(url, content=parts(), headers={"content-type": "application/json"}).json()

    with cassette("once"):
        first, second = post(), post()
    assert [json.loads(received.body)["messages"][0]["content"] for received in provider.requests] == ["in parts"] * 2
    provider.close()
    with cassette("none"):
        assert [post(), post()] == [first, second]

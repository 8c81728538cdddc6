"""`use_cassette`, as a block and as a decorator, in every colour."""
# ruff: noqa: SIM105, BLE001 - programs swallow like this

from __future__ import annotations

import asyncio
import threading

import httpx
import pytest

import onetake
from onetake import active, settings_start
from onetake.errors import InteractionNotFound, UsageError


@pytest.fixture(autouse=True)
def in_folder(tmp_path):
    before = settings_start.set_start(tmp_path)
    yield tmp_path
    settings_start.set_start(before)


@pytest.fixture
def ask(provider):
    def ask_(text):
        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
        return httpx.post(provider.url + "/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]

    return ask_


def asked(folder):
    """Return the texts that a cassette holds."""
    with onetake.use_cassette(folder, mode="none") as session:
        return sorted(entry.request.body.split(b'"content":"')[1].split(b'"')[0].decode() for entry in session.entries)


def test_a_block_and_its_end(ask, provider):
    for _ in range(2):
        with onetake.use_cassette("c", mode="once") as session:
            assert ask("a") == "answer 1 to: a"
    assert (provider.count, len(session.played)) == (1, 1)
    assert active.bound() is None


def test_entries_stay_when_the_block_raises(ask):
    with pytest.raises(ValueError, match="own"), onetake.use_cassette("c", mode="once"):
        ask("a")
        raise ValueError("own")
    assert asked("c") == ["a"]


def test_a_swallowed_refusal_comes_up_at_the_end_of_the_block(ask):
    with pytest.raises(InteractionNotFound), onetake.use_cassette("c", mode="none"):
        try:
            ask("a")
        except BaseException:
            pass


@pytest.mark.parametrize("wrong", [lambda: None, None, ""])
def test_a_decorator_without_a_name_is_told_so_at_once(wrong):
    with pytest.raises(UsageError, match="a cassette's name"):
        onetake.use_cassette(wrong)


def test_every_colour_of_function(ask):
    @onetake.use_cassette("plain", mode="once")
    def plain(x):
        return ask(x)

    @onetake.use_cassette("coroutine", mode="once")
    async def coroutine(x):
        await asyncio.sleep(0)
        return await asyncio.to_thread(ask, x)

    @onetake.use_cassette("generator", mode="once")
    def generator(x):
        got = yield ask(x)
        yield ask(got)
        return "end"

    @onetake.use_cassette("async-generator", mode="once")
    async def async_generator(x):
        got = yield ask(x)
        yield ask(got)

    def consume():
        inner = generator("a")
        next(inner)
        inner.send("sent")
        return (yield from inner)

    async def main():
        inner = async_generator("a")
        await inner.asend(None)
        await inner.asend("sent")
        await inner.aclose()
        return await coroutine("a")

    assert plain("a").endswith("a")
    with pytest.raises(StopIteration) as end:
        next(consume())
    assert end.value.value == "end"
    assert asyncio.run(main()).endswith("a")
    assert [asked(name) for name in ("plain", "coroutine")] == [["a"], ["a"]]
    assert [asked(name) for name in ("generator", "async-generator")] == [["a", "sent"], ["a", "sent"]]
    assert (plain.__name__, generator.__name__) == ("plain", "generator")
    assert active._open == []


def test_between_two_steps_of_a_generator_its_consumer_has_its_own_session(ask):
    @onetake.use_cassette("producer", mode="once")
    def produce():
        yield ask("produced 1")
        yield ask("produced 2")

    @onetake.use_cassette("async-producer", mode="once")
    async def produce_async():
        yield ask("produced 3")
        yield ask("produced 4")

    async def main():
        async for number, _ in enumerate_async(produce_async()):
            ask(f"consumed {number}")

    async def enumerate_async(source):
        number = 2
        async for item in source:
            yield number, item
            number += 1

    with onetake.use_cassette("consumer", mode="once"):
        for number, _ in enumerate(produce()):
            ask(f"consumed {number}")
        asyncio.run(main())
    assert asked("producer") == ["produced 1", "produced 2"]
    assert asked("async-producer") == ["produced 3", "produced 4"]
    assert asked("consumer") == ["consumed 0", "consumed 1", "consumed 2", "consumed 3"]


def test_a_generator_that_is_left_is_closed_and_so_is_its_session(ask):
    closed = []

    @onetake.use_cassette("c", mode="once")
    def produce():
        try:
            while True:
                yield ask("again")
        finally:
            closed.append(active.bound() is not None)

    inner = produce()
    next(inner)
    inner.close()
    assert (closed, active._open) == ([True], [])


def test_what_the_consumer_throws_reaches_the_generator(ask):
    @onetake.use_cassette("c", mode="once")
    def produce():
        try:
            yield 1
        except KeyError:
            yield ask("caught")

    inner = produce()
    next(inner)
    assert inner.throw(KeyError("x")).endswith("caught")
    inner.close()


def test_one_object_in_two_threads_ends_each_session_where_it_began(ask):
    scope = onetake.use_cassette("c", mode="new_episodes")
    meet, first_ended = threading.Barrier(2, timeout=30), threading.Event()
    found = {}

    def work(name, *, first):
        with scope as session:
            meet.wait()
            ask(name)
            if not first:
                first_ended.wait(30)
                ask(name + " again")
        found[name] = (len(session.requests), active.bound())
        first_ended.set()

    threads = [threading.Thread(target=work, args=("one",), kwargs={"first": True})]
    threads += [threading.Thread(target=work, args=("two",), kwargs={"first": False})]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"one": (1, None), "two": (2, None)}


def test_relative_names_count_from_the_settings_file(ask, in_folder):
    (in_folder / "deep/er").mkdir(parents=True)
    (in_folder / "onetake.toml").write_text("")
    settings_start.set_start(in_folder / "deep/er/test_x.py")
    with onetake.use_cassette("c", mode="once"):
        ask("a")
    assert (in_folder / "c").is_dir()


def test_the_start_is_given_back(in_folder):
    assert settings_start.set_start(None) == in_folder
    assert settings_start.set_start(in_folder) is None

"""Any callable as a client: plain, awaited, generator and async generator."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading

import httpx2
import pydantic
import pytest

from onetake import Contract, ContractError, InteractionNotFound, UsageError, recorded


class Label(pydantic.BaseModel):
    name: str


def _decorated(calls, **options):
    """Make the same function in each colour; each call is noted."""

    @recorded(**options)
    def plain(text):
        calls.append(text)
        return {"text": text, "number": len(calls)}

    @recorded(**options)
    async def awaited(text):
        calls.append(text)
        return {"text": text, "number": len(calls)}

    return plain, awaited


def test_a_call_is_replayed_without_calling(session):
    calls = []
    plain, awaited = _decorated(calls)
    with session("once") as opened:
        first = [plain("a"), asyncio.run(awaited("b")), plain("c")]
    assert [entry.request.method for entry in opened.recorded] == ["CALL"] * 3
    with session("none"):
        assert [plain("a"), asyncio.run(awaited("b")), plain("c")] == first
    assert calls == ["a", "b", "c"]


def test_outside_a_session_it_is_just_called():
    calls = []
    plain, awaited = _decorated(calls)
    assert plain("a") == {"text": "a", "number": 1}
    assert asyncio.run(awaited("a")) == {"text": "a", "number": 2}


def test_the_colour_and_the_name_stay():
    @recorded
    def plain(): ...

    @recorded
    async def awaited(): ...

    @recorded
    def stream():
        yield

    @recorded
    async def async_stream():
        yield

    assert plain.__name__ == "plain"
    assert inspect.iscoroutinefunction(awaited)
    assert inspect.isgeneratorfunction(stream)
    assert inspect.isasyncgenfunction(async_stream)


def test_methods_are_bound_and_their_receiver_does_not_count(session):
    class Model:
        def __init__(self, answer):
            self.answer = answer

        @recorded
        def label(self, text):
            return f"{self.answer} {text}"

        @classmethod
        @recorded
        def kind(cls, text):
            return f"{cls.__name__} {text}"

    with session("once"):
        assert (Model("yes").label("a"), Model.kind("b")) == ("yes a", "Model b")
    with session("none"):
        assert (Model(object()).label("a"), Model.kind("b")) == ("yes a", "Model b")


def test_an_argument_that_is_only_called_cls_counts(session):
    @recorded
    def confidence(cls, text):
        return f"{cls}: {text}"

    @recorded
    def last(text, self):
        return f"{self}: {text}"

    with session("once") as opened:
        assert [confidence("cat", "x"), confidence("dog", "x")] == ["cat: x", "dog: x"]
        assert [last("x", "cat"), last("x", "dog")] == ["cat: x", "dog: x"]
    assert len({entry.key for entry in opened.recorded}) == 4


def test_equal_calls_in_other_spellings_share_a_key(session):
    @recorded
    def ask(text, *, limit=5, **params):
        return text

    with session("once", repeats="same") as opened:
        ask("a")
        ask(text="a", limit=5)
        ask("a", limit=6)
        ask("a", seed=1)
    assert len(opened.recorded) == 3


def test_br_010_the_request_is_taken_before_the_function_changes_it(session):
    calls = []

    @recorded
    def ask(schema):
        calls.append(dict(schema))
        schema.pop("additionalProperties", None)
        return "done"

    with session("new_episodes", repeats="same"):
        for _ in range(3):
            ask({"type": "object", "additionalProperties": False})
    assert calls == [{"type": "object", "additionalProperties": False}]


@pytest.mark.parametrize("value", ["text", "北京 🎉", b"\x00\xff", None, True, 3, 2.5, [1, "a"], {"a": {"b": []}}, ""])
def test_values_come_back_as_they_were(session, value):
    @recorded
    def give():
        return value

    with session("once"):
        assert give() == value
    with session("none"):
        again = give()
    assert (again, type(again)) == (value, type(value))


def test_models_come_back_as_models(session):
    @recorded
    def one(label: Label) -> Label:
        return Label(name=label.name.upper())

    @recorded
    def many() -> list:
        return [1]

    with session("once"):
        assert one(Label(name="a")) == Label(name="A")
    with session("none"):
        assert one(Label(name="a")) == Label(name="A")


def test_br_015_what_has_no_plain_value_is_refused_before_anything_is_stored(session):
    calls = []

    @recorded
    def ask(thing):
        calls.append(thing)
        return thing

    @recorded
    def give(kind):
        return {"set": {1}, "tuple": (1,), "nan": float("nan"), "model": Label(name="a")}[kind]

    with session("once") as opened:
        for thing in (object(), {1}, (1,), float("inf"), {1: "a"}, [b"x"]):
            with pytest.raises(UsageError, match="the argument 'thing'"):
                ask(thing)
        for kind in ("set", "tuple", "nan"):
            with pytest.raises(UsageError, match="the value that the function gave"):
                give(kind)
        with pytest.raises(UsageError, match="annotate it with -> Label"):
            give("model")
        assert give.__name__ == "give"
    assert (calls, opened.recorded) == ([], ())


def test_a_failing_call_is_stored_nowhere_and_keeps_its_ordinal(session):
    answers = iter([ValueError("no"), "yes"])

    @recorded
    def ask():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with session("once") as opened:
        with pytest.raises(ValueError, match="no"):
            ask()
        assert ask() == "yes"
    assert [entry.ordinal for entry in opened.recorded] == [0]


def test_the_client_inside_a_recorded_function_is_not_recorded_again(session, provider):
    url, body = provider.url + "/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}]}

    def post():
        return httpx2.post(url, json=body).json()["choices"][0]["message"]["content"]

    def post_in_thread():
        found = []
        thread = threading.Thread(target=lambda: found.append(post()))
        thread.start()
        thread.join()
        return found[0]

    @recorded
    def plain():
        return post()

    @recorded
    def threaded():
        return post_in_thread()

    @recorded
    def stream():
        yield post()
        yield post_in_thread()

    with session("once") as opened:
        first = [plain(), threaded(), *stream()]
    assert [entry.request.url.rpartition(".")[2] for entry in opened.recorded] == ["plain", "threaded", "stream"]
    provider.close()
    with session("none"):
        assert [plain(), threaded(), *stream()] == first


def test_a_task_started_inside_a_call_is_on_its_own_afterwards(session, provider):
    """A worker that an SDK starts during a call outlives it: its later calls are interactions."""
    url, body = provider.url + "/v1/chat/completions", {"messages": [{"role": "user", "content": "later"}]}
    started = []

    async def worker(go):
        await go.wait()
        async with httpx2.AsyncClient() as client:
            await client.post(url, json=body)

    @recorded
    async def ask(go_now):
        started.append(asyncio.create_task(worker(started[0])))
        return "answer"

    async def main():
        started.append(asyncio.Event())
        await ask(True)
        started[0].set()
        await started[1]

    with session("once") as opened:
        asyncio.run(main())
    assert [entry.request.method for entry in opened.recorded] == ["CALL", "POST"]


def test_its_own_contract_judges(session):
    @recorded(contract=Contract({"type": "object", "required": ["label"]}, name="labels", schema_version=1))
    def label(text):
        return {"label": text} if text else {}

    with session("once") as opened:
        with pytest.raises(ContractError):
            label("")
        assert label("a") == {"label": "a"}
    assert [entry.verdict for entry in (*opened.rejects, *opened.recorded)] == ["reject:violation", "good"]


def test_br_090_equal_calls_at_once_call_once(session):
    go, calls, found = threading.Event(), [], []

    @recorded
    def ask():
        calls.append(1)
        assert go.wait(20)
        return len(calls)

    def one():
        found.append(ask())

    with session("once", repeats="same"):
        threads = [threading.Thread(target=one) for _ in range(8)]
        for thread in threads:
            thread.start()
        go.set()
        for thread in threads:
            thread.join()
    assert (found, calls) == ([1] * 8, [1])


def test_a_cancelled_call_frees_those_who_wait(session):
    calls = []

    @recorded
    async def ask():
        calls.append(1)
        if len(calls) == 1:
            await asyncio.Event().wait()
        return "second"

    async def main():
        leader = asyncio.create_task(ask())
        await asyncio.wait([leader], timeout=0)
        other = asyncio.create_task(ask())
        await asyncio.wait([other], timeout=0)
        leader.cancel()
        return await other

    with session("once", repeats="same") as opened:
        assert asyncio.run(main()) == "second"
    assert len(opened.recorded) == 1


def test_what_has_no_name_must_be_given_one(session):
    call = functools.partial(pow, 2)
    with pytest.raises(UsageError, match="give name="):
        recorded(call)
    named = recorded(call, name="power of two")
    with session("once") as opened:
        assert named(5) == 32
    assert opened.recorded[0].request.url == "function:power of two"


def test_an_unknown_call_is_a_miss_and_the_function_is_not_called(session):
    calls = []
    plain, _ = _decorated(calls)
    with session("none") as opened, opened.expect_refusal() as expected:
        plain("unknown")
    assert isinstance(expected.refusals[0], InteractionNotFound)
    assert calls == []

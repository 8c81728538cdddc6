"""The part of the adapters' conformance suite that is about threads, tasks, cancellation and single flight."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from onetake.testing.adapter_calls import IN_PIECES, Answer, Ask, Calls, ask, run
from onetake.testing.provider import Provider, Received, Reply, openai_chat, openai_error


def _asked_in_thread(call: Callable[[], Answer]) -> Answer:
    found: list[Answer] = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    return found[0]


def _asked_in_pool(call: Callable[[], Answer]) -> Answer:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


def _asked_to_thread(call: Callable[[], Answer]) -> Answer:
    async def main() -> Answer:
        return await asyncio.to_thread(call)

    return asyncio.run(main())


def _asked_in_executor(call: Callable[[], Answer]) -> Answer:
    async def main() -> Answer:
        return await asyncio.get_running_loop().run_in_executor(None, call)

    return asyncio.run(main())


def _asked_on_the_loop(call: Callable[[], Answer]) -> Answer:
    async def main() -> Answer:
        return call()

    return asyncio.run(main())


_WAYS = {
    "thread": _asked_in_thread,
    "pool": _asked_in_pool,
    "to_thread": _asked_to_thread,
    "run_in_executor": _asked_in_executor,
    "on_the_loop": _asked_on_the_loop,
}


class AtOnce(Calls):
    """Every call finds its session and its own answer, whoever makes it and whatever else goes on."""

    @pytest.mark.parametrize("way", _WAYS.values(), ids=_WAYS.keys())
    def test_br_080_a_blocking_call_from_anywhere(
        self, provider: Provider, way: Callable[[Callable[[], Answer]], Answer]
    ) -> None:
        self._needs_sync()
        asked = ask(provider, "from somewhere")
        with self.session("once") as session:
            first = way(lambda: self.call("sync", asked))
        assert len(session.recorded) == 1
        provider.close()
        with self.session("none"):
            assert way(lambda: self.call("sync", asked)).body == first.body

    def test_br_088_each_gets_its_own_and_equal_ones_one_each(self, colour: str, provider: Provider) -> None:
        asked = [ask(provider, f"question {n}") for n in range(20)] + [ask(provider, "again")] * 5
        with self.session("once") as session:
            first = self.at_once(colour, asked)
        assert len(session.recorded) == 25
        for each, answer in zip(asked, first, strict=True):
            assert answer.text.endswith(_words(each))
        provider.close()
        with self.session("none") as session:
            again = self.at_once(colour, asked[::-1])[::-1]
        assert [a.body for a in again[:20]] == [a.body for a in first[:20]]
        assert Counter(a.body for a in again[20:]) == Counter(a.body for a in first[20:])
        assert len(session.played) == 25

    def test_br_085_nothing_is_lost_with_eight_workers(self, provider: Provider) -> None:
        self._needs_sync()
        asked = [ask(provider, f"row {n}") for n in range(200)]
        with self.session("once") as session, ThreadPoolExecutor(8) as pool:
            first = list(pool.map(lambda each: self.call("sync", each).text, asked))
        assert len(session.recorded) == provider.count == 200
        provider.close()
        with self.session("none") as session, ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda each: self.call("sync", each).text, asked)) == first
        assert len({entry.key for entry in session.played}) == len(session.played) == 200

    def test_br_090_equal_calls_at_once_make_one_call(self, colour: str, provider: Provider) -> None:
        go = threading.Event()
        provider.script(lambda request: self._first_held(request, go, openai_chat("one for all")))
        asked = ask(provider, "the same")
        with self.session("new_episodes", repeats="same") as session:
            answers = self._released(provider, go, lambda: self.at_once(colour, [asked] * 8))
        assert [answer.text for answer in answers] == ["one for all"] * 8
        assert (provider.count, len(session.recorded), len(session.requests)) == (1, 1, 8)

    def test_br_090_a_failing_leader_shares_no_failure(self, colour: str, provider: Provider) -> None:
        go = threading.Event()
        provider.script(lambda request: self._first_held(request, go, openai_error(500)))
        asked = ask(provider, "the same")
        with self.session("new_episodes", repeats="same") as session:
            answers = self._released(provider, go, lambda: self.at_once(colour, [asked] * 8))
        good = {answer.body for answer in answers if answer.status == 200}
        assert sorted(answer.status for answer in answers) == [200] * 7 + [500]
        assert (len(good), provider.count, len(session.recorded)) == (1, 2, 1)

    def test_equal_streams_at_once_make_one_call(self, colour: str, provider: Provider) -> None:
        asked = ask(provider, "the same stream", stream=True)
        with self.session("new_episodes", repeats="same") as session:
            answers = self.at_once(colour, [asked] * 4)
        assert len({answer.body for answer in answers}) == provider.count == len(session.recorded) == 1

    def test_br_090_threads_and_tasks_wait_for_one_call(self, provider: Provider) -> None:
        """More waiting threads than the loop has: none of them may keep the awaited leader from landing."""
        self._needs_sync()
        if "asyncio" not in self.colours:
            pytest.skip("the client has no asyncio")
        go = threading.Event()
        provider.script(lambda request: self._first_held(request, go, openai_chat("one for all")))
        asked = ask(provider, "the same")

        async def main() -> list[Answer]:
            args, kwargs = asked.parts
            leader = asyncio.create_task(self.asend(*args, **kwargs))
            await asyncio.to_thread(provider.wait_for, 1)
            others = [asyncio.to_thread(self.call, "sync", asked) for _ in range(40)]
            others += [self.asend(*args, **kwargs) for _ in range(8)]
            go.set()
            return list(await asyncio.gather(leader, *others))

        with self.session("new_episodes", repeats="same") as session:
            answers = asyncio.run(main())
        assert {answer.text for answer in answers} == {"one for all"}
        assert (provider.count, len(session.recorded), len(answers)) == (1, 1, 49)

    def test_a_blocking_call_on_the_loop_of_its_leader_does_not_hang(self, provider: Provider) -> None:
        self._needs_sync()
        if "asyncio" not in self.colours:
            pytest.skip("the client has no asyncio")
        go = threading.Event()
        provider.script(lambda request: self._first_held(request, go, openai_chat("late")))
        asked = ask(provider, "the same")

        async def main() -> tuple[Answer, Answer]:
            args, kwargs = asked.parts
            leader = asyncio.create_task(self.asend(*args, **kwargs))
            await asyncio.to_thread(provider.wait_for, 1)
            blocking = self.call("sync", asked)
            go.set()
            return blocking, await leader

        with self.session("new_episodes", repeats="same") as session:
            blocking, awaited = asyncio.run(main())
        assert blocking.body == awaited.body, "the answer that was added first serves both"
        assert (blocking.text, provider.count, len(session.recorded)) == ("answer 2 to: the same", 2, 1)

    @pytest.mark.parametrize("reply", IN_PIECES.values(), ids=IN_PIECES.keys())
    @pytest.mark.parametrize("where", ["reading", "between"])
    def test_a_caller_that_is_cancelled_leaves_nothing(
        self, loop: str, provider: Provider, where: str, reply: Reply
    ) -> None:
        half, cancelling = b"".join(reply.pieces[:2]), _cancelling_trio if loop == "trio" else _cancelling
        provider.script([replace(reply, hold=threading.Event(), hold_before=2)])
        asked = ask(provider, "cancel me", stream=reply is IN_PIECES["stream"])
        with self.session("once") as session:
            run(loop, cancelling, self, asked, where, half)
            assert (session.recorded, session.rejects) == ((), ())
            again = self.read(loop, asked)
        assert [(entry.verdict, entry.ordinal) for entry in session.recorded] == [("good", 0)]
        assert session.recorded[0].response.body == again

    def test_a_cancelled_leader_frees_those_who_wait(self, loop: str, provider: Provider) -> None:
        never = threading.Event()
        provider.script([replace(openai_chat("never"), hold=never)])
        asked = ask(provider, "the same")
        with self.session("new_episodes", repeats="same") as session:
            answer = run(loop, _freed_trio if loop == "trio" else _freed, self, asked, provider)
        assert answer.text == "answer 2 to: the same"
        assert len(session.recorded) == 1

    def _needs_sync(self) -> None:
        if "sync" not in self.colours:
            pytest.skip("the client has no blocking calls")

    def _released(self, provider: Provider, go: threading.Event, call: Callable[[], Any]) -> Any:
        """Let the held answer go once its request has arrived."""

        def release() -> None:
            provider.wait_for(1)
            go.set()

        releasing = threading.Thread(target=release)
        releasing.start()
        try:
            return call()
        finally:
            releasing.join()

    def _first_held(self, request: Received, go: threading.Event, reply: Reply) -> Reply | None:
        return replace(reply, hold=go) if request.number == 1 else None


def _words(asked: Ask) -> str:
    said: str = json.loads(asked.body)["messages"][0]["content"]
    return said


async def _cancelling(calls: Calls, asked: Ask, where: str, half: bytes) -> None:
    half_came = asyncio.Event()

    async def reading() -> None:
        args, kwargs = asked.parts
        body = b""
        async with calls.astream(*args, **kwargs) as chunks:
            async for chunk in chunks:
                body += chunk
                if body == half:
                    half_came.set()
                    if where == "between":
                        await asyncio.Event().wait()

    task = asyncio.create_task(reading())
    await half_came.wait()
    await asyncio.wait([task], timeout=0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _cancelling_trio(calls: Calls, asked: Ask, where: str, half: bytes) -> None:
    import trio.testing

    args, kwargs = asked.parts
    half_came = trio.Event()

    async def reading(scope: Any) -> None:
        body = b""
        with scope:
            async with calls.astream(*args, **kwargs) as chunks:
                async for chunk in chunks:
                    body += chunk
                    if body == half:
                        half_came.set()
                        if where == "between":
                            await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()
        nursery.start_soon(reading, scope)
        await half_came.wait()
        await trio.testing.wait_all_tasks_blocked()
        scope.cancel()
    assert scope.cancelled_caught


async def _freed(calls: Calls, asked: Ask, provider: Provider) -> Answer:
    args, kwargs = asked.parts
    leader = asyncio.create_task(calls.asend(*args, **kwargs))
    await asyncio.to_thread(provider.wait_for, 1)
    other = asyncio.create_task(calls.asend(*args, **kwargs))
    await asyncio.wait([other], timeout=0)
    leader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leader
    return await other


async def _freed_trio(calls: Calls, asked: Ask, provider: Provider) -> Answer:
    import trio

    args, kwargs = asked.parts
    found: list[Answer] = []
    scope = trio.CancelScope()

    async def leading() -> None:
        with scope:
            await calls.asend(*args, **kwargs)

    async def waiting() -> None:
        found.append(await calls.asend(*args, **kwargs))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(leading)
        await trio.to_thread.run_sync(provider.wait_for, 1)
        nursery.start_soon(waiting)
        scope.cancel()
    return found[0]

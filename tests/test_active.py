import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

import onetake
from onetake import active
from onetake.errors import InteractionNotFound
from onetake.ledger import softly
from onetake.traffic import Traffic

POST = ("POST", "https://api.openai.com/v1/chat/completions")


@contextmanager
def opened(engine, *, bound=True):
    scope = active.enter(engine)
    token = active.bind(scope) if bound else None
    try:
        yield scope
    finally:
        if token is not None:
            active.unbind(scope, token)
        active.leave(scope)


def in_thread(call):
    """Call in a new thread; returns what it returns or raises."""
    found = []

    def run():
        try:
            found.append(call())
        except BaseException as error:  # noqa: BLE001  handed to the test
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def of_nobody(call):
    """Call in a thread that belongs to no session."""

    def run():
        active._scope.set(None)
        return call()

    return in_thread(run)


def test_outside_of_sessions_nothing_answers():
    assert active.engine_for(*POST) is None


def test_the_innermost_session_answers_and_the_outer_one_again_after_it(direct):
    outer, inner = direct().engine, direct().engine
    with opened(outer):
        with opened(inner):
            assert active.engine_for(*POST) is inner
        assert active.engine_for(*POST) is outer
    assert active.engine_for(*POST) is None


def test_what_is_none_of_a_sessions_business_goes_out_untouched(direct):
    with opened(direct(traffic=Traffic(ignore=["api.openai.com"])).engine):
        assert active.engine_for(*POST) is None
    with opened(direct().engine), opened(direct(mode="off").engine):
        assert active.engine_for(*POST) is None


def test_tasks_keep_the_session_that_they_were_started_in(direct):
    first, second = direct().engine, direct().engine

    async def ask(engine, both):
        with opened(engine):
            await both.wait()
            found = await asyncio.create_task(asyncio.to_thread(active.engine_for, *POST))
            return active.engine_for(*POST) is engine and found is engine

    async def main():
        both = asyncio.Barrier(2)
        return await asyncio.gather(ask(first, both), ask(second, both))

    assert asyncio.run(main()) == [True, True]


def test_threads_and_executors_get_the_session_of_who_starts_them(direct):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        for _ in range(2):
            engine = direct().engine
            with opened(engine):
                assert pool.submit(active.engine_for, *POST).result() is engine
                assert in_thread(lambda: active.engine_for(*POST)) is engine
        assert pool.submit(active.engine_for, *POST).result() is None


def test_a_thread_of_nobody_gets_the_innermost_session_of_one_chain(direct):
    outer, inner = direct().engine, direct().engine
    with opened(outer), opened(inner):
        assert of_nobody(lambda: active.engine_for(*POST)) is inner


def test_with_sessions_side_by_side_a_thread_of_nobody_is_refused_in_each_ledger(direct):
    talks = [direct(), direct()]
    with opened(talks[0].engine, bound=False), opened(talks[1].engine, bound=False):
        url = POST[1] + "?key=AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY"
        refusal = of_nobody(lambda: active.engine_for("POST", url))
    assert isinstance(refusal, InteractionNotFound)
    assert "side by side" in str(refusal)
    assert "AIzaSyD" not in str(refusal)
    assert [talk.ledger.open for talk in talks] == [(refusal,), (refusal,)]


def test_with_sessions_side_by_side_each_ledger_has_what_is_raised_also_where_that_is_an_exception(direct):
    talks = [direct(), direct()]
    with opened(talks[0].engine, bound=False), opened(talks[1].engine, bound=False), softly():
        refusal = of_nobody(lambda: active.engine_for(*POST))
    assert isinstance(refusal, Exception)
    assert [talk.ledger.open for talk in talks] == [(refusal,), (refusal,)]


def test_a_session_that_lets_the_call_pass_is_no_sibling(direct):
    engine = direct().engine
    with opened(direct(mode="off").engine, bound=False), opened(engine, bound=False):
        assert of_nobody(lambda: active.engine_for(*POST)) is engine


def test_a_client_below_the_one_that_was_intercepted_is_left_alone(direct):
    with opened(direct().engine) as scope, ThreadPoolExecutor(1) as pool:
        with active.inside():
            assert active.engine_for(*POST) is None
            assert pool.submit(active.engine_for, *POST).result() is None
        assert active.engine_for(*POST) is scope.engine


def test_a_call_under_a_closed_session_fails_in_its_name(direct):
    talk = direct()
    with opened(talk.engine) as scope:
        pass
    token = active.bind(scope)
    try:
        with pytest.raises(InteractionNotFound, match="has ended"):
            active.engine_for(*POST).begin(direct.chat("q"), None)
    finally:
        active.unbind(scope, token)


def test_unbinding_in_another_context_gives_back_the_outer_session(direct):
    outer, inner = direct().engine, direct().engine
    with opened(outer) as around:
        scope = active.enter(inner)
        token = active.bind(scope)

        async def end():
            active.unbind(scope, token)
            return active.engine_for(*POST)

        assert asyncio.run(end()) is outer
        active.unbind(scope, token)
        active.leave(scope)
        assert active.engine_for(*POST) is around.engine


def test_inside_a_soft_block_every_session_raises_its_refusals_as_exceptions(direct):
    talk = direct(mode="none")
    scope = active.enter(talk.engine)
    try:
        with softly(), pytest.raises(Exception, match="no interaction is stored"):
            talk.ask("q")
        with pytest.raises(InteractionNotFound) as caught:
            talk.ask("q")
    finally:
        active.leave(scope)
    assert not isinstance(caught.value, Exception)


def test_sessions_that_end_out_of_turn_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = onetake.use_cassette(tmp_path / "a", mode="once"), onetake.use_cassette(tmp_path / "b", mode="once")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert active.bound() is not None
    second.__exit__(None, None, None)
    assert active.bound() is None


def test_what_is_let_pass_is_known_where_its_connection_is_made_and_no_longer(direct):
    ignored = ("GET", "https://api.openai.com/v1/models")
    go = threading.Event()
    with opened(direct(traffic=Traffic(ignore=["api.openai.com"])).engine), ThreadPoolExecutor(1) as pool:
        assert active.engine_for(*ignored) is None
        assert active.passed() is None
        with active.letting_pass(*ignored):
            assert active.passed() == ignored
            assert in_thread(active.passed) == ignored
            assert pool.submit(active.passed).result() == ignored
            late = pool.submit(lambda: (go.wait(10), active.passed()))
        go.set()
        assert late.result() == (True, None)
        assert active.passed() is None


def test_sessions_that_something_concerns_are_those_that_stop_it(direct):
    outer, inner = direct().engine, direct().engine
    assert active.nowhere()
    with opened(outer), opened(inner):
        assert not active.nowhere()
        assert [scope.engine for scope in active.concerned(lambda engine: True)] == [inner]
        assert active.concerned(lambda engine: engine is outer) == []
        found = of_nobody(lambda: active.concerned(lambda engine: engine is outer))
        assert [scope.engine for scope in found] == [outer]
    with opened(outer, bound=False), opened(inner, bound=False):
        assert [scope.engine for scope in active.concerned(lambda engine: True)] == [outer, inner]

"""What becomes of a test's entries and refusals: promoted, kept aside, brought up, told."""

from __future__ import annotations

import gc
import sys

import anyio  # noqa: F401 - imported here, so that each inner run finds the same modules
import httpx  # noqa: F401 - as above
import pytest
import trio  # noqa: F401 - as above

import onetake.adapters.httpx  # noqa: F401 - as above
from onetake import active
from onetake.testing.provider import openai_chat

pytest_plugins = ("pytester",)

ENDINGS = {
    "assert": ("assert ask('hi') == 'other'", "failed"),
    "exception": ("ask('hi'); raise ValueError('own')", "failed"),
    "skip": ("ask('hi'); pytest.skip('later')", "skipped"),
    "unittest skip": ("ask('hi'); import unittest; raise unittest.SkipTest('later')", "skipped"),
    "xfail": ("ask('hi'); pytest.xfail('known')", "xfailed"),
    "pytest.fail": ("ask('hi'); pytest.fail('said')", "failed"),
    "subtest": ("with subtests.test('part'):\n        assert ask('hi') == 'other'", "failed"),
}


@pytest.mark.parametrize(("body", "outcome"), ENDINGS.values(), ids=ENDINGS)
def test_br_145_a_test_that_does_not_pass_promotes_nothing_and_says_where_its_entries_lie(inner, body, outcome):
    inner.write("test_it.py", f"import pytest\nfrom asking import ask\ndef test_it(cassette, subtests):\n    {body}\n")
    result = inner("--record-mode=once", "-rA")
    assert result.parseoutcomes()[outcome] >= 1
    assert inner.files("cassettes") == []
    assert len(inner.files(".onetake/pending/cassettes/test_it/test_it")) == 1
    result.stdout.fnmatch_lines(["*1 recorded, kept aside until the test passes: *pending/cassettes/test_it/test_it"])


@pytest.mark.parametrize("marks", ["@pytest.mark.xfail", "@pytest.mark.xfail(strict=True)"])
def test_an_xfail_that_passes_is_kept_where_pytest_calls_it_passed(inner, marks):
    inner.write(
        "test_it.py", f"import pytest\nfrom asking import ask\n{marks}\ndef test_it(cassette):\n    ask('hi')\n"
    )
    result = inner("--record-mode=once")
    kept = len(inner.files("cassettes"))
    assert (kept, result.parseoutcomes()) == ((0, {"failed": 1}) if "strict" in marks else (1, {"xpassed": 1}))


def test_a_failing_test_leaves_the_old_entries_as_they_were(inner, provider):
    text = "from asking import ask\ndef test_it(cassette):\n    assert ask('hi') == 'answer {} to: hi'\n    ask('{}')\n"
    inner.write("test_it.py", text.format(1, "one"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    before = {name: (inner.path / name).read_bytes() for name in inner.files("cassettes")}
    inner.write("test_it.py", text.format(99, "two"))
    inner("--record-mode=all").assert_outcomes(failed=1)
    assert {name: (inner.path / name).read_bytes() for name in inner.files("cassettes")} == before
    assert provider.count == 3


def test_pending_entries_answer_first_and_are_promoted_when_the_test_passes(inner, provider):
    text = (
        "from asking import ask\ndef test_it(cassette):\n    assert ask('hi') == 'answer 1 to: {}'\n    ask('more')\n"
    )
    inner.write("test_it.py", text.format("other"))
    inner("--record-mode=once").assert_outcomes(failed=1)
    inner.write("test_it.py", text.format("hi"))
    inner().assert_outcomes(failed=1)
    result = inner("--record-mode=once")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["test_it.py::test_it: 1 answered from an earlier run of this test, which failed"])
    assert provider.count == 2
    assert len(inner.files("cassettes")) == 2
    assert inner.files(".onetake/pending") == []
    inner().assert_outcomes(passed=1)
    assert provider.count == 2


def test_a_pending_entry_that_todays_contract_refuses_does_not_answer(inner, provider):
    text = """
        import pytest
        from asking import ask
        from pathlib import Path

        @pytest.mark.cassette({})
        def test_it():
            ask("hi", response_format={{"type": "json_object"}})
            assert {}
        """
    inner.write("schema.json", '{"type": "object", "required": ["answer"], "properties": {"answer": {"const": "new"}}}')
    inner.write("test_it.py", text.format("", False))
    inner("--record-mode=once").assert_outcomes(failed=1)
    provider.script(lambda request: openai_chat(json={"answer": "new"}))
    inner.write("test_it.py", text.format("contract=Path('schema.json')", True))
    inner("--record-mode=once").assert_outcomes(passed=1)
    assert provider.count == 2
    (entry,) = [name for name in inner.files("cassettes") if "_schemas" not in name]
    assert '"new"' in (inner.path / entry).read_text()
    assert [name for name in inner.files(".onetake/pending") if "_schemas" not in name] == []


def test_what_earlier_runs_left_and_nobody_asks_for_goes_to_the_trash(inner):
    text = "from asking import ask\ndef test_it(cassette):\n    ask('{}')\n    assert {}\n"
    inner.write("test_it.py", text.format("first", False))
    inner("--record-mode=once").assert_outcomes(failed=1)
    inner.write("test_it.py", text.format("second", True))
    inner("--record-mode=once").assert_outcomes(passed=1)
    assert inner.files(".onetake/pending") == []
    (old,) = inner.files(".onetake/trash/cassettes/test_it/test_it")
    assert '"first"' in (inner.path / old).read_text()


SWALLOWERS = {
    "base": "try:\n        ask('hi')\n    except BaseException:\n        pass",
    "bare": "try:\n        ask('hi')\n    except:\n        pass",
    "skip": "try:\n        ask('hi')\n    except BaseException:\n        pytest.skip('no network')",
    "unittest skip": (
        "try:\n        ask('hi')\n    except BaseException:\n        import unittest; raise unittest.SkipTest('no')"
    ),
    "thread": "import threading; t = threading.Thread(target=swallow); t.start(); t.join()",
    "executor": "ThreadPoolExecutor().submit(ask, 'hi').exception()",
    "gather": "asyncio.run(gathered())",
    "task group": "asyncio.run(grouped())",
    "task nobody awaits": "asyncio.run(forgotten())",
    "worker loop": "asyncio.run(worker())",
    "pool": "with ThreadPool(1) as pool: pool.apply_async(swallow).get(30)",
    "pool, broad": "with ThreadPool(1) as pool, pytest.raises(Exception): pool.apply_async(ask, ('hi',)).get(30)",
    "openai": "swallow_openai()",
}

_SWALLOWING = """
import asyncio, os
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
import pytest
from asking import ask, ask_async, URL

def swallow():
    try:
        ask("hi")
    except BaseException:
        pass

async def gathered():
    await asyncio.gather(ask_async("hi"), return_exceptions=True)

async def grouped():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(ask_async("hi"))
    except BaseException:
        pass

async def forgotten():
    task = asyncio.ensure_future(ask_async("hi"))
    await asyncio.wait([task])

async def worker():
    # As a server's loop does: whatever a handler raises becomes a response.
    queue, answers = asyncio.Queue(), []
    queue.put_nowait("hi")
    async def serve():
        try:
            answers.append(await ask_async(await queue.get()))
        except BaseException:
            answers.append(500)
    await asyncio.create_task(serve())
    assert answers == [500]

def swallow_openai():
    import openai
    try:
        openai.OpenAI(base_url=URL.removesuffix("/chat/completions"), api_key="x").chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}])
    except BaseException:
        pass

def test_it(cassette):
    BODY
"""


@pytest.mark.parametrize("body", SWALLOWERS.values(), ids=SWALLOWERS)
def test_a_refusal_that_the_program_swallowed_fails_the_test_in_its_call(inner, provider, body):
    inner.write("test_it.py", _SWALLOWING.replace("BODY", body))
    result = inner()
    result.assert_outcomes(failed=1)
    assert "no interaction is stored for this request: POST" in result.stdout.str()
    assert "_ test_it _" in result.stdout.str()
    assert provider.count == 0


def test_the_real_failure_comes_first_and_the_refusal_is_a_note_on_it(inner):
    inner.write(
        "test_it.py",
        _SWALLOWING.replace("BODY", "swallow()\n    assert 1 == 2")
        + "\ndef test_once_only(cassette):\n    ask('hi')\n",
    )
    result = inner()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E*assert 1 == 2", "E*onetake refused 1 call; the first: no interaction is stored*"])
    assert result.stdout.str().count("onetake refused") == 1


def test_a_refusal_in_a_testcase_is_told_whatever_unittest_makes_of_it(inner):
    inner.write(
        "test_it.py",
        """
        import unittest
        import pytest
        from asking import ask

        def swallow():
            try:
                ask("hi")
            except BaseException:
                pass

        @pytest.mark.cassette
        class TestIt(unittest.TestCase):
            def setUp(self):
                self.before = 1
            def test_raised(self):
                ask("hi")
            def test_swallowed(self):
                swallow()
            def test_skipped(self):
                swallow()
                self.skipTest("no network")
            def test_failed(self):
                swallow()
                self.assertEqual(self.before, 2)
            def test_in_subtest(self):
                with self.subTest("part"):
                    swallow()
            def test_fine(self):
                pass
        """,
    )
    result = inner()
    outcomes = result.parseoutcomes()
    assert (outcomes["failed"], outcomes["passed"]) == (5, 1)
    assert "skipped" not in outcomes
    result.stdout.fnmatch_lines(["*TestIt.test_failed*", "*AssertionError: 1 != 2*", "* onetake *", "no interaction*"])


def test_a_testcase_records_when_it_passes_and_not_when_it_fails(inner, provider):
    inner.write(
        "test_it.py",
        """
        import unittest
        import pytest
        from asking import ask, ask_async

        @pytest.mark.cassette
        class TestIt(unittest.IsolatedAsyncioTestCase):
            def setUp(self):
                self.set_up = ask("set up")
            def test_passes(self):
                self.assertTrue(ask("one").endswith("one"))
            async def test_async(self):
                self.assertTrue((await ask_async("two")).endswith("two"))
            def test_fails(self):
                self.assertEqual(ask("three"), "other")
            def test_fails_in_part(self):
                with self.subTest("part"):
                    self.assertEqual(ask("four"), "other")
        """,
    )
    inner("--record-mode=once")
    folders = [name.split("/")[2] for name in inner.files("cassettes")]
    assert sorted(folders) == ["TestIt.test_async"] * 2 + ["TestIt.test_passes"] * 2
    assert len(inner.files(".onetake/pending")) == 4
    assert provider.count == 8


def test_an_expected_refusal_fails_nothing(inner):
    inner.write(
        "test_it.py",
        """
        import asyncio
        import pytest
        import onetake
        from asking import ask, ask_async

        def test_raised(cassette):
            with cassette.expect_refusal() as expected:
                ask("hi")
            assert isinstance(expected.refusals[0], onetake.InteractionNotFound)

        def test_swallowed(cassette):
            with cassette.expect_refusal():
                try:
                    ask("hi")
                except BaseException:
                    pass

        def test_in_a_group(cassette):
            async def grouped():
                async with asyncio.TaskGroup() as group:
                    group.create_task(ask_async("hi"))
                    group.create_task(ask_async("ho"))
            with cassette.expect_refusal() as expected:
                asyncio.run(grouped())
            assert 1 <= len(expected.refusals) <= 2

        def test_none_came(cassette):
            with cassette.expect_refusal():
                pass

        def test_another_one(cassette):
            with cassette.expect_refusal():
                ask("hi")
            with pytest.raises(onetake.InteractionNotFound):
                ask("ho")
        """,
    )
    result = inner()
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(["*expect_refusal: the block ended without a refusal*", '*"ho"*'])


HANDLERS = {
    "except": ("try:\n        bad()\n    except ContractError:\n        pass", True),
    "dotted": (
        "try:\n        bad()\n    except onetake.ContractError as error:\n        assert error.violations",
        True,
    ),
    "above": ("try:\n        bad()\n    except onetake.Refusal:\n        pass", True),
    "one of two": ("try:\n        bad()\n    except (ValueError, ContractError):\n        pass", True),
    "a tuple by name": ("try:\n        bad()\n    except ERRORS:\n        pass", True),
    "raises": ("with pytest.raises(ContractError):\n        bad()", True),
    "raises call": ("pytest.raises(ContractError, bad)", True),
    "suppress": ("with contextlib.suppress(ContractError):\n        bad()", True),
    "awaited": ("asyncio.run(handled())", True),
    "future": (
        "with ThreadPoolExecutor() as pool, pytest.raises(ContractError):\n        pool.submit(bad).result()",
        True,
    ),
    "broad": ("try:\n        bad()\n    except BaseException:\n        pass", False),
    "broad inside": ("try:\n        swallow()\n    except ContractError:\n        pass", False),
    "broad inside, one frame": (
        "try:\n        try:\n            bad()\n        except BaseException:\n            pass\n"
        "    except ContractError:\n        pass",
        False,
    ),
    "broad, raised again": (
        "try:\n        try:\n            bad()\n        except BaseException:\n            raise\n"
        "    except ContractError:\n        pass",
        True,
    ),
    "gathered": ("asyncio.run(gathered())", False),
}


@pytest.mark.parametrize(("body", "handled"), HANDLERS.values(), ids=HANDLERS)
def test_a_contract_error_caught_by_its_name_fails_nothing(inner, body, handled):
    inner.write("schema.json", '{"type": "integer"}')
    inner.write(
        "test_it.py",
        f"""
import asyncio, contextlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import onetake, pytest
from asking import ask, ask_async
from onetake import ContractError

ERRORS = (ValueError, ContractError)

def bad():
    ask("hi")

def swallow():
    try:
        bad()
    except BaseException:
        pass

async def handled():
    try:
        await asyncio.create_task(ask_async("hi"))
    except ContractError:
        pass

async def gathered():
    await asyncio.gather(ask_async("hi"), return_exceptions=True)

@pytest.mark.cassette(contract=Path("schema.json"), mode="once")
def test_it(cassette):
    {body}
    assert len(cassette.rejects) == 1
""",
    )
    result = inner()
    result.assert_outcomes(**{"passed" if handled else "failed": 1})


def test_refusals_that_are_only_reported_are_listed_for_the_passing_test(inner):
    inner.write("onetake.toml", "refusals = 'report'\n")
    inner.write("test_it.py", _SWALLOWING.replace("BODY", "swallow()"))
    result = inner()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*= onetake =*", "test_it.py::test_it: no interaction is stored for this request*"])


def test_fixtures_ask_under_the_tests_session_in_setup_and_teardown(inner, provider):
    inner.write(
        "test_it.py",
        """
        import pytest, pytest_asyncio
        from asking import ask, ask_async

        @pytest.fixture
        def sync():
            yield ask("sync up")
            ask("sync down")

        @pytest_asyncio.fixture
        async def unsync():
            yield await ask_async("async up")
            await ask_async("async down")

        @pytest.fixture(autouse=True)
        def always():
            ask("always")

        @pytest.mark.cassette
        @pytest.mark.asyncio
        async def test_it(sync, unsync):
            assert sync.endswith("sync up") and unsync.endswith("async up")
        """,
    )
    inner("--record-mode=once").assert_outcomes(passed=1)
    assert len(inner.files("cassettes")) == provider.count == 5
    inner().assert_outcomes(passed=1)
    assert provider.count == 5


def test_a_refusal_that_a_fixture_swallowed_fails_the_test_or_its_teardown(inner):
    inner.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        def swallow(text):
            try:
                ask(text)
            except BaseException:
                pass

        @pytest.fixture
        def up():
            swallow("up")

        @pytest.fixture
        def down():
            yield
            swallow("down")

        @pytest.fixture
        def clean():
            yield
            print("cleaned up")

        @pytest.fixture
        def loud(clean):
            yield
            ask("loud")

        def test_up(cassette, up): pass
        def test_down(cassette, down): pass
        def test_loud(cassette, loud): pass
        """,
    )
    result = inner()
    result.assert_outcomes(failed=1, passed=2, errors=2)
    assert "cleaned up" in result.stdout.str()
    assert active._open == []
    result.stdout.fnmatch_lines(["FAILED*test_up*", "ERROR*test_down*", "ERROR*test_loud*"], consecutive=False)


ASYNC = """
import pytest
from asking import ask_async

{marks}

@pytest.mark.parametrize("n", range(3))
@pytest.mark.cassette
async def test_it(n):
    assert (await ask_async(f"number {{n}}")).endswith(f"number {{n}}")

@pytest.mark.cassette
async def test_missed():
    if MISS:
        await ask_async("never recorded")
"""

RUNNERS = {
    "asyncio, a loop for each": ("pytestmark = pytest.mark.asyncio", 1),
    "asyncio, one loop": ("pytestmark = pytest.mark.asyncio(loop_scope='session')", 1),
    "anyio, asyncio and trio": ("pytestmark = pytest.mark.anyio", 2),
}


@pytest.mark.parametrize(("marks", "times"), RUNNERS.values(), ids=RUNNERS)
def test_async_tests_answer_under_their_own_cassette(inner, provider, marks, times):
    text = ASYNC.format(marks=marks)
    inner.write("test_it.py", text.replace("MISS", "False"))
    inner("--record-mode=once").assert_outcomes(passed=4 * times)
    assert provider.count == 3 * times
    inner.write("test_it.py", text.replace("MISS", "True"))
    result = inner()
    result.assert_outcomes(passed=3 * times, failed=times)
    assert provider.count == 3 * times
    folders = {name.split("/")[2] for name in inner.files("cassettes")}
    assert len(folders) == 3 * times
    # anyio's runner leaves a task that ended in our refusal: here its complaint is captured, not at Python's end.
    sys.last_value = sys.last_traceback = sys.last_exc = None
    del result
    gc.collect()


def test_br_087_a_thread_of_a_test_that_ended_is_refused_in_that_tests_name(inner, provider):
    inner.write(
        "test_it.py",
        """
        import threading
        import pytest
        from asking import ask

        go, gone = threading.Event(), threading.Event()

        def late():
            go.wait(30)
            try:
                ask("late")
            except BaseException:
                pass
            gone.set()

        @pytest.mark.cassette
        def test_a():
            threading.Thread(target=late).start()

        def test_b(cassette):
            assert ask("b")
            go.set()
            assert gone.wait(30)
            assert len(cassette.requests) == 1 and cassette.refusals == ()
        """,
    )
    result = inner("--record-mode=new_episodes")
    result.assert_outcomes(passed=2)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["test_it.py::test_a: after its end: the session on cassettes/test_it/test_a has ended: POST*"]
    )
    assert provider.count == len(inner.files("cassettes")) == 1


def test_nothing_is_left_in_pending_when_a_test_has_passed_and_what_waits_stays(inner, provider):
    provider.script(lambda request: openai_chat("7"))
    inner.write("schema.json", '{"type": "integer"}')
    inner.write(
        "test_it.py",
        """
        from pathlib import Path
        import pytest
        from asking import ask

        @pytest.mark.cassette(contract=Path("schema.json"))
        @pytest.mark.parametrize("n", [1, 2])
        def test_it(n):
            ask("hi")
            assert n == 1

        @pytest.mark.cassette("shared")
        def test_shared():
            ask("ho")
        """,
    )
    inner("--record-mode=once").assert_outcomes(passed=2, failed=1)
    pending = inner.path / ".onetake/pending"
    left = sorted(path.relative_to(pending).as_posix() for path in pending.rglob("*") if path.is_dir())
    waiting = "cassettes/test_it/test_it[2]"
    assert left == ["cassettes", "cassettes/test_it", waiting, f"{waiting}/_schemas"]
    assert len(inner.files(".onetake/pending")) == 2
    assert (inner.path / ".onetake/.gitignore").read_text() == "*\n"


SUMMED = """
import pytest
from asking import ask
from onetake import Contract, ContractError

NUMBER = Contract({"type": "integer"}, name="number")

def test_records(cassette):
    ask("one"); ask("two")

@pytest.mark.cassette(contract=NUMBER)
def test_refused(cassette):
    with pytest.raises(ContractError):
        ask("three")

@pytest.mark.cassette
def test_noted():
    ask("cut")

def test_fails(cassette):
    ask("four")
    assert False
"""


@pytest.mark.parametrize("workers", ["alone", pytest.param("xdist", marks=pytest.mark.whole)])
def test_a_run_says_what_it_recorded_and_what_a_passing_test_hides(inner, provider, workers):
    provider.script(lambda request: openai_chat("so far", finish="length" if b"cut" in request.body else "stop"))
    inner.write("test_it.py", SUMMED)
    many = ("-p", "xdist", "-n", "1") if workers == "xdist" else ()
    result = inner("--record-mode=once", *many)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*= onetake =*",
            "3 recorded, 1 rejected, 1 kept aside",
            "live: 5 calls, *",
            "test_it.py::test_refused: 1 answer refused (violation), not stored: this test will miss at replay;"
            ' keep=[[]"violation"[]] stores it',
            "test_it.py::test_noted: the stored answer was cut by the token limit: POST *",
        ]
    )
    quiet = inner("-k", "records or noted", *many)
    quiet.assert_outcomes(passed=2)
    assert "= onetake =" not in quiet.stdout.str()
    quiet.stdout.fnmatch_lines(["onetake: 3 replayed"])
    inner("--record-mode=all", "-k", "records or noted", *many).stdout.fnmatch_lines(["3 replaced"])


def test_a_refused_answer_whose_request_was_asked_again_makes_no_miss(inner, provider):
    provider.script(lambda request: openai_chat("7" if request.number > 1 else "seven"))
    inner.write(
        "test_it.py",
        """
        import pytest
        from asking import ask
        from onetake import Contract, ContractError

        @pytest.mark.cassette(contract=Contract({"type": "integer"}, name="number"))
        def test_it():
            try:
                ask("how many?")
            except ContractError:
                assert ask("how many?") == "7"
        """,
    )
    result = inner("--record-mode=once")
    result.assert_outcomes(passed=1)
    assert provider.count == 2
    result.stdout.fnmatch_lines(
        ["1 recorded, 1 rejected", "test_it.py::test_it: 1 answer refused (violation), not stored"]
    )
    inner().assert_outcomes(passed=1)


def test_only_a_refusal_of_the_expected_kind_is_expected(inner):
    inner.write(
        "test_it.py",
        """
        import onetake
        from asking import ask

        def test_a_miss(cassette):
            with cassette.expect_refusal(onetake.ContractError):
                ask("hi")
        """,
    )
    result = inner()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*InteractionNotFound*no interaction is stored*"])


def test_the_way_to_a_refused_answer_is_told_from_the_settings_folder(inner):
    inner.write("schema.json", '{"type": "integer"}')
    inner.write(
        "test_it.py",
        """
        from pathlib import Path
        import pytest
        from asking import ask

        @pytest.mark.cassette(contract=Path("schema.json"))
        def test_it():
            ask("hi")
        """,
    )
    inner("--record-mode=once").stdout.fnmatch_lines(["*kept aside: .onetake/rejects/cassettes/test_it/test_it/chat-*"])

"""Fixtures of a wider scope that call models: a session and a cassette of their own, whichever test came first."""

from __future__ import annotations

import re

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest

import onetake.adapters.httpx  # noqa: F401 - as above

pytest_plugins = ("pytester",)

SCOPES = """
import pytest
from asking import ask

@pytest.fixture(scope="session")
def summary():
    yield ask("session setup")
    ask("session teardown")

@pytest.fixture(scope="module")
def of_module(request, summary):
    request.addfinalizer(lambda: ask("module teardown"))
    return ask("module setup of " + request.module.__name__)

@pytest.fixture(scope="class", params=["one", "two/three"])
def of_class(request):
    return ask("class " + request.param)

@pytest.fixture(scope="package")
def idle():
    return 1
"""
USING = """
import pytest
from asking import ask

def test_unmarked(summary):
    assert summary.endswith("to: session setup")

@pytest.mark.cassette
class TestIt:
    def test_first(self, of_class, of_module, idle):
        assert ask("own").endswith("to: own")
        assert of_class.endswith(("to: class one", "to: class two/three"))

    def test_second(self, of_class, cassette):
        assert len(cassette.requests) == 0
"""


def _folders(inner):
    return sorted({path.rpartition("/")[0] for path in inner.files() if not path.startswith(".onetake")})


def test_each_fixture_has_a_cassette_of_its_own_and_no_test_gets_its_calls(inner, provider):
    inner.write("conftest.py", SCOPES)
    inner.write("test_a.py", USING)
    inner.write("test_b.py", USING)
    result = inner("--record-mode=once")
    result.assert_outcomes(passed=10)
    assert "11 recorded" in result.stdout.str()
    found = {folder.partition("~")[0]: len(inner.files(folder)) for folder in _folders(inner)}
    assert found == {
        "cassettes/conftest/of_class[one]": 1,
        "cassettes/conftest/of_class[two_three]": 1,
        "cassettes/conftest/of_module": 3,
        "cassettes/conftest/summary": 2,
        **{
            f"cassettes/test_{module}/TestIt.test_first[{param}]": 1
            for module in "ab"
            for param in ("one", "two_three")
        },
    }
    assert all(("~fixture" in folder) == ("/conftest/" in folder) for folder in _folders(inner))
    assert not list(inner.path.rglob("*idle*"))
    assert inner.files(".onetake/pending") == inner.files(".onetake/making") == []
    asked = provider.count
    assert asked == 11
    inner().assert_outcomes(passed=10)
    inner("test_b.py", "test_a.py", "-k", "second or unmarked").assert_outcomes(passed=6)
    inner("test_b.py", "-k", "unmarked").assert_outcomes(passed=1)
    assert provider.count == asked


def test_a_fixture_that_no_marked_test_uses_is_left_alone(inner, provider):
    inner.write("conftest.py", SCOPES)
    inner.write("test_a.py", "def test_it(summary, of_module):\n    pass\n")
    inner.write("test_b.py", "def test_it(cassette, of_module):\n    pass\n")
    inner("--record-mode=once").assert_outcomes(passed=2)
    assert len(inner.files("cassettes/conftest/of_module~fixture")) == 2
    inner("test_a.py").assert_outcomes(passed=1)
    assert provider.count == 6 + 4


def test_a_refusal_in_a_fixture_fails_every_test_that_needs_it_once_asked(inner, provider):
    inner.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        pytestmark = pytest.mark.cassette

        @pytest.fixture(scope="module")
        def raises():
            try:
                yield ask("refused")
            finally:
                print("torn down")

        @pytest.fixture(scope="module")
        def swallows():
            try:
                ask("swallowed")
            except BaseException:
                return "no answer"

        @pytest.fixture
        def narrow():
            ask("narrow")

        def test_one(raises): pass
        def test_two(raises): pass
        def test_three(swallows): pass
        def test_four(swallows): pass
        def test_five(narrow): pass
        def test_six(narrow): pass
        def test_seven(): pass
        """,
    )
    result = inner("-s")
    result.assert_outcomes(errors=6, passed=1)
    said = result.stdout.str()
    assert said.count("torn down") == 1
    for text in ('"refused")', '"swallowed")', '"narrow")'):
        assert text in said
    assert "AssertionError" not in said
    assert "looked in: cassettes/test_it/raises~fixture (empty)" in said
    assert "pytest --record-mode=once test_it.py::test_one" in said
    assert (provider.count, inner.files("cassettes")) == (0, [])


def test_a_fixture_that_fails_keeps_its_entries_aside_and_they_answer_first(inner, provider):
    text = """
        import pytest
        from asking import ask

        @pytest.fixture(scope="module")
        def answer():
            text = ask("paid for")
            assert {}
            return text

        @pytest.mark.cassette
        def test_it(answer):
            pass
        """
    inner.write("test_it.py", text.format("False"))
    inner("--record-mode=once").assert_outcomes(errors=1)
    assert (len(inner.files(".onetake/pending")), inner.files("cassettes")) == (1, [])
    inner.write("test_it.py", text.format("True"))
    inner("--record-mode=once").assert_outcomes(passed=1)
    assert (inner.files(".onetake/pending"), len(inner.files("cassettes")), provider.count) == ([], 1, 1)


def test_what_a_fixture_made_asks_for_the_test_that_uses_it(inner, provider, monkeypatch):
    inner.write(
        "test_it.py",
        """
        import os, queue, threading
        import httpx, pytest
        from asking import URL, ask, body

        @pytest.fixture(scope="session")
        def client():
            assert os.environ.get("OPENAI_API_KEY")
            with httpx.Client() as client:
                yield client

        @pytest.fixture(scope="session")
        def server():
            questions, answers = queue.Queue(), queue.Queue()
            def serve():
                for text in iter(questions.get, None):
                    answers.put(ask(text))
            thread = threading.Thread(target=serve)
            thread.start()
            questions.put("while it is set up")
            assert answers.get(timeout=20).endswith("to: while it is set up")
            yield lambda text: questions.put(text) or answers.get(timeout=20)
            questions.put("while it is torn down")
            assert answers.get(timeout=20).endswith("to: while it is torn down")
            questions.put(None)
            thread.join()

        @pytest.mark.cassette
        def test_client(client, cassette):
            client.post(URL, json=body("by the client"))
            assert len(cassette.requests) == 1

        @pytest.mark.cassette
        def test_server(server, cassette):
            assert server("by the server").endswith("to: by the server")
            assert len(cassette.requests) == 1

        def test_after():
            assert "OPENAI_API_KEY" not in os.environ
        """,
    )
    with monkeypatch.context() as environment:
        environment.setenv("OPENAI_API_KEY", "sk-mine")
        inner("--record-mode=once", "-k", "not after").assert_outcomes(passed=2)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert _folders(inner) == [
        "cassettes/test_it/server~fixture",
        "cassettes/test_it/test_client",
        "cassettes/test_it/test_server",
    ]
    assert len(inner.files("cassettes/test_it/server~fixture")) == 2
    inner().assert_outcomes(passed=3)
    assert provider.count == 4


ASYNC = """
import pytest, pytest_asyncio
from asking import ask_async

@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def answer():
    return await ask_async("coroutine")

@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def steps():
    yield await ask_async("before")
    await ask_async("after")

class TestIt:
    @pytest_asyncio.fixture(scope="class", loop_scope="module")
    async def method(self):
        yield await ask_async("method")

    @pytest.mark.cassette
    @pytest.mark.asyncio(loop_scope="module")
    async def test_it(self, answer, steps, method):
        assert (await ask_async("own")).endswith("to: own")
        assert [text.rpartition(" ")[2] for text in (answer, steps, method)] == ["coroutine", "before", "method"]
"""
ANYIO = """
import pytest
from asking import ask_async

@pytest.fixture(scope="module", params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param

@pytest.fixture(scope="module")
async def answer(anyio_backend):
    return await ask_async("coroutine")

@pytest.fixture(scope="module")
async def steps(anyio_backend):
    yield await ask_async("before")
    await ask_async("after")

@pytest.mark.cassette
@pytest.mark.anyio
async def test_it(answer, steps):
    assert (await ask_async("own")).endswith("to: own")
    assert [text.rpartition(" ")[2] for text in (answer, steps)] == ["coroutine", "before"]
"""


@pytest.mark.parametrize(("mode", "loop"), [("strict", "module"), ("auto", "session")])
def test_async_fixtures_of_pytest_asyncio(inner, provider, mode, loop):
    inner.write("test_it.py", ASYNC.replace('loop_scope="module"', f'loop_scope="{loop}"'))
    inner("--record-mode=once", f"--asyncio-mode={mode}").assert_outcomes(passed=1)
    assert _folders(inner) == [
        "cassettes/test_it/TestIt.method~fixture",
        "cassettes/test_it/TestIt.test_it",
        "cassettes/test_it/answer~fixture",
        "cassettes/test_it/steps~fixture",
    ]
    assert provider.count == len(inner.files("cassettes")) == 5
    inner(f"--asyncio-mode={mode}").assert_outcomes(passed=1)
    assert provider.count == 5


def test_async_fixtures_of_anyio_on_asyncio_and_trio(inner, provider):
    inner.write("test_it.py", ANYIO)
    inner("--record-mode=once").assert_outcomes(passed=2)
    inner().assert_outcomes(passed=2)
    assert len(inner.files("cassettes/test_it/steps~fixture")) == 2
    assert len(inner.files("cassettes/test_it/answer~fixture")) == 1
    assert provider.count == len(inner.files("cassettes")) == 5


def test_what_pytest_makes_fixtures_of_asks_for_itself_too(inner, provider):
    inner.write(
        "test_it.py",
        """
        import unittest
        import pytest
        from asking import ask, ask_async

        pytestmark = pytest.mark.cassette

        def setup_module():
            ask("module")

        class TestCase(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                cls.answer = ask("of the class")

            @classmethod
            def tearDownClass(cls):
                ask("of its end")

            def setUp(self):
                self.own = ask("setUp")

            def test_it(self):
                assert (self.answer[-12:], self.own[-5:]) == ("of the class", "setUp")
                ask("test")

        class TestAsync(unittest.IsolatedAsyncioTestCase):
            async def asyncSetUp(self):
                self.own = await ask_async("asyncSetUp")

            async def test_it(self):
                assert self.own.endswith("asyncSetUp")
                await ask_async("test")

        class TestPlain:
            @classmethod
            def setup_class(cls):
                ask("setup_class")

            def setup_method(self):
                ask("setup_method")

            def test_it(self):
                pass
        """,
    )
    inner("--record-mode=once").assert_outcomes(passed=3)
    folders = {re.sub("~[0-9a-f]{8}", "", folder): len(inner.files(folder)) for folder in _folders(inner)}
    assert folders == {
        "cassettes/test_it/setup_module~fixture": 1,
        "cassettes/test_it/TestCase.setUpClass~fixture": 2,
        "cassettes/test_it/TestCase.test_it": 2,
        "cassettes/test_it/TestAsync.test_it": 2,
        "cassettes/test_it/TestPlain.setup_class~fixture": 1,
        "cassettes/test_it/TestPlain.test_it": 1,
    }
    inner().assert_outcomes(passed=3)
    assert provider.count == 9


def test_the_marker_of_its_scope_says_how_a_fixture_records_but_for_the_name(inner, provider):
    inner.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        pytestmark = pytest.mark.cassette("shared", mode="once", repeats="same")

        PARAMS = [pytest.param(object(), id="x"), 2.5, None, object(), "sk-" + "Ab1" * 12]

        @pytest.fixture(scope="module", params=PARAMS)
        def answer(request):
            assert ask("twice") == ask("twice")

        @pytest.fixture(scope="module")
        def indirect(request):
            return ask(request.param)

        @pytest.mark.parametrize("indirect", ["a", "b"], indirect=True)
        def test_it(answer, indirect):
            assert indirect.endswith(("a", "b"))
        """,
    )
    inner().assert_outcomes(passed=10)
    names = sorted(folder.split("/")[-1].partition("~")[0] for folder in _folders(inner))
    assert names[2].startswith("answer[[openai key 1]]_")
    del names[2]
    assert names == [*(f"answer[{param}]" for param in ("2.5", "None", "answer3", "x")), "indirect[a]", "indirect[b]"]
    asked = provider.count
    inner("--record-mode=none").assert_outcomes(passed=10)
    assert provider.count == asked


def test_two_fixtures_of_one_name_and_a_test_of_that_name(inner, provider):
    inner.write("pytest.ini", "[pytest]\npythonpath = .\npython_functions = *_it answer\n")
    inner.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        @pytest.fixture(scope="module", name="answer")
        def of_module():
            return ask("of the module")

        class TestOne:
            @pytest.fixture(scope="class")
            def answer(self, answer):
                return answer + ask("of the class")

            @pytest.mark.cassette
            def use_it(self, answer):
                assert "of the module" in answer and answer.endswith("of the class")

        @pytest.mark.cassette
        def answer_it(answer):
            ask("test")
        """,
    )
    inner("--record-mode=once").assert_outcomes(passed=2)
    inner().assert_outcomes(passed=2)
    assert provider.count == 3


def test_a_sealed_fixture_reaches_nobody_by_a_socket_of_its_own(inner):
    inner.write(
        "test_it.py",
        """
        import socket
        import pytest

        @pytest.fixture(scope="session")
        def reaches():
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("192.0.2.1", 80), timeout=5)

        @pytest.mark.cassette
        def test_it(reaches):
            pass
        """,
    )
    result = inner()
    result.assert_outcomes(errors=1)
    assert "192.0.2.1" in result.stdout.str()


@pytest.mark.parametrize("settings", ["", 'mode = "nonsense"'])
def test_what_is_wrong_fails_a_wider_fixture_with_what_is_wrong_and_not_with_our_insides(inner, settings):
    inner.write("onetake.toml", settings)
    marker = "name='shared'" if settings else "mod='all'"
    inner.write(
        "test_it.py",
        f"""
        import pytest
        pytestmark = pytest.mark.cassette({marker})

        @pytest.fixture(scope="module")
        def wide():
            return 1

        def test_it(wide):
            pass
        """,
    )
    result = inner()
    result.assert_outcomes(errors=1)
    wrong = "*nonsense*" if settings else "the cassette marker has no argument 'mod'; did you mean 'mode'[?]"
    result.stdout.fnmatch_lines([f"onetake: {wrong}"])
    assert "pytest_fixture_sessions.py" not in result.stdout.str()
    assert "During handling" not in result.stdout.str()

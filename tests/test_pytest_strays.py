"""`--unmarked`: tests without a cassette that reach a model are named, or refused; nothing else is touched."""

from __future__ import annotations

import aiohttp  # noqa: F401 - imported here, so that each inner run finds the same modules, patched
import httpx  # noqa: F401 - as above
import pytest
import requests  # noqa: F401 - as above

from onetake import strays
from onetake.testing.project import Project

pytest_plugins = ("pytester",)

CLIENTS = """
import asyncio, json, threading, urllib.request
import aiohttp, httpx, onetake, pytest, requests
from asking import URL, ask, ask_async, body

TEXT = json.dumps(body("hi")).encode()

def by_urllib():
    request = urllib.request.Request(URL, TEXT, {"content-type": "application/json"})
    return urllib.request.urlopen(request).read()

async def by_aiohttp():
    async with aiohttp.ClientSession() as session, session.post(URL, json=body("hi")) as response:
        return await response.json()

def swallow():
    try:
        ask("hi")
    except BaseException:
        pass

@pytest.fixture
def fixture():
    ask("in a fixture")

@pytest.fixture
def late():
    yield
    ask("in a teardown")

def test_httpx():
    for _ in range(3):
        ask("hi")

def test_async():
    asyncio.run(ask_async("hi"))

def test_requests():
    with requests.Session() as session:  # one connection for both
        session.post(URL, json=body("hi"))
        session.post(URL, json=body("ho"))

def test_urllib():
    by_urllib()

def test_aiohttp():
    asyncio.run(by_aiohttp())

def test_thread():
    thread = threading.Thread(target=swallow)
    thread.start()
    thread.join()

def test_fixture(fixture):
    pass

def test_teardown(late):
    pass

def test_scope(tmp_path):
    with onetake.use_cassette(tmp_path / "own", mode="once"):
        ask("hi")

@pytest.mark.cassette(mode="once")
def test_marked():
    ask("hi")

def test_nothing():
    pass
"""


def at(inner, provider):
    """Have the settings name the provider as a host of models."""
    place = provider.url.removeprefix("http://")
    inner.write("onetake.toml", f"hosts = ['{place}']\n")
    inner.write("test_it.py", CLIENTS)
    return place


@pytest.mark.parametrize("workers", ["alone", pytest.param("xdist", marks=[pytest.mark.slow, pytest.mark.whole])])
def test_unmarked_tests_that_reach_a_model_are_named_and_left_alone(inner, provider, workers):
    place = at(inner, provider)
    result = inner(*(("-p", "xdist", "-n", "1") if workers == "xdist" else ()))
    result.assert_outcomes(passed=11)
    assert provider.count == 13
    result.stdout.fnmatch_lines(
        [
            "8 unmarked tests reached a model host; mark them with @pytest.mark.cassette:",
            f"  test_it.py::test_httpx ({place}, 3 calls)",
            f"  test_it.py::test_async ({place}, 1 call)",
            f"  test_it.py::test_requests ({place}, 2 calls)",
            f"  test_it.py::test_urllib ({place}, 1 call)",
            f"  test_it.py::test_aiohttp ({place}, 1 call)",
            f"  test_it.py::test_thread ({place}, 1 call)",
            f"  test_it.py::test_fixture ({place}, 1 call)",
            f"  test_it.py::test_teardown ({place}, 1 call)",
        ],
        consecutive=True,
    )
    assert strays.watch is None


def test_where_that_fails_nothing_leaves_and_each_test_says_so_itself(inner, provider):
    at(inner, provider)
    result = inner("--unmarked=fail", "-rA")
    result.assert_outcomes(passed=4, failed=6, errors=2)
    assert provider.count == 2
    text = result.stdout.str()
    for name in ("httpx", "async", "requests", "urllib", "aiohttp", "thread"):
        assert f"FAILED test_it.py::test_{name}" in text
    assert "ERROR test_it.py::test_fixture" in text
    assert "ERROR test_it.py::test_teardown" in text
    result.stdout.fnmatch_lines(
        [
            "E  *a test without a cassette may not reach a model (--unmarked=fail): POST http*/v1/chat/completions",
            "E  *to mend it: mark the test with @pytest.mark.cassette, or open a cassette*",
            "onetake: 2 recorded, 8 refused*",
        ]
    )
    assert "unmarked tests reached" not in text


def test_the_real_failure_comes_before_the_refused_call(inner, provider):
    at(inner, provider)
    inner.write("test_it.py", CLIENTS + "\ndef test_both():\n    swallow()\n    assert 1 == 2\n")
    result = inner("--unmarked=fail", "-k", "test_both")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*assert 1 == 2", "E*onetake refused 1 call; the first: a test without a cassette*"])
    assert provider.count == 0


def test_a_known_host_is_known_by_its_name_whatever_carries_the_call(inner, provider, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", provider.url)
    inner.write(
        "test_it.py",
        """
        import asyncio, contextlib, urllib.request
        import aiohttp, httpx, pytest, requests

        URL = "https://api.openai.com/v1/chat/completions"

        def test_httpx():
            with pytest.raises(httpx.HTTPError):
                httpx.post(URL)

        def test_requests():
            with pytest.raises(requests.RequestException):
                requests.post(URL)

        def test_urllib():
            with pytest.raises(OSError):
                urllib.request.urlopen(URL)

        async def by_aiohttp():
            async with aiohttp.ClientSession(trust_env=True) as session:
                await session.post(URL)

        def test_aiohttp():
            with pytest.raises(aiohttp.ClientError):
                asyncio.run(by_aiohttp())

        def test_traces():
            with pytest.raises(httpx.HTTPError):
                httpx.post("https://api.openai.com/v1/traces/ingest")
        """,
    )
    assert "model host" not in inner().stdout.str()  # no test here has a cassette: nobody asked us
    result = inner("--unmarked=warn")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(
        [
            "4 unmarked tests reached a model host; mark them with @pytest.mark.cassette:",
            *(
                f"  test_it.py::test_{name} (api.openai.com, 1 call)"
                for name in ("httpx", "requests", "urllib", "aio*")
            ),
        ]
    )
    inner("--unmarked=fail").assert_outcomes(passed=1, failed=4)
    inner.write("onetake.toml", "ignore = ['api.openai.com']\n")
    inner("--unmarked=fail").assert_outcomes(passed=5)


def test_what_reaches_no_model_is_no_stray(inner, provider):
    inner.write(
        "test_it.py",
        """
        import httpx, pytest, respx
        from asking import ask

        @pytest.mark.cassette
        def test_marked():
            pass

        def test_own_server():
            ask("a known path on loopback")

        @respx.mock
        def test_mocked():
            respx.post("https://api.openai.com/v1/chat/completions").respond(json={"choices": []})
            assert httpx.post("https://api.openai.com/v1/chat/completions").json() == {"choices": []}
        """,
    )
    for word in ("warn", "fail"):
        result = inner(f"--unmarked={word}")
        result.assert_outcomes(passed=3)
        assert "model host" not in result.stdout.str()
    assert provider.count == 2


def test_a_call_while_modules_are_imported_is_refused(inner, provider):
    at(inner, provider)
    inner.write("test_it.py", "from asking import ask\nask('hi')\n")
    result = inner("--unmarked=fail")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*a call outside of any test may not reach a model (--unmarked=fail): POST*"])
    assert provider.count == 0


UNTOUCHED = """
import sys, socket
import httpx

def test_it():
    assert "onetake.adapters.httpx" not in sys.modules
    assert httpx.HTTPTransport.handle_request.__module__ == "httpx._transports.default"
    assert not hasattr(socket.socket.connect, "_onetake")
"""


@pytest.mark.whole
@pytest.mark.slow
def test_without_a_cassette_in_the_run_or_where_it_is_ignored_nothing_is_patched(tmp_path):
    quick = "-p no:hypothesispytest -p no:xdist -p no:pytest_cov -p no:asyncio -p no:anyio -p no:respx"
    project = Project(tmp_path, {"test_it.py": UNTOUCHED}, {"PYTEST_ADDOPTS": quick})
    done = project.pytest()
    assert (done.code, "onetake:" in done.out) == (0, False), done.out
    marked = UNTOUCHED + "\nimport pytest\n@pytest.mark.cassette\ndef test_last():\n    pass\n"
    project.write({"test_it.py": marked})
    assert project.pytest("--unmarked=ignore").code == 0

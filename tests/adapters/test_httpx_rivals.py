"""respx, pytest-httpx and instrumentation beside us on httpx and httpx2."""

from __future__ import annotations

import asyncio
import functools
import os
import ssl
import subprocess
import sys

import httpx
import httpx2
import pytest
import respx

from onetake.errors import AdapterError, InteractionNotFound

_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_KEY = "sk-proj-" + "a1B2c3D4" * 5


def _client(module, **options):
    return module.Client(verify=_TLS, **options)


def _unsync(module, **options):
    return module.AsyncClient(verify=_TLS, **options)


def _using(using):
    return respx.mock(using=using, assert_all_called=False)


def test_br_084_respx_below_us_is_named(url, session, body):
    with session("once") as opened, _using("httpcore") as router:
        router.post(url).respond(200, json={"made": "up"})
        with opened.expect_refusal() as expected, _client(httpx) as client:
            client.post(url, json=body("who answers?"))
    assert isinstance(expected.refusals[0], InteractionNotFound)
    assert "respx and onetake are both active" in str(expected.refusals[0])
    assert opened.recorded == ()


def test_br_084_respx_below_us_is_named_at_replay_too(url, provider, session, body):
    async def post():
        async with _unsync(httpx) as client:
            await client.post(url, json=body("who answers?"))

    with session("once"):
        asyncio.run(post())
    with session("none") as opened, _using("httpcore") as router, opened.expect_refusal():
        router.post(url).respond(200)
        asyncio.run(post())
    assert opened.played == ()


def test_br_084_respx_takes_what_no_route_names(url, session, body):
    with session("once") as opened, _using("httpcore"), opened.expect_refusal(), _client(httpx) as client:
        client.post(url, json=body("no route"))
    with session("once", "other") as opened, _using("httpcore") as router, opened.expect_refusal():
        router.route().respond(200)
        with _client(httpx) as client:
            client.post(url, json=body("any route"))


def test_br_084_respx_over_us_is_named_at_the_end(url, session, body):
    with _using("httpx") as router, pytest.raises(AdapterError, match=r"respx .*and onetake are both active"):
        router.post(url).respond(200)
        with session("once"), _client(httpx) as client:
            client.post(url, json=body("who answers?"))


@pytest.mark.parametrize("using", ["httpcore", "httpx"])
def test_respx_that_passes_the_call_through_is_no_rival(url, provider, session, using, body):
    with session("once") as opened, _using(using) as router, _client(httpx) as client:
        router.post(url).pass_through()
        client.post(url, json=body("who answers?"))
    assert len(opened.recorded) == provider.count == 1


def test_respx_on_httpx_is_no_rival_of_httpx2(url, provider, session, body):
    with session("once") as opened, _using("httpcore"), _client(httpx2) as client:
        client.post(url, json=body("who answers?"))
    assert len(opened.recorded) == 1


def test_br_098_no_secret_of_the_url_is_told(session, body, capsys):
    url = f"https://user:hunter2secretpw@api.openai.com/{_KEY}/v1/chat/completions?api_key=swordfish1234"
    with session("once") as opened, _using("httpcore") as router, opened.expect_refusal() as expected:
        router.post(url__startswith="https://api.openai.com").respond(200)
        with _client(httpx) as client:
            client.post(url, json=body("who answers?"))
    told = str(expected.refusals[0]) + capsys.readouterr().err
    assert "respx and onetake are both active" in told
    assert not [secret for secret in ("hunter2secretpw", _KEY, "swordfish1234") if secret in told]


_WITH_PYTEST_HTTPX = """
import httpx
import pytest

from onetake import use_cassette
from onetake.errors import AdapterError

URL = "http://provider.invalid/v1/chat/completions"


def test_it_stands_first(httpx_mock):
    httpx_mock.add_response(json={"made": "up"})
    with pytest.raises(AdapterError, match=r"pytest-httpx \\(on httpx\\) and onetake are both active"):
        with use_cassette("first", mode="once") as session:
            assert httpx.post(URL, json={}).json() == {"made": "up"}
    assert session.recorded == ()


def test_it_comes_over_us(request):
    with pytest.raises(AdapterError, match=r"pytest-httpx \\(on httpx\\) and onetake are both active"):
        with use_cassette("over", mode="once"):
            request.getfixturevalue("httpx_mock").add_response(json={"made": "up"})
            assert httpx.post(URL, json={}).json() == {"made": "up"}
"""


@pytest.fixture(scope="session")
def pytest_httpx(tmp_path_factory):
    """The folder of a pytest-httpx of its own: in the environment of the tests it would load everywhere."""
    folder = tmp_path_factory.mktemp("pytest-httpx")
    install = [sys.executable, "-m", "uv", "pip", "install", "--no-deps", "--target", str(folder), "pytest-httpx"]
    done = subprocess.run(install, capture_output=True, text=True, timeout=100)
    if done.returncode:
        pytest.skip(f"pytest-httpx cannot be installed here: {done.stderr.strip()[-200:]}")
    return folder


def test_br_084_pytest_httpx_is_named_at_the_end(pytest_httpx, tmp_path):
    (tmp_path / "onetake.toml").touch()
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    (tmp_path / "test_both.py").write_text(_WITH_PYTEST_HTTPX)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_both.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(pytest_httpx), *sys.path])},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_instrumentation_over_us_is_no_rival(module, url, provider, session, monkeypatch, body):
    with session("once") as opened, _client(module) as client:
        hooked = module.HTTPTransport.handle_request

        @functools.wraps(hooked)
        def traced(self, request):
            return hooked(self, request)

        monkeypatch.setattr(module.HTTPTransport, "handle_request", traced)
        client.post(url, json=body("traced"))
    with session("none") as opened, _client(module) as client:
        client.post(url, json=body("traced"))
    assert len(opened.played) == provider.count == 1


def test_a_patch_that_was_taken_away_is_put_back(module, url, provider, session, monkeypatch, body):
    original = module.HTTPTransport.handle_request
    while hasattr(original, "__wrapped__"):
        original = original.__wrapped__
    monkeypatch.setattr(module.HTTPTransport, "handle_request", original)
    with session("once") as opened, _client(module) as client:
        client.post(url, json=body("still there?"))
    assert len(opened.recorded) == 1

"""What programs do to a refusal: threads, tasks and clients that swallow or rename it; and what is let out."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import httpx2
import pytest
import requests

import onetake
from onetake.errors import InteractionNotFound, NetworkRefusal, Refusal


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def by_httpx(origin):
    httpx.post(origin.url, json={}, timeout=5)


def by_requests(origin):
    requests.post(origin.url, json={}, timeout=5)


def by_socket(origin):
    with socket.create_connection(("127.0.0.1", origin.port), timeout=5) as sock:
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n\r\n")


def swallowing(call, origin):
    """Call, and swallow what is raised, whatever it is."""
    try:
        return call(origin)
    except BaseException:  # noqa: BLE001 - the harshest program there is
        return None


@pytest.mark.parametrize("call", [by_httpx, by_requests, by_socket])
def test_what_threads_and_executors_swallow_is_still_told(origin, unhook, call):
    with pytest.raises(Refusal), onetake.use_cassette("c", mode="none", hosts=[origin.place]) as cassette:
        for adapter in ("httpx", "urllib3", "http.client"):
            unhook(adapter)
        thread = threading.Thread(target=swallowing, args=(call, origin))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(swallowing, [call] * 4, [origin] * 4))
        assert len(cassette.refusals) == 5
    assert origin.connections == 0


def test_each_of_many_tasks_is_told(origin, unhook):
    async def main():
        async with httpx.AsyncClient(timeout=5) as client:
            await asyncio.gather(*(client.post(origin.url, json={}) for _ in range(5)), return_exceptions=True)

    with onetake.use_cassette("c", mode="none", hosts=[origin.place]) as cassette, cassette.expect_refusal() as said:
        unhook("httpx")
        asyncio.run(main())
    assert origin.connections == 0
    assert len(said.refusals) == 5


def test_sessions_in_concurrent_tasks_keep_their_own_ledgers(origin):
    async def one(name, hosts):
        with onetake.use_cassette(name, mode="none", hosts=hosts) as cassette, cassette.expect_refusal() as said:
            await asyncio.gather(asyncio.open_connection("127.0.0.1", origin.port), return_exceptions=True)
            with contextlib.suppress(OSError):
                await asyncio.open_connection(f"{name}.example.com", 443)
        return [str(refusal) for refusal in said.refusals]

    async def main():
        return await asyncio.gather(one("a", [origin.place]), one("b", [origin.place]))

    for name, texts in zip("ab", asyncio.run(main()), strict=True):
        assert len(texts) == 2
        assert f"{name}.example.com" in texts[1]
        assert all(f": {name}\n" in text for text in texts)
    assert origin.connections == 0


@pytest.mark.parametrize(
    ("get", "adapters", "own"),
    [
        pytest.param(httpx.get, ["httpx"], httpx.ConnectError, id="httpx"),
        pytest.param(httpx2.get, ["httpx2"], httpx2.ConnectError, id="httpx2"),
        pytest.param(requests.get, ["urllib3", "http.client"], requests.ConnectionError, id="requests"),
    ],
)
def test_clients_make_their_own_error_of_a_refused_connection(unhook, get, adapters, own):
    with pytest.raises(NetworkRefusal), onetake.use_cassette("c", mode="none"):
        for adapter in adapters:
            unhook(adapter)
        with pytest.raises(own):
            get("https://db.example.com/")


@pytest.mark.parametrize("call", [httpx.get, httpx2.get, requests.get])
def test_quiet_hosts_are_refused_without_a_word(call):
    with onetake.use_cassette("c", mode="none") as cassette, contextlib.suppress(Exception):
        call("http://169.254.169.254/latest/meta-data/", timeout=5)
    assert cassette.refusals == ()


def test_ignored_hosts_are_reached(origin):
    with onetake.use_cassette("c", mode="none", hosts=["127.0.0.1"], ignore=[origin.place]):
        by_socket(origin)
    assert origin.connections == 1


def test_a_call_that_is_caught_by_its_name_may_be_expected(origin):
    with onetake.use_cassette("c", mode="none", hosts=[origin.place]) as cassette:
        with cassette.expect_refusal(InteractionNotFound):
            by_socket(origin)
        assert len(cassette.refusals) == 1


def test_what_an_old_thread_asks_after_the_end_of_its_session_does_not_leave(origin):
    go, done = threading.Event(), threading.Event()

    def late():
        go.wait(10)
        swallowing(by_socket, origin)
        done.set()

    with onetake.use_cassette("c", mode="none", hosts=[origin.place]) as cassette:
        threading.Thread(target=late).start()
    go.set()
    assert done.wait(10)
    assert origin.connections == 0
    assert "(ended)" in str(cassette.refusals[0])
    by_socket(origin)
    assert origin.received.startswith(b"POST")

"""niquests: its ways to read, its multiplexed and event stream sessions, HTTP/2, web sockets, and what rides on it."""

from __future__ import annotations

import asyncio
import base64
import gc
import hashlib
import importlib.util
import json
import socket
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from onetake.adapters import urllib3 as classic
from onetake.adapters import urllib3_future as adapter
from onetake.errors import AdapterError, InteractionNotFound
from onetake.scopes import use_cassette
from onetake.settings_start import set_start
from onetake.testing.provider import Provider, openai_chat, openai_error, openai_stream

niquests = pytest.importorskip("niquests", reason="niquests is not installed here; it has an environment of its own")
future = sys.modules[niquests.adapters.HTTPConnectionPool.__module__.partition(".")[0]]

_CHAT = "/v1/chat/completions"


@pytest.fixture
def session(tmp_path):
    (tmp_path / "onetake.toml").touch()

    @contextmanager
    def opened(mode, name="cassette", **options):
        before = set_start(tmp_path / "program.py")
        try:
            with use_cassette(name, mode=mode, **options) as running:
                yield running
        finally:
            set_start(before)

    return opened


@pytest.fixture
def provider():
    with Provider() as running:
        yield running


def _body(text, **more):
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def _replayed(session, provider, ask, **options):
    """Ask live and sealed; return what was got, once it is the same, and the recording session."""
    with session("once", **options) as recording:
        first = ask()
    provider.close()
    with session("none", **options):
        assert ask() == first
    return first, recording


_WAYS = {
    "content": lambda response: response.content,
    "text": lambda response: response.text.encode(),
    "iter_content": lambda response: b"".join(response.iter_content()),
    "iter_content(7)": lambda response: b"".join(response.iter_content(7)),
    "iter_raw": lambda response: b"".join(response.iter_raw()),
    "iter_lines": lambda response: b"\n".join(response.iter_lines()),
    "raw.read": lambda response: response.raw.read(),
    "raw.read(9)": lambda response: b"".join(iter(lambda: response.raw.read(9), b"")),
    "raw.stream": lambda response: b"".join(response.raw.stream(11)),
    "raw.data": lambda response: response.raw.data,
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("way", _WAYS.values(), ids=_WAYS.keys())
def test_every_way_to_read(way, stream, provider, session):
    def ask():
        with niquests.Session() as client:
            response = client.post(provider.url + _CHAT, json=_body("read me", stream=stream), stream=True)
            return way(response)

    first, recording = _replayed(session, provider, ask)
    assert b"read" in first
    assert [entry.verdict for entry in recording.recorded] == ["good"]


async def _parts(whole):
    for at in range(0, len(whole), 7):
        yield whole[at : at + 7]


@pytest.mark.parametrize(
    "make",
    [
        lambda whole: whole,
        lambda whole: (whole[at : at + 7] for at in range(0, len(whole), 7)),
        _parts,
    ],
    ids=["bytes", "generator", "async generator"],
)
def test_a_body_of_any_kind_is_sent_as_it_was(make, provider, session):
    whole = json.dumps(_body("in pieces")).encode()

    async def main():
        async with niquests.AsyncSession() as client:
            headers = {"content-type": "application/json"}
            return (await client.post(provider.url + _CHAT, data=make(whole), headers=headers)).json()

    _, recording = _replayed(session, provider, lambda: asyncio.run(main()))
    assert provider.requests[0].body == recording.recorded[0].request.body == whole


def test_multiplexed_sessions_are_answered_at_once(provider, session):
    def ask():
        with niquests.Session(multiplexed=True) as client:
            answers = [client.post(provider.url + _CHAT, json=_body(f"number {n}")) for n in range(3)]
            client.gather()
            return [answer.json()["choices"][0]["message"]["content"] for answer in answers]

    first, recording = _replayed(session, provider, ask)
    assert [text.rpartition(" ")[2] for text in first] == ["0", "1", "2"]
    assert len(recording.recorded) == 3


def test_multiplexed_async_sessions_are_answered_at_once(provider, session):
    async def main():
        async with niquests.AsyncSession(multiplexed=True) as client:
            url = provider.url + _CHAT
            answers = await asyncio.gather(*(client.post(url, json=_body(f"number {n}")) for n in range(3)))
            await client.gather()
            return [(await _settled(answer.json()))["choices"][0]["message"]["content"] for answer in answers]

    first, _ = _replayed(session, provider, lambda: asyncio.run(main()))
    assert [text.rpartition(" ")[2] for text in first] == ["0", "1", "2"]


async def _settled(value):
    return await value if asyncio.iscoroutine(value) else value


def test_threads_that_share_one_session_get_their_own_answers(provider, session):
    def ask():
        with niquests.Session() as client, ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda n: client.post(provider.url + _CHAT, json=_body(f"row {n}")).json(), range(40)))

    first, recording = _replayed(session, provider, ask)
    said = [answer["choices"][0]["message"]["content"] for answer in first]
    assert [text.rpartition(" ")[2] for text in said] == [str(n) for n in range(40)]
    assert len(recording.recorded) == provider.count == 40


def test_tasks_that_share_one_session_get_their_own_answers(provider, session):
    async def main():
        async with niquests.AsyncSession() as client:
            url = provider.url + _CHAT
            answers = await asyncio.gather(*(client.post(url, json=_body(f"row {n}")) for n in range(40)))
            return [answer.json()["choices"][0]["message"]["content"] for answer in answers]

    first, recording = _replayed(session, provider, lambda: asyncio.run(main()))
    assert [text.rpartition(" ")[2] for text in first] == [str(n) for n in range(40)]
    assert len(recording.recorded) == provider.count == 40


def test_equal_calls_share_one_answer(provider, session):
    """The body that is shared is read before its caller sees it, and can still be read in every way."""

    async def awaited():
        async with niquests.AsyncSession() as client:
            response = await client.post(provider.url + _CHAT, json=_body("the same"), stream=True)
            return b"".join([chunk async for chunk in await response.iter_content()])

    with session("new_episodes", repeats="same") as opened, niquests.Session() as client:
        first = client.post(provider.url + _CHAT, json=_body("the same"), stream=True)
        assert asyncio.run(awaited()) == b"".join(first.iter_content()) == opened.recorded[0].response.body
    assert provider.count == 1


def test_a_refusal_is_not_swallowed_and_the_session_serves_on(provider, session):
    with session("once"), niquests.Session() as client:
        client.post(provider.url + _CHAT, json=_body("known"))
    with Provider() as other, session("none") as sealed, niquests.Session(retries=3) as client:
        with sealed.expect_refusal(), pytest.raises(InteractionNotFound):
            client.post(other.url + _CHAT, json=_body("unknown"))
        assert client.post(provider.url + _CHAT, json=_body("known")).ok
        assert other.count == 0


def test_each_try_after_a_status_is_a_call_of_its_own(provider, session):
    provider.script([openai_error(503), openai_chat("at last")])
    retries = future.Retry(2, status_forcelist=[503], allowed_methods=None)

    async def main():
        async with niquests.AsyncSession(retries=retries) as client:
            return (await client.post(provider.url + _CHAT, json=_body("try"))).json()

    def ask():
        with niquests.Session(retries=retries) as client:
            return client.post(provider.url + _CHAT, json=_body("try")).json()

    first, recording = _replayed(session, provider, ask)
    assert [entry.response.status for entry in recording.recorded] == [200]
    with session("none"):
        assert asyncio.run(main()) == first


@pytest.mark.parametrize("stream", [False, True])
def test_urllib3_itself_reads_ahead_as_it_was_asked(stream, provider, session):
    async def awaited():
        async with future.AsyncPoolManager() as client:
            response = await client.request("POST", provider.url + _CHAT, json=_body("pool"))
            return response.status, await response.data

    def ask():
        with future.PoolManager() as client:
            response = client.request("POST", provider.url + _CHAT, json=_body("pool"), preload_content=not stream)
            return response.status, response.data

    first, _ = _replayed(session, provider, ask)
    with session("none"):
        assert asyncio.run(awaited()) == first


def test_an_event_stream_session(provider, session):
    stream = openai_stream("one two")
    provider.script([stream])
    host = provider.url.removeprefix("http://")

    def ask():
        with niquests.Session() as client:
            response = client.get(f"psse://{host}/events")
            found = []
            while response.extension is not None and (event := response.extension.next_payload(raw=True)) is not None:
                found.append(event)
            return found

    first, recording = _replayed(session, provider, ask, hosts=[host])
    assert "".join(first).encode() == stream.body
    assert [entry.verdict for entry in recording.recorded] == ["good"]


@pytest.mark.parametrize("awaited", [False, True], ids=["threads", "tasks"])
@pytest.mark.parametrize("decode", [False, True, None], ids=["raw", "decoded", "as told"])
@pytest.mark.parametrize("way", ["read", "stream"])
@pytest.mark.parametrize("repeats", ["sequence", "same"])
def test_br_070_an_encoded_answer_comes_back_as_it_was_read(repeats, way, decode, awaited, provider, session):
    import urllib3_future

    answer = replace(openai_chat("tell"), encoding="gzip")
    provider.script([answer] * 2)
    asked = {"headers": {"content-type": "application/json"}, "body": json.dumps(_body("tell"))}

    def ask():
        with urllib3_future.PoolManager() as pools:
            response = pools.request("POST", provider.url + _CHAT, preload_content=False, **asked)
            return response.read(None, decode) if way == "read" else b"".join(response.stream(9, decode))

    async def main():
        async with urllib3_future.AsyncPoolManager() as pools:
            response = await pools.request("POST", provider.url + _CHAT, preload_content=False, **asked)
            if way == "read":
                return await response.read(decode_content=decode)
            return b"".join([piece async for piece in response.stream(9, decode)])

    bare = asyncio.run(main()) if awaited else ask()
    first, recording = _replayed(session, provider, (lambda: asyncio.run(main())) if awaited else ask, repeats=repeats)
    assert (first, first == answer.body) == (bare, decode is not False)
    stored = recording.recorded[0]
    assert stored.verdict == "good"
    assert stored.response.decoded == ("" if decode is False or repeats == "same" else "gzip")


@pytest.mark.parametrize("mode", ["once", "new_episodes", "none"])
def test_a_web_socket_is_refused(mode, provider, session):
    host = provider.url.removeprefix("http://")
    with session(mode, hosts=[host]) as opened, opened.expect_refusal() as expected, niquests.Session() as client:
        client.get(f"ws://{host}/socket")
    assert expected.refusals[0].args[0] == "a web socket cannot be recorded"
    assert (provider.count, opened.recorded) == (0, ())


def test_a_stream_dropped_unread_frees_those_who_wait(provider, session):
    provider.script([replace(openai_stream("never read"), hold=threading.Event(), hold_before=1)])
    with session("new_episodes", repeats="same") as opened:
        client = niquests.Session()
        response = client.post(provider.url + _CHAT, json=_body("drop me", stream=True), stream=True)
        client.close()
        del response, client
        gc.collect()
        again = niquests.post(provider.url + _CHAT, json=_body("drop me", stream=True))
    assert again.content.endswith(b"data: [DONE]\n\n")
    assert [entry.verdict for entry in opened.recorded] == ["good"]


class _Http2:
    """A server that speaks HTTP/2 from the first byte on, and answers every request with one stream."""

    def __init__(self, pieces):
        self.pieces, self.count = pieces, 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _serve(self):
        with suppress(OSError):
            while True:
                threading.Thread(target=self._answer, args=(self._listening.accept()[0],), daemon=True).start()

    def _answer(self, peer):
        import jh2.events
        from jh2.config import H2Configuration
        from jh2.connection import H2Connection

        wire = H2Connection(H2Configuration(client_side=False))
        wire.initiate_connection()
        with peer, suppress(OSError):
            peer.sendall(wire.data_to_send())
            while data := peer.recv(65536):
                for event in wire.receive_data(data):
                    if isinstance(event, jh2.events.StreamEnded):
                        self.count += 1
                        wire.send_headers(event.stream_id, [(":status", "200"), ("content-type", "text/event-stream")])
                        for piece in self.pieces:
                            wire.send_data(event.stream_id, piece)
                        wire.end_stream(event.stream_id)
                peer.sendall(wire.data_to_send())


@pytest.mark.parametrize("awaited", [False, True], ids=["sync", "asyncio"])
def test_http2_is_carried(awaited, session):
    stream = openai_stream("one two")
    server = _Http2(stream.pieces)

    def ask():
        with niquests.Session(disable_http1=True, multiplexed=True) as client:
            return [client.post(server.url + _CHAT, json=_body(f"number {n}", stream=True)).content for n in range(2)]

    async def main():
        async with niquests.AsyncSession(disable_http1=True, multiplexed=True) as client:
            url = server.url + _CHAT
            answers = await asyncio.gather(
                *(client.post(url, json=_body(f"number {n}", stream=True)) for n in range(2))
            )
            return [await _settled(answer.content) for answer in answers]

    first, recording = _replayed(session, server, (lambda: asyncio.run(main())) if awaited else ask)
    assert first == [stream.body] * 2
    assert [entry.verdict for entry in recording.recorded] == ["good"] * 2
    assert server.count == 2


def test_an_ignored_web_socket_passes(session):
    listening = socket.create_server(("127.0.0.1", 0))
    host = f"127.0.0.1:{listening.getsockname()[1]}"

    def serve():
        with listening.accept()[0] as peer, peer.makefile("rb") as asked:
            lines = list(iter(asked.readline, b"\r\n"))
            key = next(line.split()[1] for line in lines if line.lower().startswith(b"sec-websocket-key:"))
            accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
            head = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
            peer.sendall(head + b"sec-websocket-accept: " + accept + b"\r\n\r\n\x81\x02hi")
            asked.read(2)

    thread = threading.Thread(target=serve)
    thread.start()
    with listening, session("once", ignore=[host]) as recording, niquests.Session() as client:
        response = client.get(f"ws://{host}/socket")
        assert (response.status_code, response.extension.next_payload()) == (101, "hi")
        response.extension.close()
        thread.join()
    assert (recording.recorded, recording.rejects) == ((), ())


@pytest.mark.skipif(not importlib.util.find_spec("requests"), reason="requests is not installed")
def test_requests_rides_on_the_override(provider, session):
    import requests

    def ask():
        return requests.post(provider.url + _CHAT, json=_body("by requests"), timeout=10).json()

    _, recording = _replayed(session, provider, ask)
    assert recording.recorded[0].provenance["client"].startswith("urllib3")


def test_patching_again_changes_nothing():
    adapter.patch(future)
    ours = future.HTTPConnectionPool.urlopen, future.AsyncHTTPConnectionPool.urlopen
    classic.patch(future)
    assert (future.HTTPConnectionPool.urlopen, future.AsyncHTTPConnectionPool.urlopen) == ours


def _other(**changed):
    """Return urllib3-future, untouched by us, with some of its parts in another shape; None leaves one out."""
    module = types.ModuleType("urllib3_future")
    for name in ("HTTPResponse", "AsyncHTTPResponse", "HTTPHeaderDict", "exceptions", "backend", "util"):
        setattr(module, name, getattr(future, name))
    for name in ("HTTPConnectionPool", "AsyncHTTPConnectionPool"):
        method = getattr(future, name).urlopen
        setattr(module, name, type(name, (), {"urlopen": getattr(method, "__wrapped__", method)}))
    for name, part in changed.items():
        setattr(module, name, part)
    return module


def _fewer(self, method, url, multiplexed=False): ...


class _NoRawRead:
    def __init__(self, body=b""): ...


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"AsyncHTTPConnectionPool": None}, "no AsyncHTTPConnectionPool.urlopen"),
        ({"HTTPConnectionPool": type("P", (), {"urlopen": _fewer})}, "HTTPConnectionPool.urlopen without extension"),
        ({"AsyncHTTPConnectionPool": type("P", (), {"urlopen": _fewer})}, "urlopen in another colour"),
        ({"HTTPResponse": _NoRawRead}, "HTTPResponse without _raw_read"),
        ({"AsyncHTTPResponse": future.HTTPResponse}, "AsyncHTTPResponse._raw_read in another colour"),
        ({"backend": types.ModuleType("backend")}, "low-level responses made of"),
    ],
    ids=["no async pool", "fewer", "colour", "response", "response colour", "low level"],
)
def test_br_073_a_version_of_another_shape_is_an_adapter_error(changed, said):
    adapter.patch(_other())
    with pytest.raises(AdapterError, match="onetake cannot intercept urllib3-future") as raised:
        adapter.patch(_other(**changed))
    assert said in str(raised.value)

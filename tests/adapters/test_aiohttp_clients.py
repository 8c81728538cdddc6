"""Around aiohttp: middlewares, web sockets, other traffic, other versions, and the hook itself."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import aiohttp
import pydantic
import pytest

from onetake.adapters import aiohttp as adapter
from onetake.errors import AdapterError, ContractError
from onetake.testing.provider import bytes_reply, openai_chat, openai_error, openai_stream

pytestmark = [pytest.mark.filterwarnings("error::ResourceWarning"), pytest.mark.usefixtures("nothing_unclosed")]


def test_the_programs_middlewares_stand_around_ours(url, provider, session, body, run, said, ask):
    """The last hand on a request is its own, so what it adds is part of the request; retries are calls of their own."""

    async def signing(request, handler):
        request.headers["x-signed"] = "yes"
        response = await handler(request)
        if response.status == 503:
            response.release()
            response = await handler(request)
        return response

    async def call(**options):
        async with aiohttp.ClientSession(middlewares=[signing]) as client:
            return said(await ask(url, body("sign"), client, **options))

    provider.script([openai_error(503), openai_chat("signed"), openai_chat("bare")])
    with session("once") as opened:
        assert run(call()) == "signed"
        assert run(call(middlewares=())) == "bare"
    assert [request.header("x-signed") for request in provider.requests] == ["yes", "yes", None]
    assert [entry.response.status for entry in opened.recorded] == [200, 200]


def test_the_callers_request_keeps_its_headers(url, provider, session, body, run):
    async def call():
        async with (
            aiohttp.ClientSession() as client,
            client.post(url, json=body("x"), headers={"Accept-Encoding": "gzip"}) as response,
        ):
            await response.read()
            return response.request_info.headers["Accept-Encoding"]

    with session("once"):
        assert run(call()) == "gzip"
    assert provider.requests[0].header("accept-encoding") == "identity"


def test_an_unreachable_provider_is_the_clients_own_error(url, provider, session, body, run, ask):
    provider.close()
    with session("once") as opened, pytest.raises(aiohttp.ClientConnectorError):
        run(ask(url, body("anyone?")))
    assert (opened.recorded, opened.rejects) == ((), ())


def test_a_refusal_cancels_its_task_group_and_everything_is_closed(url, provider, session, body, run, ask):
    class Number(pydantic.BaseModel):
        n: int

    held = replace(openai_stream("one two"), hold=threading.Event(), hold_before=1)
    provider.script([held, openai_chat("no number")])

    async def reading(client, begun):
        async with client.post(url, json=body("held", stream=True)) as response:
            await response.content.readline()
            begun.set()
            await response.read()

    async def main():
        begun = asyncio.Event()
        async with aiohttp.ClientSession() as client, asyncio.TaskGroup() as group:
            group.create_task(reading(client, begun))
            await begun.wait()
            group.create_task(ask(url, body("a number"), client))

    with session("once", contract=Number) as opened, opened.expect_refusal():
        with pytest.raises(BaseExceptionGroup) as raised:
            run(main())
        raise raised.value.exceptions[0]
    assert [type(refusal) for refusal in opened.refusals] == [ContractError]
    assert ([entry.verdict for entry in opened.rejects], opened.recorded) == (["reject:violation"], ())


async def _socket(url):
    async with aiohttp.ClientSession() as client, client.ws_connect(url) as socket:
        return socket.protocol


@pytest.mark.parametrize("mode", ["once", "new_episodes", "all", "none"])
def test_a_web_socket_is_refused(mode, url, provider, host, session, run):
    with session(mode, hosts=[host]) as opened, opened.expect_refusal():
        run(_socket(url.replace("http", "ws")))
    said = str(opened.refusals[0])
    assert said.startswith("a web socket cannot be recorded: GET ws://127.0.0.1")
    assert ("`ignore`" in said, "mode=" in said, provider.count, opened.recorded) == (True, False, 0, ())


def test_a_web_socket_to_a_known_host_is_refused(session, run):
    with session("once") as opened, opened.expect_refusal():
        run(_socket("wss://api.openai.com/v1/realtime"))
    assert opened.refusals[0].args[0] == "a web socket cannot be recorded"


@pytest.mark.parametrize("mode", ["once", "none"])
def test_an_ignored_web_socket_passes(mode, url, provider, session, run):
    async def main():
        from aiohttp import web

        async def echo(request):
            socket = web.WebSocketResponse()
            await socket.prepare(request)
            await socket.send_str("said " + (await socket.receive()).data)
            await socket.close()
            return socket

        app = web.Application()
        app.router.add_get("/v1/chat/completions", echo)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host = f"127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
        try:
            with session(mode, ignore=[host]) as opened:
                async with (
                    aiohttp.ClientSession() as client,
                    client.ws_connect(f"ws://{host}/v1/chat/completions") as socket,
                ):
                    await socket.send_str("hello")
                    return (await socket.receive()).data, opened.recorded
        finally:
            await runner.cleanup()

    assert run(main()) == ("said hello", ())


def test_other_local_traffic_passes_untouched(provider, session, body, run):
    provider.script([bytes_reply(b"mine", "text/plain")])

    async def call():
        async with aiohttp.ClientSession() as client, client.get(provider.url + "/health") as response:
            return await response.read(), type(response) is aiohttp.ClientResponse

    with session("none") as opened:
        assert run(call()) == (b"mine", True)
    assert opened.requests == ()
    assert provider.requests[0].header("accept-encoding") != "identity"


def test_the_hook_looks_like_what_it_hooks(session):
    """Programs read its parameters (google-genai does), and it is hooked once however often it is patched."""
    import inspect

    hooked = aiohttp.ClientSession._request
    with session("none"):
        assert aiohttp.ClientSession._request is hooked
    assert {"middlewares", "timeout", "auto_decompress"} <= set(inspect.signature(hooked).parameters)
    assert inspect.iscoroutinefunction(hooked)


def test_a_patch_that_was_taken_away_is_put_back(url, provider, session, monkeypatch, body, run, ask):
    original = aiohttp.ClientSession._request
    while hasattr(original, "__wrapped__"):
        original = original.__wrapped__
    monkeypatch.setattr(aiohttp.ClientSession, "_request", original)
    with session("once") as opened:
        run(ask(url, body("still there?")))
    assert len(opened.recorded) == 1


class _Broken:
    """aiohttp, with one part of it replaced."""

    def __init__(self, **parts):
        self.__dict__.update({**vars(aiohttp), "__version__": "9.9", **parts})


def _session(**parts):
    return type("ClientSession", (), {"_request": lambda self: None, "ATTRS": {"_middlewares"}, **parts})


def _init(self, *, middlewares=()):
    pass


class _OtherReader:
    async def _wait(self, name, *, until):
        pass


class _OtherRequest:
    def __init__(self, method, url, *, traces):
        self.traces = traces


class _OtherResponse:
    def __init__(self, method, url, *, writer, transport):
        pass


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"ClientSession": _session(_request=None)}, "no ClientSession._request"),
        ({"ClientSession": _session()}, "no client middlewares, which came with aiohttp 3.12"),
        ({"ClientSession": _session(__init__=_init, ATTRS=set())}, "no client middlewares"),
        ({"ClientSession": _session(__init__=_init), "StreamReader": _OtherReader}, "no _wait(func_name)"),
        ({"ClientSession": _session(__init__=_init), "ClientResponse": _OtherResponse}, "wants transport"),
        ({"ClientSession": _session(__init__=_init), "ClientRequest": _OtherRequest}, "ClientRequest has no _traces"),
    ],
)
def test_br_074_an_unknown_shape_is_said_when_it_is_patched(parts, said):
    broken = _Broken(**parts)
    before = broken.ClientSession._request
    with pytest.raises(AdapterError) as raised:
        adapter.patch(broken)
    assert said in str(raised.value)
    assert "aiohttp 9.9" in str(raised.value)
    assert broken.ClientSession._request is before

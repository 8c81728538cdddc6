"""Who is named: the outermost client of those that call each other down to the socket."""

from __future__ import annotations

import asyncio
import textwrap
import threading

import pytest
import trio

from onetake.guard_callers import caller


def within(*modules):
    """Call `caller` from functions of modules, the outermost first."""
    call = caller
    for module in reversed(modules):
        space = {"__name__": module, "inner": call}
        exec("def run():\n    return inner()\n", space)
        call = space["run"]
    return call()


@pytest.mark.parametrize(
    ("modules", "name"),
    [
        (["app.weather"], "app.weather"),
        (["app.weather", "requests.api", "urllib3.connection", "http.client", "socket"], "requests"),
        (["app.chat", "openai._base_client", "httpx2._client", "httpcore2._sync", "anyio._core"], "httpx2"),
        (["app.feed", "urllib.request", "http.client"], "urllib.request"),
        (["aiohttp.web", "app.view", "httpx._client"], "httpx"),
        (["app", "requests.api", "opentelemetry.instrumentation", "wrapt", "urllib3.poolmanager"], "requests"),
        (["app", "dspy._vendor.lm15.transports._sync"], "lm15"),
    ],
)
def test_the_outermost_client_is_named(modules, name):
    said = within(*modules)
    assert said.partition(" ")[0] == name


def test_who_called_the_client_is_named_too():
    assert within("app.weather", "requests.api", "urllib3.connection") == "requests (called from app.weather)"
    assert within("app.chat", "openai._base_client", "httpx2._client").endswith("(called from openai._base_client)")


def coroutine_of(module, text, **names):
    """Return a coroutine function whose code is a module's."""
    space = {"__name__": module, **names}
    exec("async def run():\n" + textwrap.indent(text, "    "), space)
    return space["run"]


ASYNCIO = """
async with asyncio.TaskGroup() as group:
    task = group.create_task(inner())
return task.result()
"""
TRIO = """
said = []
async def put():
    said.append(await inner())
async with trio.open_nursery() as nursery:
    nursery.start_soon(put)
return said[0]
"""


@pytest.mark.parametrize(("text", "run"), [(ASYNCIO, asyncio.run), (TRIO, lambda made: trio.run(lambda: made))])
def test_a_task_that_a_client_began_is_that_clients(text, run):
    below = coroutine_of("anyio._core", "return caller()", caller=caller)
    pool = coroutine_of("httpcore._async", text, inner=below, asyncio=asyncio, trio=trio)
    if text is TRIO:  # its `put` is code of the pool's, and would be named by itself
        pool = coroutine_of("anyio._core", text, inner=below, trio=trio)
    client = coroutine_of("httpx._client", "return await inner()", inner=pool)
    app = coroutine_of("app.chat", "return await inner()", inner=client)
    assert run(app()) == "httpx (called from app.chat)"


def test_of_several_clients_that_may_have_begun_a_task_all_are_named():
    said = []
    below = coroutine_of("anyio._core", "said.append(caller())", caller=caller, said=said)
    pools = [
        coroutine_of(name, "return await asyncio.create_task(inner())", inner=below, asyncio=asyncio)
        for name in ("httpx._client", "aiohttp.connector")
    ]

    async def main():
        await asyncio.gather(*(pool() for pool in pools))

    asyncio.run(main())
    assert said[0] == "aiohttp or httpx"


def test_a_thread_in_which_nothing_of_the_program_runs_is_named_itself():
    said = []
    space = {"said": said, "caller": caller}
    exec("def run():\n    said.append(caller())\n", space)
    for module, name in (("anyio.to_thread", "worker-7"), ("concurrent.futures", "worker-8")):
        space["__name__"] = module
        thread = threading.Thread(target=space["run"], name=name)
        thread.start()
        thread.join()
    assert said == ["anyio", "thread worker-8"]

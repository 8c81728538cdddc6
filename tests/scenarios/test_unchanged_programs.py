"""Programs that know nothing of onetake: recorded, the provider closed, and replayed, with all that they start."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from onetake.testing.project import Project

pytestmark = pytest.mark.slow

ASKING = """
import json, os, urllib.request

BASE = os.environ["PROVIDER"] + "/v1"


def body(text):
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def ask(text):
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(BASE + "/chat/completions", json.dumps(body(text)).encode(), headers)
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
"""

CLIENTS = """
import asyncio, os
import aiohttp, openai, requests
from asking import BASE, ask, body

client = openai.OpenAI(base_url=BASE, api_key=os.environ["MY_LLM_KEY"])
print(client.chat.completions.create(**body("by openai")).choices[0].message.content)
for chunk in client.chat.completions.create(**body("streamed"), stream=True):
    print(chunk.choices[0].delta.content if chunk.choices else "", end="|")
print()


async def main():
    async with aiohttp.ClientSession() as session, session.post(BASE + "/chat/completions", json=body("aio")) as got:
        print((await got.json())["choices"][0]["message"]["content"])
    async with openai.AsyncOpenAI(base_url=BASE, api_key="x") as late:
        calls = [late.chat.completions.create(**body(f"task {n}")) for n in range(5)]
        for done in await asyncio.gather(*calls):
            print(done.choices[0].message.content)


asyncio.run(main())
print(requests.post(BASE + "/chat/completions", json=body("requests")).json()["choices"][0]["message"]["content"])
print(ask("urllib"))
"""

CHILDREN = """
import asyncio, multiprocessing, os, subprocess, sys
from concurrent.futures import ProcessPoolExecutor
from asking import ask

LINE = "import sys, asking; print(asking.ask(sys.argv[1]))"


async def start():
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", LINE, "asyncio", stdout=subprocess.PIPE)
    return (await child.communicate())[0].decode()


if __name__ == "__main__":
    for way in multiprocessing.get_all_start_methods():
        with multiprocessing.get_context(way).Pool(2) as pool:
            print(pool.map(ask, [way + "1", way + "2"]))
            pool.close()
            pool.join()
    with ProcessPoolExecutor(2) as pool:
        print(list(pool.map(ask, ["executor1", "executor2"])))
    own = {"PROVIDER": os.environ["PROVIDER"], "PATH": os.environ["PATH"]}
    print(subprocess.run([sys.executable, "-c", LINE, "sub"], env=own, capture_output=True, text=True).stdout)
    print(asyncio.run(start()))
    print(os.popen(f'"{sys.executable}" -c "{LINE}" shell').read())
"""

SERVER = """
import httpx
from asking import BASE, body

client = httpx.AsyncClient()


async def app(scope, receive, send):
    assert scope["type"] == "http"
    try:
        got = await client.post(BASE + "/chat/completions", json=body(scope["path"]))
        said = got.json()["choices"][0]["message"]["content"]
    except BaseException as error:  # as a server does: it must not end
        said = type(error).__name__
    await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": said.encode()})
"""

ONE_BY_ONE = """
import os, signal
from asking import ask

for number in range(6):
    print(ask(f"row {number}"), flush=True)
    if number == int(os.environ.get("DIE_AFTER", "-1")):
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def project(tmp_path, provider):
    """A project with unchanged programs and a provider."""
    files = {
        "onetake.toml": '[credentials]\nMY_LLM_KEY = "no-key-required"\n',
        "asking.py": ASKING,
        "clients.py": CLIENTS,
        "children.py": CHILDREN,
        "server.py": SERVER,
        "rows.py": ONE_BY_ONE,
    }
    return Project(tmp_path, files, env={"PROVIDER": provider.url})


def run(project, *words, env=None):
    return project.python("-m", "onetake", "run", *words, env=env, timeout=110)


def test_every_client_is_recorded_once_and_replayed_with_the_provider_closed(project, provider):
    first = run(project, "--", sys.executable, "clients.py", env={"MY_LLM_KEY": "the-real-one"})
    assert (first.code, first.err) == (0, "onetake: cassettes/clients (new_episodes): 10 recorded\n")
    assert provider.count == 10
    provider.close()
    # The key is not there any more: the settings name a harmless one. The environment alone seals as well.
    pair = {"ONETAKE_CASSETTE": "cassettes/clients", "ONETAKE_MODE": "none"}
    again = project.python("clients.py", env=pair, timeout=110)
    assert (again.code, again.out, again.err) == (0, first.out, "onetake: cassettes/clients (none): 10 replayed\n")


@pytest.mark.whole
def test_every_kind_of_child_process_joins(project, provider):
    first = run(project, "--", sys.executable, "children.py")
    assert first.code == 0, first.err
    count = provider.count
    assert count >= 7
    assert first.err.endswith(f"onetake: cassettes/children (new_episodes): {count} recorded\n")
    provider.close()
    again = run(project, "--mode", "none", "--", sys.executable, "children.py")
    assert (again.code, again.out) == (0, first.out)
    assert again.err.endswith(f"onetake: cassettes/children (none): {count} replayed\n")


def test_a_program_that_is_killed_half_way_goes_on_where_it_was(project, provider):
    killed = run(project, "--mode", "once", "--", sys.executable, "rows.py", env={"DIE_AFTER": "2"})
    assert killed.code == 128 + 9
    assert killed.err == "onetake: cassettes/rows (once): 3 recorded\n"
    whole = run(project, "--mode", "once", "--", sys.executable, "rows.py")
    assert (whole.code, whole.err) == (0, "onetake: cassettes/rows (once): 3 recorded, 3 replayed\n")
    assert whole.out.startswith(killed.out)
    assert provider.count == 6
    assert not project.files(".onetake/making")
    assert not project.files(".onetake/children")


@pytest.mark.skipif(os.name == "nt", reason="a listener is handed over by its number")
def test_a_server_with_two_workers_is_recorded_and_sealed(project, provider):
    paths = [f"/{n}" for n in range(8)]
    first, code, err = serve(project, paths)
    assert first == [f"answer {n + 1} to: /{n}" for n in range(8)]
    assert (code, err) == (143, "onetake: cassettes/uvicorn (new_episodes): 8 recorded\n")
    provider.close()
    again, code, err = serve(project, [*paths, "/unknown"], "--mode", "none")
    assert again == [*first, "InteractionNotFound"]
    assert code == 6
    assert "onetake: cassettes/uvicorn (none): 8 replayed, 1 call refused\n" in err


def serve(project, paths, *options):
    """Run the server under a session, ask it for paths one after the other, and end it."""
    taken = {
        name: os.environ[name] for name in os.environ if name != "CI" and not name.startswith(("PYTEST", "ONETAKE"))
    }
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.set_inheritable(listener.fileno(), True)
        server = ["-m", "uvicorn", "server:app", "--workers", "2", "--lifespan", "off", "--log-level", "critical"]
        command = ["-m", "onetake", "run", *options, "--", sys.executable, *server, "--fd", str(listener.fileno())]
        with subprocess.Popen(
            [sys.executable, *command],
            cwd=project.folder,
            env=taken | project.env,
            pass_fds=[listener.fileno()],
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as running:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            said = [urllib.request.urlopen(url + path, timeout=60).read().decode() for path in paths]
            running.send_signal(signal.SIGTERM)
            err = running.communicate(timeout=60)[1]
    return said, running.returncode, err

"""What tests of several folders share."""

from __future__ import annotations

import compileall
import gc
import json
import logging
import os
import signal
import subprocess
import sys
import sysconfig
import textwrap
import urllib.request
from pathlib import Path

import hypothesis
import pytest

import onetake
from onetake.cassette import Cassette
from onetake.engine import Engine
from onetake.ledger import Ledger
from onetake.model import Mode, Repeats, Request, Response
from onetake.settings_start import set_start
from onetake.steps import Flow, Live, Policy
from onetake.stores.memory import MemoryStore
from onetake.testing.local_model import available
from onetake.testing.local_model import local_model as serve_model
from onetake.testing.provider import Provider
from onetake.traffic import Traffic

# A slice with fixed seeds in every run; `just sweep` runs the whole.
hypothesis.settings.register_profile("slice", max_examples=40, deadline=None, derandomize=True)
hypothesis.settings.register_profile(
    "whole", max_examples=2000, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
)
hypothesis.settings.load_profile(os.environ.get("ONETAKE_SWEEP") or "slice")


def pytest_configure():
    """Make ready what the Pythons inherit that tests start, and what they must not meet."""
    logging.getLogger("asyncio").addFilter(_without_traceback)
    # A shell that starts this in the background has interrupts ignored.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Where Python may not write byte-code, as in many containers, each of them would compile pytest and the SDKs anew.
    if sys.dont_write_bytecode and "PYTEST_XDIST_WORKER" not in os.environ:
        for folder in (sysconfig.get_path("purelib"), Path(onetake.__file__).parent):
            compileall.compile_dir(folder, quiet=2)


def _without_traceback(record: logging.LogRecord) -> bool:
    # asyncio reports a task that nobody awaited from its finalizer, so inside whatever the garbage collector
    # interrupted. Where that is `ast.parse`, as pytest rewrites a module, formatting the traceback parses a second
    # time within the first, and Python 3.11 fails the outer one ("AST constructor recursion depth mismatch").
    record.exc_info = None
    return True


def pytest_collection_modifyitems(items):
    """Leave what is marked `whole` to the whole sweep."""
    if os.environ.get("ONETAKE_SWEEP") != "whole":
        for item in items:
            if item.get_closest_marker("whole"):
                item.add_marker(pytest.mark.skip(reason="one of many alike: only under .ci/run --whole"))


def pytest_collection_finish():
    """Keep what collecting made, ten thousand tests, out of each later round of the garbage collector."""
    gc.collect()
    gc.freeze()


CHAT_URL = "https://api.openai.com/v1/chat/completions"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with settings of its own, which is the current one."""
    (tmp_path / "onetake.toml").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def interaction():
    """Return a function that makes vcrpy's form of a chat call: *asked* by the user, *said* by the model."""

    def make(asked="Hello?", said="Good day.", *, status=200, request=None, response=None):
        question = {"model": "gpt-5", "messages": [{"role": "user", "content": asked}]}
        answer = {"choices": [{"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}]}
        headers = {"content-type": ["application/json"]}
        sent = {"method": "POST", "uri": CHAT_URL, "headers": headers, "body": json.dumps(question)}
        got = {"status": {"code": status, "message": "x"}, "headers": headers, "body": {"string": json.dumps(answer)}}
        return {"request": sent | (request or {}), "response": got | (response or {})}

    return make


@pytest.fixture
def provider():
    """A scripted provider of this test's own."""
    with Provider() as running:
        yield running


class Chats:
    """A project whose entries were recorded from a provider on loopback.

    Args:
        root: Its folder, the current one.
        provider: The provider.
    """

    def __init__(self, root, provider):
        self.root, self.provider = root, provider

    def __call__(self, *asked, folder="cassettes/a", model="m-1", contract=None, keep=(), **more):
        """Record a chat call for each text that is asked; returns the files, in that order."""
        before = set_start(self.root / "program.py")
        try:
            with onetake.use_cassette(folder, mode="new_episodes", contract=contract, keep=keep) as session:
                for text in asked:
                    self.ask({"model": model, "messages": [{"role": "user", "content": text}], **more})
        finally:
            set_start(before)
        return [next((self.root / folder).glob(f"*{entry.key[:16]}*.json")) for entry in session.recorded]

    def settings(self, text):
        """Write the project's settings."""
        (self.root / "onetake.toml").write_text(text, encoding="utf-8")

    def ask(self, body):
        """Send a chat call, through whatever session is open here."""
        url = f"{self.provider.url}/v1/chat/completions"
        sent = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(sent) as answer:
            answer.read()


@pytest.fixture
def chats(project, provider):
    """A project of this test's own: `chats("one", "two")` records two entries."""
    return Chats(project, provider)


@pytest.fixture(scope="session")
def local_model():
    """The real small model, started once for all tests that ask for it."""
    reason = available()
    if reason:
        pytest.skip(f"no local model: {reason}")
    with serve_model() as running:
        yield running


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of other people's cassettes and logs; read in place, never written."""
    beside = Path(__file__).parents[1] / ".." / "shared" / "corpora"
    folder = Path(os.environ.get("ONETAKE_CORPORA") or beside).resolve()
    if not folder.is_dir():
        pytest.skip("the corpora are not here (ONETAKE_CORPORA names their folder)")
    return folder


_ASKING = """
import os

import httpx

URL = os.environ["PROVIDER"] + "/v1/chat/completions"


def body(text, **more):
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def ask(text, **more):
    return httpx.post(URL, json=body(text, **more)).json()["choices"][0]["message"]["content"]


async def ask_async(text, **more):
    async with httpx.AsyncClient() as client:
        response = await client.post(URL, json=body(text, **more))
    return response.json()["choices"][0]["message"]["content"]
"""


# Plugins that a reader does not have, or that have no part in it: all of them take a second of every run.
_NO_PART = ("hypothesispytest", "respx", "xdist", "pytest_cov", "anyio", "requests_mock", "rerunfailures", "timeout")


@pytest.fixture(scope="session")
def quick() -> str:
    """What `PYTEST_ADDOPTS` says to a pytest of its own, so that it starts in half the time."""
    return " ".join(f"-p no:{name}" for name in (*_NO_PART, "asyncio"))


@pytest.fixture
def inner(pytester, provider, monkeypatch):
    """Run pytest inside this process on files of the test's own, which ask the provider; needs the pytester plugin.

    `inner(*arguments)` returns what `pytester.runpytest_inprocess` does; `inner.write(name, text)` writes a file.
    """
    for name in list(os.environ):
        if name == "CI" or name.startswith(("ONETAKE_", "PYTEST_ADDOPTS", "PYTEST_XDIST_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PROVIDER", provider.url)

    loaded = ("anyio", "requests_mock", "rerunfailures")  # here already, and some of its tests use them
    without = [word for name in ("cacheprovider", *_NO_PART) if name not in loaded for word in ("-p", f"no:{name}")]

    def run(*arguments):
        return pytester.runpytest_inprocess(*without, *arguments)

    def write(name, text):
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def files(under=""):
        found = [path.relative_to(pytester.path).as_posix() for path in (pytester.path / under).rglob("*.json")]
        return sorted(name for name in found if ".onetake/usage/" not in name)  # every run leaves its ledger there

    run.write, run.files, run.path, run.syspathinsert = write, files, pytester.path, pytester.syspathinsert
    write("pytest.ini", "[pytest]\npythonpath = .\nasyncio_default_fixture_loop_scope = function\n")
    write("asking.py", _ASKING)
    return run


@pytest.fixture
def start():
    """Start a program that says a line when it holds what it could get, and then waits for its input to end."""
    started = []

    def begin(program, *words):
        process = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def tool_model():
    """The real small model as one that calls tools, started once for all tests that ask for it."""
    reason = available()
    if reason:
        pytest.skip(f"no local model: {reason}")
    with serve_model(tools=True) as running:
        yield running


def chat(prompt: str, *, headers: tuple = (), url: str = CHAT_URL, **fields: object) -> Request:
    """Return a chat request; *fields* are added to its body."""
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": prompt}], **fields}
    return Request("POST", url, (("content-type", "application/json"), *headers), json.dumps(body).encode())


def said(text: str | None, finish: str = "stop", status: int = 200, **message: object) -> Response:
    """Return a chat completion of one choice."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    body = json.dumps({"id": "chatcmpl-1", "model": "gpt-5-2026", "choices": [choice]}).encode()
    return Response(status, (("content-type", "application/json"),), body)


class Direct:
    """An engine that a test speaks to without a client: real requests, responses and stores."""

    chat = staticmethod(chat)
    said = staticmethod(said)

    def __init__(
        self,
        store=None,
        mode="new_episodes",
        *,
        rejects=None,
        being_made=True,
        pending=None,
        on_record=None,
        elsewhere=(),
        names=None,
        **policy,
    ):
        self.store = MemoryStore("cassette") if store is None else store
        self.rejects = MemoryStore("rejects") if rejects is None else rejects
        policy = {"traffic": Traffic(), "root": Path("/nowhere"), **policy}
        policy["repeats"] = Repeats(policy.get("repeats", "sequence"))
        self.ledger = Ledger()
        self.engine = Engine(
            Policy(mode=Mode(mode), **policy),
            Cassette(self.store, pending, resume=pending is not None),
            Cassette(self.rejects),
            self.ledger,
            being_made=lambda: being_made,
            on_record=on_record or (lambda: None),
            elsewhere=lambda key: list(elsewhere),
            names=names,
        )

    def ask(self, request, who="one", may_wait=True):
        """Begin a call; *request* may be a prompt."""
        request = chat(request) if isinstance(request, str) else request
        return self.engine.begin(request, Flow(who, may_wait), "httpx2 2.16.2")

    def answer(self, step, response):
        """Commit a live call's response, which may be a text; returns the response that its caller gets."""
        response = said(response) if isinstance(response, str) else response
        return self.engine.commit(self.engine.judge(step, response))

    def call(self, request, response=None):
        """Ask, and answer where it goes live; returns the text that the caller gets."""
        step = self.ask(request)
        if isinstance(step, Live):
            assert response is not None, "it went live"
            return text_of(self.answer(step, response))
        return text_of(step.response)

    def entries(self, store=None):
        """Every entry of the cassette (or of another store), by key and ordinal."""
        return [entry for _, _, entry in Cassette(self.store if store is None else store).all()]


def text_of(response: Response) -> str:
    """Return the text of a chat completion."""
    return json.loads(response.body)["choices"][0]["message"]["content"]


@pytest.fixture
def direct() -> type[Direct]:
    """Engines without a client; see `Direct`."""
    return Direct

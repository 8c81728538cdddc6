"""How the conformance suite of adapters calls a client: in each colour, and all colours by one name."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from onetake.errors import OnetakeError
from onetake.events import events
from onetake.model import Headers, Response
from onetake.scopes import use_cassette
from onetake.session import Session
from onetake.settings_start import set_start
from onetake.testing.provider import Provider, openai_chat, openai_stream

CHAT = "/v1/chat/completions"
_JSON = (("content-type", "application/json"),)
IN_PIECES = {"stream": openai_stream("one two three"), "whole": openai_chat("one two three").in_pieces(120)}
"""Replies that can be held in the middle."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client gave its caller: status, headers, and the body with its content-encoding undone."""

    status: int
    headers: Headers
    body: bytes

    @property
    def text(self) -> str:
        """What the model said, of an OpenAI chat completion."""
        said: str = json.loads(self.body)["choices"][0]["message"]["content"]
        return said


@dataclass(frozen=True, slots=True)
class Ask:
    """One request of the suite."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes = b""

    @property
    def parts(self) -> tuple[tuple[str, str], dict[str, Any]]:
        """The arguments of `send` and its kin."""
        return (self.method, self.url), {"headers": self.headers, "body": self.body}


def ask(provider: Provider, text: str, *, stream: bool = False) -> Ask:
    """Make a chat request with one user message."""
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}], "stream": stream}
    return Ask("POST", provider.url + CHAT, _JSON, json.dumps(body).encode())


def run(colour: str, function: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any) -> Any:
    """Run a coroutine function under `asyncio` or `trio`."""
    call = functools.partial(function, *args, **kwargs)
    if colour == "trio":
        import trio

        return trio.run(call)
    return asyncio.run(call())  # type: ignore[arg-type]


def count(body: bytes) -> int:
    """Return how many whole events the beginning of an event stream holds."""
    return len(events(Response(200, (("content-type", "text/event-stream"),), body)))


class Calls:
    """The client under test, and what the suite needs to call it. A subclass gives the first five."""

    colours: Sequence[str] = ("sync",)
    """Which of `sync`, `asyncio` and `trio` the client has."""
    read_error: type[Exception]
    """What the client raises where a body breaks off."""
    encodings: Sequence[str] = ("gzip", "deflate", "br", "zstd")
    """The content-encodings that the client undoes, as it is installed here."""

    def send(self, method: str, url: str, *, headers: Headers, body: bytes) -> Answer:
        """Send a request, follow redirects, read the whole answer; a new client for each call."""
        raise NotImplementedError

    def stream(
        self, method: str, url: str, *, headers: Headers, body: bytes
    ) -> AbstractContextManager[Iterator[bytes]]:
        """Send a request and give its body as it comes; leaving the block closes it."""
        raise NotImplementedError

    async def asend(self, method: str, url: str, *, headers: Headers, body: bytes) -> Answer:
        """Do what `send` does, awaited; for a client that has `asyncio` or `trio`."""
        raise NotImplementedError

    def astream(
        self, method: str, url: str, *, headers: Headers, body: bytes
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Do what `stream` does, awaited."""
        raise NotImplementedError

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test in every colour of the client that it asks for."""
        if "colour" in metafunc.fixturenames:
            metafunc.parametrize("colour", self.colours)
        if "encoding" in metafunc.fixturenames:
            metafunc.parametrize("encoding", self.encodings)
        if "loop" in metafunc.fixturenames:
            metafunc.parametrize("loop", [colour for colour in self.colours if colour != "sync"])

    @pytest.fixture
    def provider(self) -> Iterator[Provider]:
        """A scripted provider of this test's own."""
        with Provider() as running:
            yield running

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> Path:
        """The folder that holds the settings, the cassettes and what is kept aside."""
        (tmp_path / "onetake.toml").touch()
        self._folder = tmp_path
        return tmp_path

    @contextmanager
    def session(self, mode: str, name: str = "cassette", **options: Any) -> Iterator[Session]:
        """Open a session in this test's own folder."""
        before = set_start(self._folder / "program.py")
        try:
            with use_cassette(name, mode=mode, **options) as session:
                yield session
        finally:
            set_start(before)

    def call(self, colour: str, asked: Ask) -> Answer:
        """Send a request in a colour."""
        args, kwargs = asked.parts
        if colour == "sync":
            return self.send(*args, **kwargs)
        answer: Answer = run(colour, self.asend, *args, **kwargs)
        return answer

    def read(self, colour: str, asked: Ask, until: Callable[[bytes], bool] = lambda body: False) -> bytes:
        """Read a stream in a colour, up to its end or until what came is enough; returns what came."""
        return self._read(asked, until) if colour == "sync" else run(colour, self.aread, asked, until)

    def _read(self, asked: Ask, until: Callable[[bytes], bool]) -> bytes:
        args, kwargs = asked.parts
        body = b""
        with self.stream(*args, **kwargs) as chunks:
            for chunk in chunks:
                body += chunk
                if until(body):
                    break
        return body

    async def aread(self, asked: Ask, until: Callable[[bytes], bool] = lambda body: False) -> bytes:
        """Do what `read` does inside a running loop."""
        args, kwargs = asked.parts
        body = b""
        async with self.astream(*args, **kwargs) as chunks:
            async for chunk in chunks:
                body += chunk
                if until(body):
                    break
        return body

    def leave_unread(self, colour: str, asked: Ask) -> None:
        """Send a request in a colour and close its body unread."""
        args, kwargs = asked.parts
        if colour == "sync":
            with self.stream(*args, **kwargs):
                return
        run(colour, self._aleave_unread, asked)

    async def _aleave_unread(self, asked: Ask) -> None:
        args, kwargs = asked.parts
        async with self.astream(*args, **kwargs):
            pass

    def at_once(self, colour: str, asked: Sequence[Ask]) -> list[Answer]:
        """Send requests at the same time, from threads or tasks; the answers in the order of *asked*."""
        if colour != "sync":
            answers: list[Answer] = run(colour, self._all, colour, asked)
            return answers
        ready = Barrier(len(asked))

        def one(each: Ask) -> Answer:
            ready.wait()
            return self.call("sync", each)

        with ThreadPoolExecutor(len(asked)) as pool:
            return list(pool.map(one, asked))

    async def _all(self, colour: str, asked: Sequence[Ask]) -> list[Answer]:
        found: dict[int, Answer] = {}

        async def one(number: int, each: Ask) -> None:
            args, kwargs = each.parts
            found[number] = await self.asend(*args, **kwargs)

        if colour == "trio":
            import trio

            async with trio.open_nursery() as nursery:
                for number, each in enumerate(asked):
                    nursery.start_soon(one, number, each)
        else:
            async with asyncio.TaskGroup() as group:
                for number, each in enumerate(asked):
                    group.create_task(one(number, each))
        return [found[number] for number in range(len(asked))]


def refused(call: Callable[[], Any]) -> OnetakeError:
    """Run what must be refused, and return the refusal, out of the group in which a task group wraps it."""
    try:
        call()
    except OnetakeError as error:
        return error
    except BaseExceptionGroup as group:
        inner = group.exceptions[0]
        assert isinstance(inner, OnetakeError), repr(group)
        return inner
    pytest.fail("nothing was refused")

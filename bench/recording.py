"""What recording adds to a live call on loopback, and to the wait for the first token of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event
from time import perf_counter
from typing import Any

import httpx

import onetake
from bench.bodies import asked
from bench.timing import rounds, timed
from onetake.testing.provider import Provider, Received, openai_chat, openai_stream

SIZE = 2_000
_TMPFS = Path("/dev/shm")

Recording = Callable[[], AbstractContextManager[object]]


def measure(folder: Path, *, calls: int, count: int) -> list[dict[str, Any]]:
    """Measure the call and the first token; *calls* a figure, in *count* rounds."""
    each = calls // count + 1
    with _ways(folder) as ways, Provider() as provider:
        provider.script(lambda request: openai_chat("delivery"))
        numbers = iter(range(10**9))
        whole = rounds(
            {name: lambda way=way: _calls(provider, way, numbers, each) for name, way in ways.items()}, count
        )
        first = rounds(
            {name: lambda way=way: _firsts(provider, way, numbers, each) for name, way in ways.items()}, count
        )
    return [_row("the whole answer", whole), _row("the first token", first)]


@contextmanager
def _ways(folder: Path) -> Iterator[dict[str, Recording]]:
    """Give ways to call: without a session, with one that records on disk, and on a file system without one."""
    numbers = iter(range(10**9))

    def into(place: Path) -> Recording:
        return lambda: onetake.use_cassette(place / f"recorded-{next(numbers)}", mode="new_episodes")

    found: dict[str, Recording] = {"live": nullcontext, "disk": into(folder)}
    if _TMPFS.is_dir():
        with TemporaryDirectory(dir=_TMPFS) as memory:
            yield found | {"memory": into(Path(memory))}
    else:
        yield found


def _calls(provider: Provider, way: Recording, numbers: Iterator[int], each: int) -> list[float]:
    url = f"{provider.url}/v1/chat/completions"
    with way(), httpx.Client() as client:
        client.post(url, json=asked(next(numbers), SIZE))
        return [timed(lambda: client.post(url, json=asked(next(numbers), SIZE)).json()) for _ in range(each)]


def _firsts(provider: Provider, way: Recording, numbers: Iterator[int], each: int) -> list[float]:
    """Time from the question to the first event, while the second one is held back until the first has been read."""
    url = f"{provider.url}/v1/chat/completions"
    held: list[Event] = []

    def answer(request: Received) -> Any:
        reply = openai_stream("not today")
        return replace(reply, hold=held[-1], hold_before=1)

    provider.script(answer)
    found = []
    with way(), httpx.Client() as client:
        for _ in range(each):
            held.append(Event())
            body = asked(next(numbers), SIZE) | {"stream": True}
            began = perf_counter()
            with client.stream("POST", url, json=body) as response:
                chunks = response.iter_raw()
                next(chunks)
                found.append(perf_counter() - began)
                held[-1].set()
                for _ in chunks:
                    pass
    return found


def _row(what: str, found: dict[str, list[float]]) -> dict[str, Any]:
    live = median(found["live"])
    return {
        "what": what,
        "live_us": round(live * 1e6, 1),
        "added_ms": {
            name: round((median(seconds) - live) * 1e3, 2) for name, seconds in found.items() if name != "live"
        },
    }

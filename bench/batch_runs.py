"""A batch that asks: a live run and its commits, each beside a bare loop, and a resume that finds everything."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from hashlib import sha256
from itertools import count as counter
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from bench.batches import FinishedBatch
from bench.timing import ratio, rounds, timed
from onetake.batch import running
from onetake.batch.job import Ask, Job, Run
from onetake.batch.opening import Opened, open_source
from onetake.stores.sqlite import SqliteStore

IN_FLIGHT = 64
RESUMED = 1_000_000
_CALLS, _COMMITS = 6_400, 20_000
_ROUNDS = 3


def measure(folder: Path, *, count: int, entries: int | None = None) -> list[dict[str, Any]]:
    """Measure all three; *entries* stands for the records of each."""
    count = min(count, _ROUNDS)
    return [
        *_live(folder, entries or _CALLS, count),
        _commits(folder, entries or _COMMITS, count),
        _resume(folder, entries or RESUMED),
    ]


def _live(folder: Path, calls: int, count: int) -> list[dict[str, Any]]:
    source, numbers = folder / "live.jsonl", counter()
    source.write_text("".join(json.dumps({"message": f"record {number}"}) + "\n" for number in range(calls)))

    def ours(url: str) -> None:
        name = f"live-{next(numbers)}"
        run = Run(store=folder / f"{name}.db", least=IN_FLIGHT, most=IN_FLIGHT)
        job = Job(None, Ask(base_url=f"{url}/v1", model="m", prompt="Label {message}"), run)
        with closing(Opened(job, open_source(str(source)))) as batch:
            assert running.run(batch, folder / f"{name}.jsonl").exit_code == 0

    with _provider() as url:
        ways = {
            "one client": lambda: [timed(lambda: asyncio.run(_with_one(url, calls)))],
            "a client each": lambda: [timed(lambda: asyncio.run(_with_many(url, calls)))],
            "onetake": lambda: [timed(lambda: ours(url))],
        }
        found = rounds(ways, count)
    what = f"live run, 200 ms, {IN_FLIGHT} in flight, beside httpx with"
    return [
        _row(f"{what} {way}", calls, {"bare": found[way], "onetake": found["onetake"]})
        for way in ("one client", "a client each")
    ]


async def _with_one(url: str, calls: int) -> None:
    """Ask as a plain loop does, with one client for all that is in flight."""
    bodies = iter(range(calls))
    async with httpx.AsyncClient(timeout=60) as client:
        await asyncio.gather(*(_ask(client, url, bodies) for _ in range(IN_FLIGHT)))


async def _with_many(url: str, calls: int) -> None:
    """Ask with a client for each call in flight, the fastest way that httpx has: none looks at others' connections."""
    bodies, verify = iter(range(calls)), httpx.create_ssl_context()

    async def work() -> None:
        async with httpx.AsyncClient(timeout=60, verify=verify) as client:
            await _ask(client, url, bodies)

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))


async def _ask(client: httpx.AsyncClient, url: str, bodies: Iterator[int]) -> None:
    for number in bodies:
        asked = [{"role": "user", "content": f"Label record {number}"}]
        response = await client.post(f"{url}/v1/chat/completions", json={"model": "m", "messages": asked})
        response.json()


@contextmanager
def _provider() -> Iterator[str]:
    """Start a provider in a process of its own, which takes 200 ms for each answer."""
    command = [sys.executable, "-m", "bench.slow_provider"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def _commits(folder: Path, entries: int, count: int) -> dict[str, Any]:
    """Add bytes that are ready, each by a call that returns when they are on disk; beside a loop that commits as many.

    Both compress each body with zlib at level 1, digest it with SHA-256 and index its key; the loop does so on one
    thread, `IN_FLIGHT` entries a commit. The store can have no more in one: as many threads wait in its `add`.
    """
    numbers = counter()
    data = [json.dumps({"answer": sha256(str(number).encode()).hexdigest() * 30}).encode() for number in range(entries)]
    keys = [sha256(body).hexdigest() for body in data]

    def ours() -> None:
        path = folder / f"commits-{next(numbers)}.db"
        with closing(SqliteStore(path)) as store, ThreadPoolExecutor(IN_FLIGHT) as threads:
            assert all(threads.map(lambda key, body: store.add(key, 0, body), keys, data))

    def bare() -> None:
        with closing(sqlite3.connect(folder / f"commits-{next(numbers)}.db", isolation_level=None)) as connection:
            for said in ("page_size = 8192", "journal_mode = WAL", "synchronous = FULL"):
                connection.execute(f"PRAGMA {said}")
            connection.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, key BLOB UNIQUE, digest BLOB, body BLOB)")
            for at in range(0, entries, IN_FLIGHT):
                connection.execute("BEGIN IMMEDIATE")
                some = zip(keys[at : at + IN_FLIGHT], data[at : at + IN_FLIGHT], strict=True)
                rows = [(bytes.fromhex(key)[:8], sha256(body).digest(), zlib.compress(body, 1)) for key, body in some]
                connection.executemany("INSERT INTO entry (key, digest, body) VALUES (?, ?, ?)", rows)
                connection.execute("COMMIT")

    found = rounds({"bare": lambda: [timed(bare)], "onetake": lambda: [timed(ours)]}, count)
    return _row(f"commits, {IN_FLIGHT} threads", entries, found)


def _resume(folder: Path, entries: int) -> dict[str, Any]:
    """Look for every record's reply, in a process of its own that says what memory it takes."""
    FinishedBatch(folder / "resumed", entries)
    command = [sys.executable, "-m", "bench.resuming", str(folder / "resumed"), str(entries)]
    said = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    return {"what": "resume scan", "records": entries, **said}


def _row(what: str, records: int, found: dict[str, list[float]]) -> dict[str, Any]:
    return {
        "what": what,
        "records": records,
        "per_s": {name: round(records / median(seconds)) for name, seconds in found.items()},
        "times_bare": round(ratio(found, "onetake", "bare"), 2),
    }

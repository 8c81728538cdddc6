"""What other processes do to a store while its conformance suite looks on: each function runs in one of its own."""

from __future__ import annotations

import importlib.util
from functools import reduce
from hashlib import sha256
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Barrier
from typing import Any

from onetake.stores import Store

Origin = tuple[str, str, Path]
"""The suite's file, its class's qualified name, and the folder that `make` gets."""

HALF = 1 << 17


def key(*words: object) -> str:
    """Return a key, another one for other words."""
    return sha256(repr(words).encode()).hexdigest()


def whole(digits: str) -> bytes:
    """Return an entry of 256 KB that tells where it belongs, at both of its ends."""
    return digits.encode() + b"." * HALF + b"\x00\xff" * (HALF // 2) + digits.encode()


def open_store(origin: Origin) -> Store:
    """Open the store of the suite that asked, which lies in a file that cannot be imported by name."""
    file, qualified, folder = origin
    spec = importlib.util.spec_from_file_location("onetake_store_under_test", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"no Python file: {file}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    suite: Any = reduce(getattr, qualified.split("."), module)
    store: Store = suite().make(folder)
    return store


def race(origin: Origin, out: Connection, gate: Barrier, own: str, label: str, rounds: int) -> None:
    """Add the same keys as all others, each in the same moment; send (won, the bytes there) of every round."""
    store = open_store(origin)
    results = []
    for turn in range(rounds):
        gate.wait()
        won = store.add(key("race", turn), 0, f"{own} {turn}".encode(), label)
        results.append((won, store.get(key("race", turn), 0)))
    out.send(results)


def add_own(origin: Origin, out: Connection, gate: Barrier, own: str, number: int) -> None:
    """Add keys that no other process adds, while they all add; send how many were created."""
    store = open_store(origin)
    gate.wait()
    out.send(sum(store.add(key(own, turn), 0, key(own, turn).encode(), "chat-model") for turn in range(number)))


def add_without_end(origin: Origin, out: Connection) -> None:
    """Add big entries until killed, and send the number of each that is kept."""
    store = open_store(origin)
    for turn in count():
        store.add(key("big", turn), 0, whole(key("big", turn)), "chat-model")
        out.send(turn)


def add_some(origin: Origin, out: Connection, number: int) -> None:
    """Say hello, add big entries, and end."""
    store = open_store(origin)
    out.send("open")
    for turn in range(number):
        store.add(key("big", turn), 0, whole(key("big", turn)), "chat-model")


def replace_some(origin: Origin, out: Connection, number: int) -> None:
    """Say hello, replace one entry by others of other lengths and labels, and end."""
    store = open_store(origin)
    out.send("open")
    for turn in range(number):
        store.replace(key("replaced"), 0, b"%d" % (turn % 10) * (1 + turn % 7 * 10_000), f"label{turn % 3}")

"""Starts runs at a fraction of their cost: it has loaded what a run needs, and forks one for each line that it is told.

A line is JSON: `cwd`, `words` of the command line, `said` (a file for what it says), `events` (a pipe's name: the
process's number is written to it, and its exit status when it ends), `go` (a pipe's name: read before it begins, where
it is given), `mutant` (of `mutants.py`) and `largest` (bytes that a file may have).
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import resource
import sys
from contextlib import suppress
from pathlib import Path

import onetake

OURS = ("onetake.batch", "onetake.cli", "onetake.contract", "onetake.dialects", "onetake.stores", "onetake.upkeep")
OTHERS = ("httpcore2", "httpx2", "httpcore", "httpx", "anyio._backends._asyncio", "jsonschema_rs", "genai_prices")
_MAY_BE_TRACED = 0x59616D61, -1
"""Of prctl(2), PR_SET_PTRACER and anybody: a kernel may let none but parents trace a process."""


def load():
    """Load all that is loaded late."""
    for name in OURS:
        for found in pkgutil.iter_modules(importlib.import_module(name).__path__, f"{name}."):
            importlib.import_module(found.name)
    for name in OTHERS:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()


def watch(order):
    """Fork the run, and tell its number and how it ended."""
    with open(order["events"], "w", buffering=1) as events:  # noqa: PTH123 - a pipe
        if not (number := os.fork()):
            return
        events.write(f"{number}\n")
        _, status = os.waitpid(number, 0)
        events.write(f"{os.waitstatus_to_exitcode(status)}\n")
    os._exit(0)


def become(order):
    """Turn this process into the run."""
    os.chdir(order["cwd"])
    said = os.open(order["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), said, said)):
        os.dup2(descriptor, number)
    if order.get("largest") is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["largest"],) * 2)
    if order.get("mutant"):
        sys.path.insert(0, str(Path(__file__).parent))
        importlib.import_module("mutants").MUTANTS[order["mutant"]]()
    if order.get("go"):
        with suppress(AttributeError):
            ctypes.CDLL(None).prctl(*_MAY_BE_TRACED, 0, 0, 0)
        Path(order["go"]).read_bytes()
    sys.argv = ["onetake", *order["words"]]


def orders():
    """Give the orders of runs, each in a process of its own."""
    for line in sys.stdin.buffer:
        if not os.fork():
            order = json.loads(line)
            watch(order)
            yield order
            return
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


if __name__ == "__main__":
    load()
    from onetake.cli import main

    print(onetake.__name__, flush=True)  # noqa: T201 - its parent waits for it
    for one in orders():
        become(one)
        main()

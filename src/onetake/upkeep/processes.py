"""Work that is shared among processes: forked children do a part each, and tell what came of it.

A child that dies, or breaks, costs time alone: what it has not told is done in this process.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_MOST = 4

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def usable() -> int:
    """Return how many processes may share a work: one a core, 4 at most; 1 where this one must not be forked.

    A child has one thread, whatever the others hold locked. On macOS the system's own libraries have some.
    """
    if not hasattr(os, "fork") or sys.platform == "darwin" or threading.active_count() > 1:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _MOST)


def in_order(
    work: Callable[[Thing], Result], things: Sequence[Thing], weights: Sequence[int], processes: int
) -> Generator[Result, None, None]:
    """Yield what comes of each thing, in their order, whichever process did it.

    Args:
        work: What is done with each; what it returns can be pickled. An error of it is raised at its place.
        things: What it is done with.
        weights: How much work each is, 0 or more, as seen against the others.
        processes: How many share it; fewer than 2 for this one alone.
    """
    children: list[_Child] = []
    told: dict[int, Result] = {}
    try:
        with suppress(OSError):  # no more processes, or files, are to be had
            for share in _shares(weights, processes) if processes > 1 else ():
                children.append(_start(work, things, share, children))
        for number, thing in enumerate(things):
            _listen(children, told, number)
            yield told.pop(number) if number in told else work(thing)
    finally:
        for child in children:
            child.end()


@dataclass(slots=True)
class _Child:
    """A forked process, and what it tells: pairs of a thing's number and what came of it."""

    process: int
    told: Connection
    is_telling: bool = True

    def end(self) -> None:
        """End it, whatever it is at."""
        self.told.close()
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)


def _shares(weights: Sequence[int], count: int) -> list[list[int]]:
    """Deal things out, each to whom has the least so far."""
    shares: list[list[int]] = [[] for _ in range(count)]
    loads = [0] * count
    for number, weight in enumerate(weights):
        least = loads.index(min(loads))
        shares[least].append(number)
        loads[least] += weight + 1
    return shares


def _start(
    work: Callable[[Thing], Any], things: Sequence[Thing], share: Sequence[int], others: Sequence[_Child]
) -> _Child:
    from multiprocessing.connection import Pipe

    reader, writer = Pipe(duplex=False)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # in the child it would be raised into the parent's code
    try:
        process = os.fork()
        if not process:
            done = ((number, work(things[number])) for number in share)
            _serve(done, writer, [reader, *(one.told for one in others)])
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    writer.close()
    return _Child(process, reader)


def _serve(done: Iterator[tuple[int, Any]], writer: Connection, inherited: Sequence[Connection]) -> NoReturn:
    """Be a child. It says nothing of what breaks: in the parent that breaks as well, or does not matter."""
    with suppress(BaseException):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        for one in inherited:  # open here, they would keep another child from seeing that nobody listens to it
            one.close()
        for number, result in done:
            writer.send((number, result))
    os._exit(0)


def _listen(children: Sequence[_Child], told: dict[int, Any], number: int) -> None:
    """Take down what children tell until one has told of a thing, or all have ended."""
    while number not in told and (telling := [child for child in children if child.is_telling]):
        from multiprocessing.connection import wait

        ready = wait([child.told for child in telling])
        for child in telling:
            if child.told in ready:
                try:
                    done, result = child.told.recv()
                    told[done] = result
                except (EOFError, OSError):
                    child.is_telling = False

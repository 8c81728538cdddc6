"""The first Ctrl-C drains a run, the second stops it."""

from __future__ import annotations

import asyncio
import contextvars
import signal
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_LOOK_S = 0.2
"""Seconds until a thread that waits looks for signals: on Windows none reaches it while it waits."""


class _Caught:
    """The signals that were caught, told to a loop: those, too, that came before it listens."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._numbers: list[int] = []
        self._tell: Callable[[list[int]], None] | None = None

    def begin(self) -> None:
        """Catch what comes to this thread, which is the main one."""
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._take) or signal.SIG_DFL

    def end(self) -> None:
        """Let signals do what they did before."""
        while self._before:
            signal.signal(*self._before.popitem())

    @contextmanager
    def listened_to(self, first: Callable[[int], None], second: Callable[[], None]) -> Iterator[None]:
        """Have the running loop told for a block: of the first signal its number, then of the second."""
        loop = asyncio.get_running_loop()

        def tell(numbers: list[int]) -> None:
            with suppress(RuntimeError):  # the loop has just ended
                loop.call_soon_threadsafe(*((first, numbers[0]) if len(numbers) == 1 else (second,)))

        self._tell = tell
        for count in range(len(self._numbers)):
            tell(self._numbers[: count + 1])
        try:
            yield
        finally:
            self._tell = None

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._numbers.append(number)
        so_far = self._numbers[:]  # a second signal may be taken in the middle of this
        if len(so_far) > 1:
            self.end()
        if (tell := self._tell) is not None:
            tell(so_far)


_from_the_main_thread: ContextVar[_Caught | None] = ContextVar("_from_the_main_thread", default=None)


@contextmanager
def interrupts(first: Callable[[int], None], second: Callable[[], None]) -> Iterator[None]:
    """Catch SIGINT and SIGTERM for a block of a running event loop.

    Outside the main thread they are caught where `run_in_a_loop` waits for it there, and else by nobody.

    Args:
        first: Called in the loop with the number of the first signal.
        second: Called in the loop at the second one; from then on signals do what they did before.
    """
    caught = _from_the_main_thread.get()
    if caught is not None:
        with caught.listened_to(first, second):
            yield
    elif threading.current_thread() is threading.main_thread():
        caught = _Caught()
        with caught.listened_to(first, second), _woken():
            caught.begin()
            try:
                yield
            finally:
                caught.end()
    else:
        yield


@contextmanager
def _woken() -> Iterator[None]:
    """Have the running loop wake for each signal, for a block: the system may give it to another thread.

    Of two that come at once it does; only this thread runs what they are caught by, and that would wait until something
    else wakes it. Where whoever made the loop has it woken already, that is left as it is.
    """
    loop = asyncio.get_running_loop()
    reader, writer = socket.socketpair()
    with reader, writer:
        for end in (reader, writer):
            end.setblocking(False)
        try:
            loop.add_reader(reader, reader.recv, 4096)
        except NotImplementedError:  # Windows' own loop, which wakes for signals
            yield
            return
        own, before = writer.fileno(), signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        if before != -1:
            signal.set_wakeup_fd(before)
        try:
            yield
        finally:
            now = signal.set_wakeup_fd(-1)
            if now != own:
                signal.set_wakeup_fd(now)
            loop.remove_reader(reader)


def run_in_a_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where this thread runs a loop already, as in a notebook.

    Signals that the main thread gets while it waits reach `interrupts` there, too.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        if threading.current_thread() is not threading.main_thread():
            return thread.submit(asyncio.run, work).result()
        caught = _Caught()
        caught.begin()
        try:
            context = contextvars.copy_context()
            context.run(_from_the_main_thread.set, caught)
            return _result(thread.submit(context.run, asyncio.run, work))
        finally:
            caught.end()


def _result(future: Future[T]) -> T:
    while wait([future], _LOOK_S).not_done:
        pass
    return future.result()

"""The first Ctrl-C drains a run, the second stops it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupts(first: Callable[[int], None], second: Callable[[], None]) -> Iterator[None]:
    """Catch SIGINT and SIGTERM for a block of a running event loop; outside the main thread nothing is caught.

    Args:
        first: Called in the loop with the number of the first signal.
        second: Called in the loop at the second one; from then on signals do what they did before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before: dict[int, Any] = {}
    count = 0

    def restore() -> None:
        while before:
            signal.signal(*before.popitem())

    def caught(number: int, frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count == 1:
            loop.call_soon_threadsafe(first, number)
        else:
            restore()
            loop.call_soon_threadsafe(second)

    for number in _SIGNALS:
        before[number] = signal.signal(number, caught) or signal.SIG_DFL
    try:
        yield
    finally:
        restore()

"""Work that tasks bring while a thread is busy, and that is then done together: each hand-over costs a call dearly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Together(Generic[T, R]):
    """Has one thread at a time do what the tasks of a loop bring.

    Args:
        do: Given what was brought, says what became of each: its result, or the error that its task alone gets; raises
            what all of them get. Called in a thread.
        threads: Where.
        most: How many at once, but where a task is cancelled: each waits for the whole of what its own is done with.
    """

    def __init__(
        self, do: Callable[[Sequence[T]], Sequence[R | BaseException]], threads: ThreadPoolExecutor, *, most: int
    ) -> None:
        self._do = do
        self._threads = threads
        self._most = most
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._is_busy = False

    async def do(self, work: T, *, unwanted: Callable[[R], None] | None = None) -> R:
        """Have work done, with what others brought, to its end, whether or not the task is cancelled meanwhile.

        Args:
            work: Handed over at once where the task is cancelled.
            unwanted: Given the result of a task that was cancelled, which then ends; where left out, the result is
                returned all the same, and the task goes on.

        Returns:
            The result; raises what the work failed with.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[R] = loop.create_future()
        self._waiting.append((work, done))
        if len(self._waiting) == 1 and not self._is_busy:
            loop.call_soon(self._begin)  # behind those that bring something in the same turn of the loop
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            self._hand_over(len(self._waiting))
            result = await done
            if unwanted is None:
                return result
            unwanted(result)
            raise

    def _hand_over(self, most: int) -> None:
        if self._waiting:
            some, self._waiting = self._waiting[:most], self._waiting[most:]
            loop = asyncio.get_running_loop()
            self._is_busy = True
            task = self._threads.submit(self._do, [work for work, _ in some])
            task.add_done_callback(lambda task: loop.call_soon_threadsafe(self._end, some, task))

    def _begin(self) -> None:
        if not self._is_busy:
            self._hand_over(self._most)

    def _end(self, some: list[tuple[T, asyncio.Future[R]]], task: Future[Sequence[R | BaseException]]) -> None:
        self._is_busy = False
        failed = task.exception()
        found = task.result() if failed is None else [failed] * len(some)
        for (_, done), one in zip(some, found, strict=True):
            if done.done():  # its task was cancelled once more
                continue
            if isinstance(one, BaseException):
                done.set_exception(one)
            else:
                done.set_result(one)
        self._begin()

"""Work that threads bring at once, done together by one of them: a commit costs one fsync, however much is in it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from onetake import forking

_PATIENCE_S = 1.0
"""Seconds after which a thread that waits looks for itself: whoever was to wake it may have been interrupted."""


class Job:
    """One thread's work, and what became of it.

    Args:
        work: What it is, given to whoever does it.
    """

    __slots__ = ("done", "failed", "result", "turn", "work")

    def __init__(self, work: Any) -> None:
        self.work = work
        self.turn = threading.Lock()
        self.turn.acquire()
        self.done = False
        self.failed: BaseException | None = None
        self.result: Any = None


class Group:
    """Threads that come while one of them works wait, and what they bring is then done together.

    A thread may be interrupted at any place: whoever waits goes on without it.

    Args:
        do: Does some jobs, and marks as `done` what is: what it leaves undone where it raises is done by another.
    """

    def __init__(self, do: Callable[[Sequence[Job]], None]) -> None:
        self.leading = forking.Lock()
        """Held by the thread that works; who takes it keeps all others from it."""
        self._do = do
        self._queue = forking.Lock()
        self._waiting: list[Job] = []

    def renew(self) -> None:
        """Begin anew in a forked child: what other threads bring is done by the parent."""
        self._waiting = []

    def run(self, work: Any) -> Any:
        """Have work done, by this thread or by another one; returns its result, or raises what it failed with."""
        job = Job(work)
        try:
            with self._queue.held:
                self._waiting.append(job)
            while not job.done:
                lead = self.leading.held
                if lead.acquire(blocking=False):
                    try:
                        self._lead(job)
                    finally:
                        lead.release()
                else:
                    job.turn.acquire(timeout=_PATIENCE_S)
        finally:
            self._leave(job)
        if job.failed is not None:
            raise job.failed
        return job.result

    def _lead(self, own: Job) -> None:
        jobs: list[Job] = []
        try:
            with self._queue.held:
                jobs, self._waiting = self._waiting, []
                if own not in jobs and not own.done:  # its last leader was interrupted before it put this back
                    jobs.append(own)
            if jobs:
                self._do(jobs)
        finally:
            with self._queue.held:
                self._waiting[:0] = [job for job in jobs if not job.done]
                _wake(job for job in jobs if job.done)

    def _leave(self, job: Job) -> None:
        """Wait no longer; the first of those that still do looks whether it leads now."""
        with self._queue.held:
            if job in self._waiting:
                self._waiting.remove(job)
            _wake(self._waiting[:1])


def _wake(jobs: Any) -> None:
    for job in jobs:
        if job.turn.locked():
            job.turn.release()

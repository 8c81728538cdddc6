"""Work of many threads, done together by one of them, any of which may be interrupted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import pytest

from onetake.stores.grouping import Group


def doubled(jobs):
    for job in jobs:
        job.result, job.done = 2 * job.work, True


def test_each_thread_gets_the_result_of_its_own_work():
    sizes = []

    def do(jobs):
        sizes.append(len(jobs))
        doubled(jobs)

    group = Group(do)
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(group.run, range(500))) == [2 * number for number in range(500)]
    assert sum(sizes) == 500


def test_what_fails_is_raised_in_the_thread_that_brought_it():
    def do(jobs):
        for job in jobs:
            job.failed, job.done = ValueError(job.work), True

    with pytest.raises(ValueError, match="7"):
        Group(do).run(7)


def test_what_an_interrupted_thread_leaves_undone_is_done_by_another():
    begun, queued, seen = Event(), Event(), []

    def do(jobs):
        seen.append([job.work for job in jobs])
        if jobs[0].work == 1:
            begun.set()
            queued.wait(10)
            raise KeyboardInterrupt
        doubled(jobs)

    group, said = Group(do), []

    def lead():
        with pytest.raises(KeyboardInterrupt):
            group.run(1)

    leader, other = Thread(target=lead), Thread(target=lambda: said.append(group.run(2)))
    leader.start()
    assert begun.wait(10)
    other.start()
    while not group._waiting:
        pass
    queued.set()
    leader.join(10)
    other.join(10)
    assert group.run(3) == 6
    assert (said, seen) == ([4], [[1], [2], [3]]), "and the interrupted work is done by nobody"


def test_a_thread_that_is_interrupted_while_it_waits_keeps_nobody_waiting():
    group = Group(doubled)

    class Interrupted:
        """A lock of which the wait is interrupted, as by a Ctrl-C."""

        def acquire(self, *, blocking):
            raise KeyboardInterrupt

    free, group.leading.held = group.leading.held, Interrupted()
    with pytest.raises(KeyboardInterrupt):
        group.run(1)
    group.leading.held = free
    assert not group._waiting
    assert group.run(2) == 4

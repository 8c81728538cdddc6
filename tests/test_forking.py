"""What a forked child finds free."""

from __future__ import annotations

import os
import threading

import pytest

from onetake import forking

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


class Holder:
    def __init__(self):
        self.lock = threading.Lock()
        forking.remember(self)

    def renew(self):
        self.lock = threading.Lock()


def in_a_child(is_right):
    pid = os.fork()
    if not pid:
        os._exit(0 if is_right() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_lock_that_another_thread_holds_is_free_in_the_child_and_still_held_here():
    holder = Holder()
    with holder.lock:
        assert in_a_child(lambda: holder.lock.acquire(timeout=5))
        assert not holder.lock.acquire(blocking=False)


def test_no_fork_happens_while_another_thread_writes():
    writing, go_on, forked = threading.Event(), threading.Event(), threading.Event()

    def write():
        with forking.unforked():
            writing.set()
            assert go_on.wait(30)
            assert not forked.is_set()

    writer = threading.Thread(target=write)
    writer.start()
    assert writing.wait(30)
    threading.Timer(0.2, go_on.set).start()
    assert in_a_child(lambda: True)
    forked.set()
    writer.join()


def test_a_fork_inside_the_block_itself_does_not_wait_for_itself():
    with forking.unforked():
        assert in_a_child(lambda: forking._unforked.acquire(timeout=5))

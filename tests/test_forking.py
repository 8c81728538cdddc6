"""What a forked child finds free."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from onetake import forking

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

_before_fork = []


@pytest.fixture(scope="module", autouse=True)
def _ask_before_forks():
    """Have `_before_fork` called as a fork begins, before the hook that is tested: the newest goes first."""
    os.register_at_fork(before=lambda: [call() for call in _before_fork])


def in_a_child(is_right):
    pid = os.fork()
    if not pid:
        os._exit(0 if is_right() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def taken_here(lock):
    """Take a lock in a child's only thread; a new one may have the identity of the parent's that holds it."""
    signal.alarm(10)
    with lock.held:
        return True


def taken_by_another(lock):
    """Tell whether a thread of its own can take a lock."""
    taken = threading.Event()

    def take():
        with lock.held:
            taken.set()

    threading.Thread(target=take, daemon=True).start()
    return taken.wait(5)


def holding(lock):
    """Have another thread hold a lock; returns what lets it go on, and the thread."""
    held, go_on = threading.Event(), threading.Event()

    def hold():
        with lock.held:
            held.set()
            go_on.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(30)
    return go_on, holder


def test_a_lock_that_another_thread_holds_is_free_in_the_child_and_still_held_here():
    lock, waiting = forking.Lock(), threading.Event()
    go_on, holder = holding(lock)
    assert in_a_child(lambda: taken_here(lock))
    order = []

    def wait():
        waiting.set()
        with lock.held:
            order.append("taken")

    waiter = threading.Thread(target=wait)
    waiter.start()
    assert waiting.wait(30)
    order.append("let go")
    go_on.set()
    for thread in (holder, waiter):
        thread.join()
    assert order == ["let go", "taken"]


def test_a_lock_that_the_forking_thread_holds_is_still_its_own_in_the_child():
    lock, codes = forking.Lock(), []
    pid = -1
    with lock.held, lock.held:
        pid = os.fork()
    if not pid:
        os._exit(0 if taken_by_another(lock) else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    assert codes == [0]
    assert taken_by_another(lock)


def test_no_fork_happens_while_another_thread_writes():
    writing, forking_now, written = threading.Event(), threading.Event(), []

    def write():
        with forking.unforked():
            writing.set()
            assert forking_now.wait(30)
            written.append("the whole line")

    writer = threading.Thread(target=write)
    writer.start()
    assert writing.wait(30)
    _before_fork.append(forking_now.set)
    try:
        assert in_a_child(lambda: written == ["the whole line"])
    finally:
        _before_fork.clear()
    writer.join()


def test_a_fork_inside_the_block_itself_does_not_wait_for_itself():
    with forking.unforked():
        assert in_a_child(lambda: forking._unforked.acquire(timeout=5))

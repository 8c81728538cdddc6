"""Work that is shared among forked children: in order, and whole, whatever becomes of a child."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import closing

import pytest

from onetake.upkeep.limits import TookTooLongError, at_most
from onetake.upkeep.processes import in_order, usable

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]
HERE = os.getpid()


def results(work, things, processes=3):
    return list(in_order(work, things, [1] * len(things), processes))


def no_child_is_left():
    try:
        return os.waitpid(-1, os.WNOHANG) == (0, 0)  # whoever runs the tests may have children of their own
    except ChildProcessError:
        return True


def test_results_come_in_order_whichever_process_did_the_work():
    things = list(range(50))
    found = results(lambda thing: (thing * thing, os.getpid()), things)
    assert [square for square, _ in found] == [thing * thing for thing in things]
    pids = {pid for _, pid in found}
    assert len(pids) == 3 and HERE not in pids
    assert no_child_is_left()


@pytest.mark.parametrize("processes", [0, 1])
def test_one_process_does_it_itself(processes):
    assert results(lambda thing: (thing, os.getpid()), "ab", processes) == [("a", HERE), ("b", HERE)]


def test_things_are_dealt_out_by_their_weights():
    found = list(in_order(lambda _: os.getpid(), "abcd", [9, 1, 1, 1], 2))
    assert found[0] not in found[1:] and len(set(found[1:])) == 1


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_what_a_child_that_died_has_not_told_is_done_here(how, capfd):
    def work(thing):
        if thing in (4, 5) and os.getpid() != HERE:
            os.kill(os.getpid(), how)
        return thing, os.getpid() == HERE

    found = results(work, range(10), 2)
    assert [thing for thing, _ in found] == list(range(10))
    assert [thing for thing, is_here in found if is_here] == [4, 5, 6, 7, 8, 9]
    assert capfd.readouterr().err == ""


def test_an_error_is_raised_at_its_place(capfd):
    def work(thing):
        if thing in (3, 4):
            raise ValueError(thing)
        return thing

    found = in_order(work, range(10), [1] * 10, 2)
    assert [next(found), next(found), next(found)] == [0, 1, 2]
    with pytest.raises(ValueError, match="3"):
        next(found)
    assert no_child_is_left() and capfd.readouterr().err == ""


def test_what_cannot_be_told_is_done_here():
    found = results(lambda thing: (thing, (lambda: thing) if thing == 2 else None), range(6), 2)
    assert [thing for thing, _ in found] == list(range(6)) and found[2][1]() == 2


def test_children_end_with_whoever_listens():
    read, write = os.pipe()  # nobody writes: a child that gets there stays

    def work(thing):
        return os.read(read, 1) if thing > 1 else thing

    with pytest.raises(KeyboardInterrupt), closing(in_order(work, range(8), [1] * 8, 2)) as found:
        assert next(found) == 0
        raise KeyboardInterrupt
    assert no_child_is_left()
    os.close(read), os.close(write)


def test_no_more_processes_to_be_had_is_no_error(monkeypatch):
    def fork():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fork)
    assert results(lambda thing: (thing, os.getpid()), "ab") == [("a", HERE), ("b", HERE)]


def test_time_is_limited_in_a_child():
    def work(_):
        try:
            with at_most(0.01):
                while True:
                    pass
        except TookTooLongError as error:
            return str(error), os.getpid() == HERE

    assert results(work, "ab", 2) == [("it took more than 0.01 seconds", False)] * 2


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs a count of cores to set")
@pytest.mark.parametrize(("cores", "expected"), [(1, 1), (2, 2), (4, 4), (64, 4)])
def test_there_is_one_process_a_core_up_to_four(monkeypatch, cores, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert usable() == expected


@pytest.mark.parametrize("how", ["threads", "macOS", "no fork"])
def test_a_process_that_must_not_be_forked_works_alone(monkeypatch, how):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(threading, "active_count", lambda: 2 if how == "threads" else 1)
    if how == "macOS":
        monkeypatch.setattr(sys, "platform", "darwin")
    if how == "no fork":
        monkeypatch.delattr(os, "fork")
    assert usable() == 1

"""Names that one process holds at a time."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from onetake.claims import Claims
from onetake.errors import StoreError

HOLDER = """
import sys
from pathlib import Path
from onetake.claims import Claims
claims = Claims(Path(sys.argv[1]))
print(*(claims.take(name) for name in sys.argv[2:]), flush=True)
sys.stdin.read()
"""
FORKER = """
import os, sys
from pathlib import Path
from onetake.claims import Claims
claims = Claims(Path(sys.argv[1]))
print(claims.take("key"), flush=True)
if os.fork() == 0:
    print(os.getpid(), claims.take("key"), flush=True)
    sys.stdin.read()
    os._exit(0)
sys.stdin.read()
"""
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "made" / "keys.lock"


def test_a_name_is_held_once_until_it_is_freed(path):
    claims = Claims(path)
    assert (claims.is_held("a"), claims.take("a"), claims.take("a"), claims.is_held("a")) == (False, True, False, True)
    assert (claims.take("b"), claims.is_held("c")) == (True, False)
    claims.free("a")
    claims.free("a")
    assert (claims.is_held("a"), claims.is_held("b"), claims.take("a")) == (False, True, True)
    assert path.stat().st_size == 0


def test_nothing_is_made_by_looking(path):
    assert not Claims(path).is_held("a")
    assert not path.parent.exists()


def test_of_many_threads_one_gets_a_name(path):
    with ThreadPoolExecutor(16) as pool:
        got = list(pool.map(lambda number: (number % 10, Claims(path).take(str(number % 10))), range(200)))
    assert sorted(name for name, is_mine in got if is_mine) == list(range(10))


def test_another_process_does_not_get_it(path, start):
    mine = Claims(path)
    assert mine.take("mine")
    assert start(HOLDER, path, "mine", "theirs").stdout.readline() == "False True\n"
    assert (mine.take("theirs"), mine.is_held("theirs"), mine.is_held("mine")) == (False, True, True)


def test_looking_and_letting_go_of_another_name_does_not_lose_it(path, start):
    assert Claims(path).take("kept")
    for name in ("a", "b"):
        assert Claims(path).take(name)
        Claims(path).free(name)
    assert not Claims(path).is_held("c")
    assert start(HOLDER, path, "kept", "a").stdout.readline() == "False True\n"


@pytest.mark.parametrize("end", ["kill", "communicate"])
def test_a_process_that_ends_lets_go_of_all(path, start, end):
    holder = start(HOLDER, path, "a", "b")
    assert holder.stdout.readline() == "True True\n"
    assert not Claims(path).take("a")
    getattr(holder, end)()
    holder.wait()
    assert (Claims(path).is_held("b"), Claims(path).take("a")) == (False, True)


@needs_fork
def test_a_forked_child_holds_nothing_and_keeps_nothing_held(path, start):
    parent = start(FORKER, path)
    assert parent.stdout.readline() == "True\n"
    child, got = parent.stdout.readline().split()
    assert (got, Claims(path).is_held("key")) == ("False", True)
    try:
        parent.kill()
        parent.wait()
        assert Claims(path).take("key")
    finally:
        os.kill(int(child), signal.SIGKILL)


@needs_fork
def test_a_name_survives_the_end_of_a_forked_child(path, start):
    claims = Claims(path)
    assert claims.take("key")
    child = os.fork()
    if child == 0:
        claims.free("key")
        os._exit(claims.take("key"))
    assert os.waitpid(child, 0)[1] == 0
    assert start(HOLDER, path, "key").stdout.readline() == "False\n"


@needs_fork
def test_a_forked_child_gets_what_its_parent_let_go_of(path):
    claims = Claims(path)
    assert claims.take("key")
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(reads, 1)
        os._exit(claims.take("key"))
    claims.free("key")
    os.write(writes, b".")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    os.close(reads)
    os.close(writes)


def test_what_cannot_be_locked_is_said(path):
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match=r"keys\.lock: cannot be locked: "):
        Claims(path).take("a")
    assert not Claims(path).is_held("a")

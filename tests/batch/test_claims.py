"""Names that one process holds at a time."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from onetake.batch.claims import Claims, asked_keys, folder_of, making, pruning, using
from onetake.errors import StoreError, UsageError

HOLDER = """
import sys
from pathlib import Path
from onetake.batch.claims import Claims
claims = Claims(Path(sys.argv[1]))
print(*(claims.take(name) for name in sys.argv[2:]), flush=True)
sys.stdin.read()
"""
FORKER = """
import os, sys
from pathlib import Path
from onetake.batch.claims import Claims
claims = Claims(Path(sys.argv[1]))
print(claims.take("key"), flush=True)
if os.fork() == 0:
    print(os.getpid(), claims.take("key"), flush=True)
    sys.stdin.read()
    os._exit(0)
sys.stdin.read()
"""
ASKER = """
import sys
from pathlib import Path
from onetake.batch.claims import asked_keys
store = Path(sys.argv[1])
keys = asked_keys(store)
waiting = [f"key-{number}" for number in range(150)]
asked = 0
while waiting:
    name = waiting.pop(0)
    if not keys.take(name):
        waiting.append(name)
        continue
    reply = store / name
    if not reply.exists():
        asked += 1
        reply.write_text("")
    keys.free(name)
print(asked)
"""
USER = """
import sys
from pathlib import Path
from onetake.batch import claims
with getattr(claims, sys.argv[1])(Path(sys.argv[2])):
    print("in", flush=True)
    sys.stdin.read()
"""
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")


@pytest.fixture
def start():
    """Start a program that says a line when it holds what it could get, and then waits for its input to end."""
    started = []

    def begin(program, *words):
        process = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


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


def test_runners_of_one_store_ask_each_key_once(tmp_path, start):
    store = tmp_path / "calls"
    store.mkdir()
    runners = [start(ASKER, store) for _ in range(3)]
    asked = [int(runner.communicate()[0]) for runner in runners]
    assert (sum(asked), len(list(store.iterdir()))) == (150, 150)


def test_a_store_has_its_keys_beside_it_by_whatever_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real", target_is_directory=True)
    store = tmp_path / "real" / "calls.db"
    assert asked_keys(store).take("k")
    assert not asked_keys(tmp_path / "link" / "calls.db").take("k")
    assert asked_keys(tmp_path / "real" / "other.db").take("k")
    assert (folder_of(store) / "calls.db.lock").is_file()
    assert (tmp_path / "real" / ".onetake" / ".gitignore").read_bytes() == b"*\n"


def test_an_output_is_made_by_one_run_at_a_time(tmp_path):
    output = tmp_path / "rows.jsonl"
    (tmp_path / "same.jsonl").symlink_to(output)
    with making(output), making(tmp_path / "other.jsonl"):
        for same in (output, tmp_path / "same.jsonl"):
            with pytest.raises(UsageError, match=rf"{same.name}: another run is making this output"), making(same):
                pytest.fail("two runs at once")
    with pytest.raises(ZeroDivisionError), making(output):
        raise ZeroDivisionError
    with making(output):
        pass


def test_an_output_of_another_process_is_refused_until_it_is_killed(tmp_path, start):
    output = tmp_path / "rows.jsonl"
    other = start(HOLDER, folder_of(output) / "outputs.lock", os.path.normcase(output.name))
    assert other.stdout.readline() == "True\n"
    with pytest.raises(UsageError, match="another run is making"), making(output):
        pytest.fail("two runs at once")
    other.kill()
    other.wait()
    with making(output):
        pass


def test_runs_share_a_store_and_no_prune_begins_under_one(tmp_path):
    store = tmp_path / "calls.db"
    with using(store), using(store), pytest.raises(UsageError, match="a run is under way"), pruning(store):
        pytest.fail("pruned under a run")
    with pruning(store), using(tmp_path / "other.db"):
        with pytest.raises(UsageError, match=r"calls\.db: is being pruned"), using(store):
            pytest.fail("a run in the middle of a prune")
        with pytest.raises(UsageError, match="another prune"), pruning(store):
            pytest.fail("two prunes at once")
    with using(store):
        pass


@pytest.mark.parametrize(("theirs", "ours"), [("using", pruning), ("pruning", using)])
def test_a_run_and_a_prune_of_other_processes_count_until_they_are_killed(tmp_path, start, theirs, ours):
    store = tmp_path / "calls.db"
    other = start(USER, theirs, store)
    assert other.stdout.readline() == "in\n"
    with pytest.raises(UsageError, match=r"under way|being pruned"), ours(store):
        pytest.fail("both at once")
    other.kill()
    other.wait()
    with ours(store):
        pass


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_store_that_nobody_can_write_beside_is_used_all_the_same(tmp_path, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("onetake.batch.claims.hide", refuse)
    with using(tmp_path / "calls.db"):
        pass
    with pytest.raises(StoreError, match="cannot be written"), pruning(tmp_path / "calls.db"):
        pytest.fail("pruned without a lock")


def test_what_cannot_be_locked_is_said(path):
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match=r"keys\.lock: cannot be locked: "):
        Claims(path).take("a")
    assert not Claims(path).is_held("a")


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StoreError, match=r"cannot be (written|made)"),
        making(tmp_path / "file" / "rows.jsonl"),
    ):
        pytest.fail("made in a file")

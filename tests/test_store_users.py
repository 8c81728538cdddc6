"""Who uses a store, and who has it alone."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack

import pytest

import onetake
from onetake.claims import _place
from onetake.errors import StoreError, UsageError
from onetake.model import Mode
from onetake.store_users import _users, alone, asked_keys, in_session, using

ASKER = """
import sys
from pathlib import Path
from onetake.store_users import asked_keys
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
from onetake import store_users
with getattr(store_users, sys.argv[1])(Path(sys.argv[2])):
    print("in", flush=True)
    sys.stdin.read()
"""


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
    assert (tmp_path / "real/.onetake/batch/calls.db.lock").is_file()
    assert (tmp_path / "real" / ".onetake" / ".gitignore").read_bytes() == b"*\n"


def test_any_number_share_a_store_and_none_has_it_alone_meanwhile(tmp_path):
    store = tmp_path / "calls.db"
    with using(store), pytest.raises(UsageError, match="a run, a session or another command uses it"), alone(store):
        pytest.fail("pruned under a run")
    with ExitStack() as many:
        for _ in range(1000):
            many.enter_context(using(store))
        with using(store):
            pass
        with pytest.raises(UsageError, match="uses it"), alone(store):
            pytest.fail("the last of them ended for all")
    with alone(store), using(tmp_path / "other.db"):
        with pytest.raises(UsageError, match=r"calls\.db: is being pruned"), using(store):
            pytest.fail("a run in the middle of a prune")
        with pytest.raises(UsageError, match="another command"), alone(store):
            pytest.fail("two prunes at once")
    with using(store):
        pass


@pytest.mark.parametrize(("theirs", "ours"), [("using", alone), ("alone", using)])
def test_users_of_other_processes_count_until_they_are_killed(tmp_path, start, theirs, ours):
    store = tmp_path / "calls.db"
    other = start(USER, theirs, store)
    assert other.stdout.readline() == "in\n"
    with pytest.raises(UsageError, match=r"uses it|being pruned"), ours(store):
        pytest.fail("both at once")
    other.kill()
    other.wait()
    with ours(store):
        pass


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_store_that_nobody_can_write_beside_is_used_all_the_same(tmp_path, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("onetake.claims.hide", refuse)
    with using(tmp_path / "calls.db"):
        pass
    with pytest.raises(StoreError, match="cannot be written"), alone(tmp_path / "calls.db"):
        pytest.fail("pruned without a lock")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_forked_child_ends_no_use_of_its_parents(tmp_path, start):
    store = tmp_path / "calls.db"
    held = using(store)
    held.__enter__()
    child = os.fork()
    if child == 0:
        with using(store):
            held.__exit__(None, None, None)
            os._exit(start(USER, "alone", store).stdout.readline() == "in\n")
    assert os.waitpid(child, 0)[1] == 0
    with pytest.raises(UsageError, match="uses it"), alone(store):
        pytest.fail("its child let go of it")
    held.__exit__(None, None, None)
    with alone(store):
        pass


def test_names_of_users_have_places_of_their_own():
    assert len({_place(name) % 2**31 for name in _users()}) == len([*_users()])


def test_a_key_waits_for_no_user_whatever_their_places(tmp_path, monkeypatch):
    monkeypatch.setattr("onetake.claims._PLACES", 1)
    with using(tmp_path / "calls.db"):
        assert asked_keys(tmp_path / "calls.db").take("0" * 64)
        asked_keys(tmp_path / "calls.db").free("0" * 64)


@pytest.mark.parametrize(
    ("name", "mode", "is_held"),
    [
        ("calls.db", Mode.ONCE, True),
        ("calls.db", Mode.NONE, True),
        ("calls.db", Mode.OFF, False),
        ("none.db", Mode.ONCE, True),
        ("none.db", Mode.NONE, False),
        ("folder", Mode.ONCE, False),
    ],
)
def test_a_session_uses_the_file_that_it_reads_or_may_make(tmp_path, name, mode, is_held):
    (tmp_path / "calls.db").write_bytes(b"")
    with in_session(tmp_path / name, mode):
        assert (tmp_path / ".onetake/using" / f"{name}.lock").exists() == is_held


def test_nothing_is_pruned_or_repaired_under_a_session(tmp_path):
    store = tmp_path / "calls.db"
    one, other = (onetake.use_cassette(store, mode="once") for _ in range(2))
    with one, other, pytest.raises(UsageError, match=r"calls\.db: a run, a session"), alone(store):
        pytest.fail("pruned under a session")
    with alone(store), pytest.raises(UsageError, match="is being pruned or repaired"):
        one.__enter__()
    with one:
        pass

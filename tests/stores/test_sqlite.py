"""Entries in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256

import pytest

from onetake.errors import StoreError
from onetake.stores.sqlite import SqliteStore
from onetake.stores.sqlite_file import FORMAT, network_kind
from onetake.testing import StoreConformance

KEY = "a" * 64


class TestSqliteStore(StoreConformance):
    def make(self, tmp_path):
        return SqliteStore(tmp_path / "calls.db")

    def damage(self, store, key, ordinal):
        with sqlite3.connect(store.place) as connection:
            connection.execute("UPDATE entry SET body = x'00' WHERE key = ?", (_number(key),))
        connection.close()


def _number(key):
    return int.from_bytes(bytes.fromhex(key[:16]), "big", signed=True)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "calls.db"


def test_nothing_is_made_before_the_first_entry(path):
    store = SqliteStore(path)
    assert (store.get(KEY, 0), list(store.names()), store.side_names(), store.delete(KEY, 0)) == (None, [], [], False)
    assert store.ordinals(KEY) == set()
    assert not path.exists()


def test_first_entries_are_read_together(path):
    store = SqliteStore(path)
    keys = [sha256(bytes([number])).hexdigest() for number in range(5)]
    for number, data in enumerate((b"one", b"two", os.urandom(70_000), b"four")):
        store.add(keys[number], 0, data)
    store.add(keys[0], 1, b"second")
    store.add(keys[4], 1, b"second")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE entry SET body = x'00' WHERE key = ?", (_number(keys[3]),))
    assert store.get_all(keys) == {keys[0]: b"one", keys[1]: b"two"}, "none that is large, damaged or a later one"
    assert store.get_all(["0" * 64]) == {}
    store.close()


def test_entries_that_are_large_together_are_left_to_be_read_alone(path):
    store = SqliteStore(path)
    keys = [sha256(bytes([number])).hexdigest() for number in range(30)]
    store.add_all((key, 0, b"a" * (1 << 20), "") for key in keys)
    assert 8 <= len(store.get_all(keys)) <= 10
    store.close()


def test_a_closed_store_is_one_file_and_opens_again(path):
    store = SqliteStore(path)
    store.add(KEY, 0, b"one", "chat")
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["calls.db"]
    assert store.get(KEY, 0) == b"one"


def test_what_is_stored_is_compressed_and_has_its_digest(path):
    store = SqliteStore(path)
    store.add(KEY, 0, b"abc" * 1000)
    store.close()
    with sqlite3.connect(path) as connection:
        ((digest, length),) = connection.execute("SELECT digest, length(body) FROM entry").fetchall()
    connection.close()
    assert (digest, length < 100) == (sha256(b"abc" * 1000).digest(), True)


@pytest.mark.parametrize("key", ["0" * 64, "7" + "f" * 63, "8" + "0" * 63, "f" * 64])
def test_keys_of_either_sign_come_back_by_name(path, key):
    store = SqliteStore(path)
    store.add(key, 3, b"x")
    assert list(store.names()) == [(key[:16], 3)]


def test_threads_that_write_together_are_all_kept(path):
    store = SqliteStore(path)
    keys = [sha256(b"%d" % number).hexdigest() for number in range(400)]
    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(lambda key: store.add(key, 0, key.encode()), keys))
    assert [store.get(key, 0) for key in keys] == [key.encode() for key in keys]


def test_a_database_of_something_else_is_left_alone(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = path.read_bytes()
    for verb in (lambda: SqliteStore(path).get(KEY, 0), lambda: SqliteStore(path).add(KEY, 0, b"x")):
        with pytest.raises(StoreError, match="something else"):
            verb()
    assert path.read_bytes() == before


def test_what_is_no_database_is_said(path):
    path.write_bytes(b"{}" * 600)
    with pytest.raises(StoreError, match=r"calls\.db: cannot be read: .*not a database"):
        SqliteStore(path).get(KEY, 0)
    with pytest.raises(StoreError, match=r"calls\.db: cannot be written: .*not a database"):
        SqliteStore(path).add(KEY, 0, b"x")
    assert path.read_bytes() == b"{}" * 600


def test_a_newer_format_is_neither_read_nor_written(path):
    store = SqliteStore(path)
    store.add(KEY, 0, b"x")
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    connection.close()
    for verb in (lambda: store.get(KEY, 0), lambda: store.add(KEY, 1, b"x")):
        with pytest.raises(StoreError, match="newer onetake"):
            verb()


def test_an_empty_file_that_a_kill_left_is_filled(path):
    path.touch()
    assert SqliteStore(path).get(KEY, 0) is None
    assert SqliteStore(path).add(KEY, 0, b"x")
    assert SqliteStore(path).get(KEY, 0) == b"x"


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
def test_a_link_is_not_followed(path):
    path.symlink_to(path.with_name("other.db"))
    with pytest.raises(StoreError, match="symbolic link"):
        SqliteStore(path).add(KEY, 0, b"x")
    assert not path.with_name("other.db").exists()


def test_a_write_that_fails_fails_for_each_thread_of_the_group_and_leaves_no_part(path):
    store = SqliteStore(path)
    store.add(KEY, 0, b"x")
    other = sqlite3.connect(path)
    other.execute("CREATE TRIGGER full BEFORE INSERT ON entry BEGIN SELECT RAISE(ABORT, 'disk is full'); END")
    other.commit()
    with ThreadPoolExecutor(4) as pool:
        failed = [pool.submit(store.add, f"{number:064x}", 0, b"x") for number in range(8)]
    for one in failed:
        with pytest.raises(StoreError, match=r"cannot be written: disk is full"):
            one.result()
    other.execute("DROP TRIGGER full")
    other.commit()
    other.close()
    assert list(store.names()) == [(KEY[:16], 0)]
    assert store.add("b" * 64, 0, b"y")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_a_connection_of_its_own(path):
    store = SqliteStore(path)
    store.add(KEY, 0, b"parent")
    child = os.fork()
    if child == 0:
        os._exit(0 if store.get(KEY, 0) == b"parent" and store.add("b" * 64, 0, b"child") else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.add("c" * 64, 0, b"parent again")
    assert [store.get("b" * 64, 0), store.get("c" * 64, 0)] == [b"child", b"parent again"]


@pytest.mark.parametrize(
    ("kind", "said"), [("ext4", ""), ("nfs4", "nfs4"), ("fuse.sshfs", "fuse.sshfs")], ids=["disk", "nfs", "sshfs"]
)
def test_network_file_systems_are_told_by_the_nearest_mount(tmp_path, kind, said):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "20 1 8:1 / / rw - ext4 /dev/a rw\n"
        f"21 20 0:5 / /data/team\\040one rw,relatime shared:1 - {kind} server:/x rw\n"
        "22 20 0:6 / /data/team\\040one\\040b rw - nfs x rw\n"
    )
    assert network_kind(tmp_path / "x.db", mounts) == ""
    assert network_kind(tmp_path.__class__("/data/team one/calls.db"), mounts) == said
    assert network_kind(tmp_path / "x.db", tmp_path / "missing") == ""


def test_an_entry_is_exchanged_only_where_nobody_changed_it_meanwhile(path):
    store = SqliteStore(path)
    store.add(KEY, 0, b"as it was", "chat-m")
    assert not store.exchange(KEY, 0, b"as somebody else read it", b"lost")
    assert store.exchange(KEY, 0, b"as it was", b"new")
    assert not store.exchange(KEY, 1, b"as it was", b"lost")
    assert (store.get(KEY, 0), store.get(KEY, 1)) == (b"new", None)
    assert store.file_names() == [f"chat-m-{KEY[:16]}.json"], "its decoration stays"
    store.close()

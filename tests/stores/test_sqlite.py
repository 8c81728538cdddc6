"""Entries in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256

import pytest

from onetake.errors import StoreError
from onetake.stores.grouping import Job
from onetake.stores.pages import PAGE
from onetake.stores.sqlite import SqliteStore
from onetake.stores.sqlite_file import SqliteFile
from onetake.stores.tables import FORMAT
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


def test_many_are_written_over_others_and_beside_them(path):
    store = SqliteStore(path)
    rows = [(sha256(bytes([number])).hexdigest(), 0, b"%d" % number, "chat") for number in range(4)]
    store.add_all(rows[:2])
    store.add_all((key, ordinal, b"another", label) for key, ordinal, _, label in rows[:2])
    assert [store.get(key, 0) for key, *_ in rows] == [b"0", b"1", None, None]
    store.replace_all((key, ordinal, b"new " + data, label) for key, ordinal, data, label in rows[1:])
    assert [store.get(key, 0) for key, *_ in rows] == [b"0", b"new 1", b"new 2", b"new 3"]
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
    named = b"a" * 16 + b"-0\n"
    assert (digest, length < 100) == (sha256(named + b"abc" * 1000).digest(), True)


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
    with pytest.raises(StoreError, match=r"calls\.db: damaged: it cannot be read: .*not a database$"):
        SqliteStore(path).get(KEY, 0)
    with pytest.raises(StoreError, match=r"calls\.db: damaged: it cannot be read: .*not a database$"):
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


def test_an_entry_is_exchanged_only_where_nobody_changed_it_meanwhile(path):
    store = SqliteStore(path)
    store.add(KEY, 0, b"as it was", "chat-m")
    assert not store.exchange(KEY, 0, b"as somebody else read it", b"lost")
    assert store.exchange(KEY, 0, b"as it was", b"new")
    assert not store.exchange(KEY, 1, b"as it was", b"lost")
    assert (store.get(KEY, 0), store.get(KEY, 1)) == (b"new", None)
    assert store.file_names() == [f"chat-m-{KEY[:16]}.json"], "its decoration stays"
    store.close()


def test_no_damage_of_an_index_or_of_a_list_is_taken_for_absent_or_leads_to_another_entry(path):
    keys = [sha256(bytes([number])).hexdigest() for number in range(3)]
    store = SqliteStore(path)
    store.add_all((key, 0, key.encode() * 3, "chat") for key in keys)
    store.close()
    whole = path.read_bytes()
    index = [place for place in range(2 * PAGE, 3 * PAGE) if whole[place]]
    header = [*range(100, 112), *range(56, 76)]
    told = 0
    for place in index + header:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        for key in keys:
            with closing(SqliteStore(path)) as store:
                try:
                    assert store.get_all(keys).items() <= {key: key.encode() * 3 for key in keys}.items()
                    assert (store.get(key, 0), store.ordinals(key)) == (key.encode() * 3, {0}), place
                except StoreError as error:
                    told += 1
                    assert "calls.db: " in str(error)
    assert told > 2 * len(index)


def test_what_is_damaged_is_written_to_by_no_verb_and_says_what_mends_it(path):
    store = SqliteStore(path)
    for number in range(4):
        store.add(sha256(bytes([number])).hexdigest(), 0, b"x")
    store.close()
    data = bytearray(path.read_bytes())
    places = [place for place in range(3 * PAGE - 60, 3 * PAGE) if data[place]]
    data[places[-4]] ^= 0x41
    path.write_bytes(data)
    for verb in (
        lambda: store.add(KEY, 0, b"y"),
        lambda: store.replace(KEY, 0, b"y"),
        lambda: store.exchange(KEY, 0, b"x", b"y"),
        lambda: store.delete(KEY, 0),
        lambda: store.ordinals(KEY),
        lambda: store.get(KEY, 0),
        lambda: list(store.names()),
        store.side_names,
    ):
        with pytest.raises(StoreError, match=r"damaged: .*`onetake store fsck \S*calls\.db --repair`"):
            verb()
    store.close()
    assert path.read_bytes() == bytes(data)


def test_an_interrupt_behind_a_commit_leaves_nobody_with_word_of_a_failure(path):
    file = SqliteFile(path, "calls.db")
    file.write(lambda connection: None)
    real = file._writer

    class Interrupted:
        """A connection whose user presses Ctrl-C while it commits, before or after it has."""

        def __init__(self, commits):
            self.commits = commits

        def __getattr__(self, name):
            return getattr(real, name)

        def execute(self, sql, *values):
            if sql != "COMMIT":
                return real.execute(sql, *values)
            if self.commits:
                real.execute(sql)
            raise KeyboardInterrupt

    for commits in (True, False):
        file._writer, jobs = Interrupted(commits), [Job(lambda connection: 1), Job(lambda connection: 2)]
        with pytest.raises(KeyboardInterrupt):
            file._commit(jobs)
        assert [(job.done, job.failed) for job in jobs] == [(commits, None)] * 2
        assert not real.in_transaction
    file._writer = real
    file.close()

"""Which files are stores."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from onetake.stores.one_file import is_store
from onetake.stores.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path):
    """A store with an entry, closed."""
    path = tmp_path / "calls.db"
    with closing(SqliteStore(path)) as store:
        store.add("a" * 64, 0, b"{}")
    return path


def test_a_store_is_known_and_nothing_is_written_beside_it(path):
    assert is_store(path)
    assert [one.name for one in path.parent.iterdir()] == ["calls.db"]


def test_other_files_and_folders_are_none(path, tmp_path):
    (tmp_path / "a.db").mkdir()
    (tmp_path / "b.db").write_bytes(b"a text")
    with closing(sqlite3.connect(tmp_path / "c.db")) as other:
        other.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY)")
        other.commit()
    (tmp_path / "e.db").symlink_to(path)
    (tmp_path / "f.db").touch()
    assert [name for name in "abcef" if is_store(tmp_path / f"{name}.db")] == []


@pytest.mark.parametrize("at", [0, 68], ids=["the first byte", "whose it is"])
def test_one_whose_header_is_damaged_is_one_all_the_same(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)
    assert is_store(path)


@pytest.mark.parametrize("left", ["using/calls.db.lock", "batch/calls.db.intents.db"])
@pytest.mark.parametrize("head", [bytes(8192), b"hello" * 2000], ids=["zeros", "garbage"])
def test_one_that_was_used_is_one_whatever_has_become_of_it(path, left, head):
    path.write_bytes(head)
    assert not is_store(path)
    mark = path.parent / ".onetake" / left
    mark.parent.mkdir(parents=True)
    mark.touch()
    assert is_store(path)
    path.write_bytes(b"")
    assert not is_store(path)


def test_one_whose_first_writer_was_killed_is_known_by_its_log(path, tmp_path):
    store = SqliteStore(tmp_path / "live.db")
    store.add("a" * 64, 0, b"{}")
    killed = tmp_path / "killed.db"
    for suffix in ("", "-wal"):
        shutil.copy(tmp_path / f"live.db{suffix}", tmp_path / f"killed.db{suffix}")
    store.close()
    assert is_store(killed)

"""A store whose pages are damaged is written anew from every row that proves itself."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from hashlib import sha256

import pytest

from onetake.errors import StoreError
from onetake.stores.pages import PAGE
from onetake.stores.sqlite import SqliteStore
from onetake.upkeep.salvaging import salvage

SIDE = b"a stream" * 99
NAME = f"_raw/{sha256(SIDE).hexdigest()}.sse"
DATA = {sha256(bytes([number])).hexdigest(): random.Random(number).randbytes(600) for number in range(60)}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "calls.db"
    with closing(SqliteStore(path)) as store:
        store.add_all((key, number % 3, data, "chat") for number, (key, data) in enumerate(DATA.items()))
        store.add("0" * 64, 0, b"deleted")
        store.delete("0" * 64, 0)
        store.add_side(NAME, SIDE)
    return path


def held(path):
    with closing(SqliteStore(path)) as store:
        assert store.verify() == []
        assert list(store.side_names()) in ([], [NAME])
        keys = enumerate(DATA.items())
        found = [key for number, (key, data) in keys if store.get(key, number % 3) == data]
        assert len(found) == len(list(store.names())) == len(store.file_names())
        return found


def flip(path, *places):
    data = bytearray(path.read_bytes())
    for place in places:
        data[place] ^= 0x41
    path.write_bytes(data)


def test_a_whole_file_is_left_alone(file, tmp_path):
    before = file.read_bytes()
    assert salvage(file, tmp_path / "aside") == []
    assert file.read_bytes() == before
    assert not (tmp_path / "aside").exists()


@pytest.mark.parametrize("page", [0, 1, 2, 4])
@pytest.mark.parametrize("at", [0, 3, 8, PAGE - 40])
def test_a_damaged_page_costs_at_most_one_row_and_the_file_is_kept_as_it_was(file, tmp_path, page, at):
    flip(file, page * PAGE + at)
    damaged = file.read_bytes()
    taken = salvage(file, tmp_path / "aside")
    assert len(held(file)) >= len(DATA) - 1
    if taken:
        assert "59 entries" in taken[0].why or "60 entries" in taken[0].why
        assert (tmp_path / "aside/calls.db").read_bytes() == damaged
    assert sorted(path.name for path in tmp_path.iterdir()) == (["aside"] if taken else []) + ["calls.db"]


def test_pages_that_are_lost_take_their_own_rows_alone(file, tmp_path):
    size = file.stat().st_size // PAGE
    data = bytearray(file.read_bytes())
    data[:PAGE] = bytes(68) + data[68:72] + bytes(PAGE - 72)
    data[(size - 2) * PAGE : (size - 1) * PAGE] = bytes(PAGE)
    file.write_bytes(data)
    (taken,) = salvage(file, tmp_path / "aside")
    assert taken.why.startswith("it cannot be read: file is not a database (")
    assert len(DATA) - 15 < len(held(file)) < len(DATA)


def test_what_a_killed_run_left_in_the_log_is_kept(file, tmp_path):
    store = SqliteStore(file)
    store.add("ab" * 32, 0, b"in the log")
    for name in ("calls.db", "calls.db-wal"):
        shutil.copy(file.with_name(name), tmp_path / name.replace("calls", "killed"))
    store.close()
    killed = tmp_path / "killed.db"
    flip(killed, 2)
    salvage(killed, tmp_path / "aside")
    with closing(SqliteStore(killed)) as store:
        assert store.get("ab" * 32, 0) == b"in the log"
        assert store.get("0" * 64, 0) is None, "and what was deleted does not come back"


def test_a_file_of_somebody_else_is_left_alone(tmp_path):
    file = tmp_path / "calls.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    flip(file, 2)
    before = file.read_bytes()
    assert salvage(file, tmp_path / "aside") == []
    assert file.read_bytes() == before


def test_where_nothing_can_be_put_aside_the_store_stays_as_it_was(file, tmp_path):
    flip(file, 2)
    before = file.read_bytes()
    (tmp_path / "aside").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot be repaired"):
        salvage(file, tmp_path / "aside")
    assert file.read_bytes() == before

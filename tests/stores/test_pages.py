"""Rows of a SQLite file, read from its pages alone."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import pytest

from onetake.stores.pages import PAGE, fold, rows

VALUES = [None, 0, 1, -1, 200, -70_000, 1 << 30, -(1 << 45), (1 << 63) - 1, "text", "é" * 40, b"", b"\x00\xff" * 9]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.db"


def write(path, values, mode="delete"):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA page_size = {PAGE}")
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("CREATE TABLE one (a, b, c)")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO one VALUES (?, ?, ?)", values)
    connection.execute("COMMIT")
    return connection


def found(path):
    return sorted((row for row in rows(path) if len(row) == 3), key=repr)


def test_values_of_every_kind_and_length_are_read(path):
    random.seed(6)
    lengths = [0, 10, PAGE - 60, PAGE - 36, PAGE - 35, PAGE - 34, PAGE, 2 * PAGE, 100_000]
    values = [(value, number, b"") for number, value in enumerate(VALUES)]
    values += [("long", length, random.randbytes(length)) for length in lengths]
    values += [(number, "many", "x" * 50) for number in range(500)]
    write(path, values).close()
    assert found(path) == sorted(values, key=repr)


def test_neither_trees_nor_a_kind_nor_a_count_is_believed(path):
    values = [(number, "a", "x" * 100) for number in range(350)]
    write(path, values).close()
    data = bytearray(path.read_bytes())
    for start in range(PAGE, len(data), 2 * PAGE):
        data[start : start + 3] = b"\x77\x77\x77"
        data[start + PAGE + 1 : start + PAGE + 5] = b"\x77\x77\x00\x01"
    path.write_bytes(data)
    assert found(path) == sorted(values, key=repr)


def test_damaged_bytes_cost_no_more_than_their_rows(path):
    values = [(number, "a", random.Random(number).randbytes(40_000)) for number in range(3)]
    write(path, values).close()
    whole = path.read_bytes()
    for place in range(0, len(whole), 2999):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        assert len(set(found(path)) & set(values)) >= 2, place


def test_a_log_is_written_into_its_file_up_to_its_last_commit(path):
    connection = write(path, [(1, 2, 3)], "wal")
    connection.execute("PRAGMA wal_checkpoint")
    connection.execute("UPDATE one SET a = 4")
    connection.execute("INSERT INTO one VALUES (5, 6, 7)")
    log = path.with_name("some.db-wal")
    copy, other = path.with_name("copy.db"), path.with_name("copy.db-wal")
    copy.write_bytes(path.read_bytes())
    other.write_bytes(log.read_bytes() + b"torn" * 100)
    connection.close()
    fold(copy, other)
    assert (found(copy), other.exists()) == ([(4, 2, 3), (5, 6, 7)], False)
    with closing(sqlite3.connect(copy)) as read:
        assert read.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    fold(copy, other)
    assert found(copy) == [(4, 2, 3), (5, 6, 7)]

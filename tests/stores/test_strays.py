"""What somebody else wrote into a store that is one file."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from onetake.errors import StoreError
from onetake.stores.sqlite import SqliteStore
from onetake.stores.strays import Strays

KEY = "a" * 64


@pytest.fixture
def path(tmp_path):
    """A store with an entry that has a label, closed."""
    path = tmp_path / "calls.db"
    with closing(SqliteStore(path)) as store:
        store.add(KEY, 0, b"an entry", "chat-m")
    return path


def strays_after(path, sql):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(sql)
        connection.commit()
    with closing(Strays(path, "calls.db")) as strays:
        return [(stray.name, strays.read(stray)) for stray in strays.all()]


def test_a_store_of_ours_has_none(path):
    assert strays_after(path, "SELECT 1") == []


@pytest.mark.parametrize("change", ["key = 'no number'", "ordinal = -1", "ordinal = 1e300", "ordinal = 'first'"])
def test_a_row_that_no_key_finds_is_one_and_is_not_listed(path, change):
    (stray,) = strays_after(path, f"UPDATE entry SET {change}")
    assert stray[0] == "entry-1.body"
    with closing(SqliteStore(path)) as store:
        assert (list(store.names()), store.file_names(), store.ordinals(KEY)) == ([], [], set())


def test_a_row_before_all_others_is_listed(path):
    assert strays_after(path, "UPDATE entry SET id = -7") == []
    with closing(SqliteStore(path)) as store:
        assert list(store.names()) == [(KEY[:16], 0)]


@pytest.mark.parametrize(("label", "raw"), [("'../../x'", b"../../x"), ("x'00ff'", b"\x00\xff"), ("'con.x'", b"con.x")])
def test_a_label_that_is_none_is_one_and_leaves_without_its_entry(path, label, raw):
    assert strays_after(path, f"UPDATE entry SET label = {label}") == [("entry-1.label", raw)]
    with closing(Strays(path, "calls.db")) as strays, closing(SqliteStore(path)) as store:
        assert store.file_names() == [f"{KEY[:16]}.json"]
        assert store.locate(KEY, 0).endswith(f"/{KEY[:16]}.json")
        strays.remove(next(strays.all()))
        assert (list(strays.all()), store.get(KEY, 0)) == ([], b"an entry")


@pytest.mark.parametrize("name", ["'../../x.json'", "x'00ff'", "CAST(x'ff' AS TEXT)"])
def test_a_sidecar_without_a_name_of_one_is_one_and_is_not_listed(path, name):
    assert strays_after(path, f"INSERT INTO side VALUES ({name}, 0, x'00', x'abcd')") == [("side-1.body", b"\xab\xcd")]
    with closing(Strays(path, "calls.db")) as strays, closing(SqliteStore(path)) as store:
        assert store.side_names() == []
        strays.remove(next(strays.all()))
        assert list(strays.all()) == []


def test_a_table_that_is_gone_is_said(path):
    with pytest.raises(StoreError):
        strays_after(path, "DROP TABLE side")

"""A folder of entries as one file, and back, byte for byte."""

from __future__ import annotations

import json
import random
import sqlite3
from hashlib import sha256

import pytest

from onetake.errors import StoreError, UsageError
from onetake.stores.directory import DirectoryStore
from onetake.stores.sqlite import SqliteStore
from onetake.upkeep import packing
from onetake.upkeep.packing import faults, pack, size_of, stats, too_many, unpack


@pytest.fixture
def cassette_folder(folder):
    """A cassette of six entries of five requests, with a sidecar and a schema."""
    calls = [(f"Ask {number % 5}", json.dumps({"label": f"l{number}", "tags": []})) for number in range(6)]
    folder.record(*calls, folder="cassettes/all")
    path = folder.root / "cassettes/all"
    DirectoryStore(path).add_side(f"_raw/{sha256(b'x').hexdigest()}.sse", b"x")
    return path


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_comes_back_as_it_was(cassette_folder, tmp_path):
    before = tree(cassette_folder)
    done = pack(cassette_folder, tmp_path / "all.db")
    assert (done.entries, done.sides) == (6, 2)
    assert unpack(tmp_path / "all.db", tmp_path / "again") == done
    assert tree(tmp_path / "again") == before == tree(cassette_folder)


def test_the_same_entries_give_the_same_file_in_whatever_order_they_came(cassette_folder, tmp_path):
    pack(cassette_folder, tmp_path / "one.db")
    source = DirectoryStore(cassette_folder)
    other = DirectoryStore(tmp_path / "other")
    slots = list(source.names())
    random.Random(5).shuffle(slots)
    for slot in slots:
        name = source.locate(*slot).rpartition("/")[2]
        other.add(*slot, source.get(*slot), name.split(f"-{slot[0]}")[0])
    for name in source.side_names():
        other.add_side(name, source.get_side(name))
    pack(tmp_path / "other", tmp_path / "two.db")
    unpack(tmp_path / "two.db", tmp_path / "three")
    pack(tmp_path / "three", tmp_path / "four.db")
    files = [(tmp_path / name).read_bytes() for name in ("one.db", "two.db", "four.db")]
    assert files[0] == files[1] == files[2]


def test_nothing_is_written_over_and_nothing_half_written(cassette_folder, tmp_path, folder):
    (tmp_path / "there.db").write_bytes(b"")
    with pytest.raises(UsageError, match=r"there\.db: is there already"):
        pack(cassette_folder, tmp_path / "there.db")
    with pytest.raises(UsageError, match="ends in"):
        pack(cassette_folder, tmp_path / "x.sqlite")
    with pytest.raises(UsageError, match="no such folder"):
        pack(tmp_path / "none", tmp_path / "x.db")
    with pytest.raises(UsageError, match="no such file"):
        unpack(tmp_path / "none.db", tmp_path / "x")
    pack(cassette_folder, tmp_path / "x.db")
    with pytest.raises(UsageError, match="is there already"):
        unpack(tmp_path / "x.db", cassette_folder)
    damaged = next(cassette_folder.glob("*.json"))
    damaged.unlink()
    damaged.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=damaged.name):
        pack(cassette_folder, tmp_path / "y.db")
    left = {path.name for path in tmp_path.iterdir() if path != folder.root}
    assert "y.db" not in left
    assert not [name for name in left if name.startswith(".onetake-")]


def test_a_damaged_entry_is_named_and_stops_its_copy(cassette_folder, tmp_path):
    pack(cassette_folder, tmp_path / "x.db")
    with sqlite3.connect(tmp_path / "x.db") as connection:
        ((key, label),) = connection.execute("SELECT key, label FROM entry LIMIT 1").fetchall()
        connection.execute("UPDATE entry SET body = x'00' WHERE key = ?", (key,))
        connection.execute("UPDATE side SET body = x'00'")
    connection.close()
    store = SqliteStore(tmp_path / "x.db")
    found = list(faults(tmp_path / "x.db"))
    assert [fault.place.startswith(f"{store.place}/{label}-") for fault in found] == [True, False, False]
    assert all("damaged" in fault.why for fault in found)
    with pytest.raises(StoreError, match="damaged"):
        unpack(tmp_path / "x.db", tmp_path / "y")
    assert not (tmp_path / "y").exists()


def test_whole_stores_have_no_faults_and_torn_files_have(cassette_folder, tmp_path):
    pack(cassette_folder, tmp_path / "x.db")
    assert list(faults(tmp_path / "x.db")) == list(faults(cassette_folder)) == []
    first, second, *_ = sorted(cassette_folder.glob("*.json"))
    first.write_bytes(first.read_bytes()[:100])
    second.rename(second.with_name(f"chat-{'0' * 16}.json"))
    assert sorted(fault.place.rpartition("/")[2] for fault in faults(cassette_folder)) == sorted(
        [first.name, f"chat-{'0' * 16}.json"]
    )


def test_a_file_that_was_cut_is_said(cassette_folder, tmp_path):
    pack(cassette_folder, tmp_path / "x.db")
    whole = (tmp_path / "x.db").read_bytes()
    (tmp_path / "x.db").write_bytes(whole[: len(whole) // 2])
    assert {fault.place for fault in faults(tmp_path / "x.db")} == {str(tmp_path / "x.db")}


def test_the_oldest_and_the_newest_are_told_by_moments(folder, answer):
    paths = folder.record(("one", answer), ("two", answer), ("three", answer))
    times = ["2026-01-02T10:00:00+09:00", "2026-01-02T05:00:00Z", "zzz"]
    for path, time in zip(paths, times, strict=True):
        folder.rewrite(path, recorded_at=time)
    found = stats(paths[0].parent)
    assert (found.oldest, found.newest) == (times[0], times[1])


def test_both_kinds_count_the_same(cassette_folder, tmp_path):
    pack(cassette_folder, tmp_path / "x.db")
    one, other = stats(cassette_folder), stats(tmp_path / "x.db")
    for found in (one, other):
        assert (found.entries, found.keys, found.sides, found.damaged) == (6, 5, 2, 0)
        assert (found.verdicts, found.contracts) == ({"good": 6}, {"items v1": 6})
        assert found.bytes > 0
        assert found.oldest <= found.newest
    assert (one.kind, other.kind) == ("folder", "file")
    assert (one.content, one.models) == (other.content, other.models)


def test_a_folder_of_too_many_entries_is_told_and_a_file_never(cassette_folder, tmp_path, monkeypatch):
    pack(cassette_folder, tmp_path / "x.db")
    file, folder = SqliteStore(tmp_path / "x.db"), DirectoryStore(cassette_folder)
    assert (packing._MANY, too_many(cassette_folder, folder)) == (10_000, 0)
    monkeypatch.setattr(packing, "_MANY", 5)
    assert (too_many(cassette_folder, folder), too_many(tmp_path / "x.db", file)) == (6, 0)
    file.close()


def test_a_store_takes_what_its_files_take(cassette_folder, tmp_path):
    pack(cassette_folder, tmp_path / "x.db")
    assert size_of(tmp_path / "x.db") == (tmp_path / "x.db").stat().st_size
    assert size_of(cassette_folder) == sum(len(data) for data in tree(cassette_folder).values())

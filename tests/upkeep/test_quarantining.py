"""What is damaged leaves its store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from hashlib import sha256

import pytest

from onetake.errors import StoreError
from onetake.stores import open_store
from onetake.upkeep.packing import faults
from onetake.upkeep.quarantining import quarantine

SIDE = b"a stream"
NAME = f"_raw/{sha256(SIDE).hexdigest()}.sse"


@pytest.fixture(params=["calls.db", "calls"])
def store(request, tmp_path):
    """A store that holds two texts, which are no entries, and a sidecar that is not what its name says."""
    found = open_store(tmp_path / request.param)
    found.add("ab" * 32, 0, b"no entry")
    found.add("cd" * 32, 1, b"none either")
    found.add_side(NAME, SIDE)
    found.close()
    if request.param == "calls":
        (tmp_path / "calls" / NAME).write_bytes(b"another")
    else:
        with sqlite3.connect(tmp_path / "calls.db") as connection:
            connection.execute("UPDATE side SET body = x'00'")
        connection.close()
    return tmp_path / request.param


def test_all_that_is_damaged_goes_and_its_bytes_are_kept(store, tmp_path):
    assert len(list(faults(store))) == 3
    taken = quarantine(store, tmp_path / "aside")
    assert len(taken) == 3
    assert list(faults(store)) == []
    left = open_store(store)
    assert (list(left.names()), list(left.side_names())) == ([], [])
    left.close()
    kept = {path.name: path.read_bytes() for path in (tmp_path / "aside").rglob("*") if path.is_file()}
    assert len(kept) == 3
    assert kept[NAME.removeprefix("_raw/")] == (b"\0" if store.suffix else b"another")


def test_a_damaged_sidecar_is_kept_as_it_is(store, tmp_path):
    quarantine(store, tmp_path / "aside")
    assert (tmp_path / "aside" / NAME).read_bytes() == (b"another" if store.is_dir() else b"\x00")


@pytest.mark.parametrize("name", ["../../../../escaped.py", "_raw/../../escaped.py", "/tmp/escaped.py"])
def test_a_name_that_somebody_else_wrote_leads_nowhere(tmp_path, name):
    file, into = tmp_path / "in" / "calls.db", tmp_path / "in" / "aside" / "calls"
    with closing(open_store(file)) as store:
        store.add_side(NAME, SIDE)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE side SET name = ?", (name,))
        connection.commit()
    (fault,) = quarantine(file, into)
    assert fault.place == str(into / "side-1.body")
    assert list(faults(file)) == []
    assert [path for path in tmp_path.rglob("*") if "escaped" in path.name] == []


def test_what_was_put_aside_before_is_not_written_over(store, tmp_path):
    quarantine(store, tmp_path / "aside")
    again = open_store(store)
    again.add("ab" * 32, 0, b"no entry, again")
    again.close()
    (fault,) = quarantine(store, tmp_path / "aside")
    assert fault.place.endswith("~1")


def test_where_it_cannot_be_put_aside_it_stays(store, tmp_path):
    (tmp_path / "aside").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot be written"):
        quarantine(store, tmp_path / "aside")
    assert len(list(faults(store))) == 3

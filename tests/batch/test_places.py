"""Where an output may go, and what it must leave alone."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from onetake.batch.opening import Opened, open_source
from onetake.batch.places import anew, check_output, check_spared
from onetake.batch.running import run
from onetake.errors import UsageError

PLACES = ("rows.jsonl", "rows.jsonl.partial", "rows.jsonl.manifest.json", "rows.jsonl.manifest.json.partial")


def test_an_output_takes_the_place_of_a_file_only(tmp_path):
    (tmp_path / "folder").mkdir()
    for name, said in (("folder", "is no file"), ("nowhere/rows.jsonl", "there is no such folder")):
        with pytest.raises(UsageError, match=said):
            check_output(tmp_path / name)
    check_output(tmp_path / "new.jsonl")


@pytest.mark.parametrize("name", PLACES[1:])
def test_an_output_has_no_name_of_what_lies_beside_one(tmp_path, name):
    with pytest.raises(UsageError, match="lies beside an output"):
        check_output(tmp_path / name)


@pytest.mark.skipif(os.name != "posix", reason="links and devices")
@pytest.mark.parametrize("name", PLACES)
def test_no_link_is_followed_or_replaced_wherever_an_output_writes(tmp_path, name):
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / name).symlink_to(tmp_path / "precious")
    with pytest.raises(UsageError, match=f"{name}: is no file"):
        check_output(tmp_path / "rows.jsonl")
    with pytest.raises(UsageError, match="is no file"):
        check_output(Path("/dev/null"))
    with anew(tmp_path / name) as file:  # it came in between
        file.write(b"rows")
    assert (tmp_path / "precious").read_bytes() == b"precious"


@pytest.mark.skipif(not hasattr(os, "link"), reason="needs hard links")
def test_a_file_with_two_names_keeps_its_bytes_under_the_other(tmp_path):
    (tmp_path / "precious").write_bytes(b"precious")
    os.link(tmp_path / "precious", tmp_path / "rows.jsonl.partial")
    anew(tmp_path / "rows.jsonl.partial").close()
    assert (tmp_path / "precious").read_bytes() == b"precious"


@pytest.mark.parametrize("name", PLACES)
def test_an_input_is_spared_wherever_the_output_writes(filling, name):
    (filling.folder / name).write_bytes(b'{"m": "a"}\n')
    with (
        closing(Opened(filling.job(), open_source(str(filling.folder / name)))) as batch,
        pytest.raises(UsageError, match=f"{name}: is the input of this batch"),
    ):
        run(batch, filling.folder / "rows.jsonl")
    assert (filling.folder / name).read_bytes() == b'{"m": "a"}\n'
    assert filling.provider.count == 0


@pytest.mark.parametrize("what", ["input", "job", "schema", "settings", "store"])
@pytest.mark.parametrize("name", PLACES)
def test_what_a_batch_is_made_from_is_spared_there_or_not(tmp_path, what, name):
    with pytest.raises(UsageError, match=f"{name}: is the {what} of this batch"):
        check_spared(tmp_path / "rows.jsonl", {"other": tmp_path / "x", what: tmp_path / name, "none": None})
    check_spared(tmp_path / "other.jsonl", {what: tmp_path / name})


@pytest.mark.parametrize("name", ["calls.db", "calls.db-wal", "calls.db-shm", "calls.db-journal"])
def test_the_files_of_a_database_are_its_store(tmp_path, name):
    with pytest.raises(UsageError, match="is the store"):
        check_spared(tmp_path / name, {"store": tmp_path / "calls.db"})


def test_the_files_of_a_folder_are_its_store_and_books_are_spared(tmp_path):
    (tmp_path / "calls").mkdir()
    with pytest.raises(UsageError, match="is the store"):
        check_spared(tmp_path / "calls/rows.jsonl", {"store": tmp_path / "calls"})
    with pytest.raises(UsageError, match="keep their books"):
        check_spared(tmp_path / ".onetake/batch/calls.db.intents.db", {"store": tmp_path / "calls"})
    check_spared(tmp_path / "rows.jsonl", {"store": tmp_path / "calls"})

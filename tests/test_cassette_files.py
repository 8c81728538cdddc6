from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from onetake.cassette import Cassette, Damaged
from onetake.cassette_files import find_cassettes, list_folders, read_entry
from onetake.key import RECIPES, Keyer
from onetake.model import Entry, KeySpec, Request, Response
from onetake.stores.directory import DirectoryStore


def write(folder: Path, path: str, ordinal: int = 0) -> Path:
    request = Request("GET", f"https://example.org{path}")
    entry = Entry("good", request, Response(200, (), b"fine"), Keyer().key(request), ordinal, KeySpec(RECIPES[0], "s1"))
    store = DirectoryStore(folder)
    assert Cassette(store).add(entry)
    return Path(store.locate(entry.key, ordinal))


def test_every_folder_that_holds_entries_is_found_in_the_order_of_paths(tmp_path):
    second, first = write(tmp_path / "b" / "deep er", "/1"), write(tmp_path / "a", "/2")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "package.json").write_text("{}")
    assert [(c.folder, [p for _, p in c.files]) for c in find_cassettes(tmp_path)] == [
        (tmp_path / "a", [first]),
        (tmp_path / "b" / "deep er", [second]),
    ]


def test_folders_are_listed_with_all_they_hold_and_sidecars_are_not_gone_into(tmp_path):
    (tmp_path / "_raw" / "deeper").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.txt").write_text("")
    listed = [(one.folder, one.names, one.folders, one.why) for one in list_folders(tmp_path)]
    assert listed == [(tmp_path, (), ("_raw", "b"), ""), (tmp_path / "b", ("notes.txt",), (), "")]


@pytest.mark.parametrize("folder", [".onetake/rejects/a", ".git", "node_modules/x", "_raw", "a/_schemas"])
def test_what_is_no_cassette_of_the_project_is_left_out(tmp_path, folder):
    write(tmp_path / folder, "/1")
    assert list(find_cassettes(tmp_path)) == []
    assert [c.folder for c in find_cassettes(tmp_path / folder)] == [tmp_path / folder]


@pytest.mark.skipif(sys.platform == "win32", reason="making links needs a privilege there")
def test_links_are_not_followed(tmp_path):
    write(tmp_path / "real", "/1")
    (tmp_path / "search").mkdir()
    (tmp_path / "search" / "link").symlink_to(tmp_path / "real")
    assert list(find_cassettes(tmp_path / "search")) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser lists any folder")
def test_a_folder_that_cannot_be_listed_is_named(tmp_path):
    shut = tmp_path / "shut"
    write(shut, "/1")
    shut.chmod(0)
    try:
        (found,) = find_cassettes(tmp_path)
    finally:
        shut.chmod(0o700)
    assert (found.folder, found.files) == (shut, ())
    assert "cannot be listed" in found.why


def test_a_folder_that_is_gone_is_named(tmp_path):
    (found,) = find_cassettes(tmp_path / "gone")
    assert found.why.startswith("cannot be listed")


def test_an_entry_is_read_by_its_path_under_any_name(tmp_path):
    path = write(tmp_path, "/1")
    copy = tmp_path / "old copy.json"
    copy.write_bytes(path.read_bytes())
    assert read_entry(copy) == read_entry(path)
    assert read_entry(copy).request.url == "https://example.org/1"


def test_a_name_of_another_entry_is_damage(tmp_path):
    path = write(tmp_path, "/1")
    renamed = path.with_name("get-" + "0" * 16 + ".json")
    path.rename(renamed)
    found = read_entry(renamed)
    assert isinstance(found, Damaged)
    assert "name" in found.why


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.write_bytes(b'{"onetake": 1, "ver'), "torn"),
        (lambda path: path.write_bytes(b'{"onetake": 99}'), "newer"),
        (lambda path: path.mkdir(), "regular file"),
        (lambda path: None, "no such file"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, make, why):
    path = tmp_path / ("x-" + "0" * 16 + ".json")
    make(path)
    found = read_entry(path)
    assert isinstance(found, Damaged)
    assert why in found.why
    assert found.place == path.as_posix()

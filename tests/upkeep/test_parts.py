"""Which work a folder is, for those who share it."""

from __future__ import annotations

from pathlib import Path

import pytest

from onetake.cassette_files import Listed
from onetake.upkeep import parts
from onetake.upkeep.parts import parts_of


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(parts, "FILES", 3)


def listed(folder, count, *others):
    names = [f"chat-{number:016x}.json" for number in range(count)]
    return Listed(Path(folder), tuple(sorted([*names, *others])))


def test_a_small_cassette_is_one_part():
    (part,) = parts_of([listed("a", 5)])
    assert (part.is_whole, part.is_last, part.weight) == (True, True, 5)


def test_a_large_one_comes_in_parts_that_are_all_of_it():
    found = list(parts_of([listed("a", 8, ".onetake-x.tmp", "notes.txt")]))
    paths = [path for part in found for path in part.own.paths[part.files]]
    assert [path.name for path in paths] == [f"chat-{number:016x}.json" for number in range(8)]
    assert [part.weight for part in found] == [3, 3, 2]
    assert [part.is_last for part in found] == [False, False, True]
    assert not any(part.is_whole for part in found)


def test_every_part_knows_which_file_is_the_first_of_a_slot():
    found = list(parts_of([listed("a", 6, f"other-{0:016x}.json")]))
    first = {part.own.first[f"{0:016x}", 0].name for part in found}
    assert first == {f"chat-{0:016x}.json"}


def test_what_is_no_entry_makes_a_folder_no_large_cassette(tmp_path):
    for number in range(9):
        (tmp_path / f"{number}.json").write_text("{}", encoding="utf-8")
    (part,) = parts_of([Listed(tmp_path, tuple(sorted(path.name for path in tmp_path.iterdir())))])
    assert part.is_whole

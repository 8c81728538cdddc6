from __future__ import annotations

import errno
import os
import time

import pytest

from onetake.stores.listing import Listing

HEX = "0123456789abcdef"
SLOT = (HEX, 0)


@pytest.fixture
def listing(tmp_path):
    return Listing(tmp_path)


def aged(folder):
    os.utime(folder, (time.time() - 60,) * 2)
    return folder


def test_a_folder_at_rest_is_listed_once(tmp_path, listing, monkeypatch):
    listed = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listed.append(path) or scandir(path))
    (tmp_path / f"x-{HEX}.json").write_bytes(b"")
    aged(tmp_path)
    with listing.steady():
        assert listing.slots() == [SLOT]
    assert not listing.is_stale()
    assert listing.find((HEX, 1)) is None
    assert (listing.ordinals(HEX), listing.ordinals("f" * 16)) == ({SLOT[1]}, set())
    assert listed == [tmp_path]


def test_a_folder_that_changed_a_moment_ago_may_change_again_unseen(tmp_path, listing):
    with listing.steady():
        assert listing.slots() == []
    assert listing.is_stale()


def test_a_change_is_seen(tmp_path, listing):
    assert listing.find(SLOT) is None
    (tmp_path / f"x-{HEX}.json").write_bytes(b"")
    assert listing.find(SLOT) == f"x-{HEX}.json"


def test_our_own_change_needs_no_new_look(tmp_path, listing):
    with listing.changing():
        (tmp_path / f"x-{HEX}.json").write_bytes(b"")
        listing.note(SLOT, f"x-{HEX}.json")
    assert not listing.is_stale()
    assert listing.find(SLOT) == f"x-{HEX}.json"
    with listing.changing():
        listing.note(SLOT, None)
    assert (listing.find(SLOT), listing.names_of(SLOT)) == (None, [])


def test_a_change_that_broke_off_is_looked_at_again(tmp_path, listing):
    with pytest.raises(KeyboardInterrupt), listing.changing():
        (tmp_path / f"x-{HEX}.json").write_bytes(b"")
        raise KeyboardInterrupt
    assert listing.find(SLOT) == f"x-{HEX}.json"


def test_what_was_forgotten_during_a_change_is_looked_up_again(tmp_path, listing):
    with listing.changing():
        (tmp_path / f"x-{HEX}.json").write_bytes(b"")
        listing.forget(SLOT)
    assert listing.find(SLOT) == f"x-{HEX}.json"


def test_a_folder_that_we_may_not_mark_is_looked_at_again(tmp_path, listing, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EPERM, "not yours")

    monkeypatch.setattr(os, "utime", refuse)
    with listing.changing():
        (tmp_path / f"x-{HEX}.json").write_bytes(b"")
    assert listing.is_stale()
    assert listing.find(SLOT) == f"x-{HEX}.json"


def test_all_names_of_one_slot_are_known_and_the_first_counts(tmp_path, listing):
    for name in (f"b-{HEX}.json", f"a-{HEX}.json", f"c-{HEX}.json"):
        (tmp_path / name).write_bytes(b"")
    assert listing.find(SLOT) == f"a-{HEX}.json"
    assert listing.names_of(SLOT) == [f"a-{HEX}.json", f"b-{HEX}.json", f"c-{HEX}.json"]


def test_a_folder_that_is_not_there_is_empty_until_it_is(tmp_path):
    listing = Listing(tmp_path / "later")
    assert (listing.find(SLOT), listing.slots(), listing.is_stale()) == (None, [], False)
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / f"{HEX}-3.json").write_bytes(b"")
    assert listing.find((HEX, 3)) == f"{HEX}-3.json"


def test_temporary_files_are_told_apart(tmp_path, listing):
    for name in (".onetake-1.tmp", ".onetake-1.txt", "x.tmp"):
        (tmp_path / name).write_bytes(b"")
    with listing.steady():
        assert (listing.leftovers, listing.slots()) == ([".onetake-1.tmp"], [])

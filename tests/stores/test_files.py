from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from onetake.stores import files
from onetake.stores.directory import DirectoryStore

KEY = "0123456789abcdef" * 4


def fails(number):
    def call(*_, **__):
        raise OSError(number, os.strerror(number))

    return call


@pytest.fixture
def temp(tmp_path):
    path = tmp_path / "temp"
    path.write_bytes(b"whole")
    return path


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.EMLINK])
def test_where_links_are_refused_a_name_is_still_given_once_and_whole(tmp_path, temp, monkeypatch, number):
    monkeypatch.setattr(os, "link", fails(number))
    (tmp_path / "taken").write_bytes(b"first")
    assert not files.place(temp, tmp_path / "taken")
    assert files.place(temp, tmp_path / "free")
    assert ((tmp_path / "taken").read_bytes(), (tmp_path / "free").read_bytes()) == (b"first", b"whole")


def test_a_store_works_where_links_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", fails(errno.EPERM))
    store = DirectoryStore(tmp_path / "cassette")
    assert [store.add(KEY, 0, b"first"), store.add(KEY, 0, b"second"), store.get(KEY, 0)] == [True, False, b"first"]
    assert [path.name for path in (tmp_path / "cassette").iterdir()] == [f"{KEY[:16]}.json"]


def test_a_name_that_was_only_reserved_is_given_back(tmp_path, temp, monkeypatch):
    monkeypatch.setattr(os, "link", fails(errno.EPERM))
    temp.unlink()
    with pytest.raises(FileNotFoundError):
        files.place(temp, tmp_path / "free")
    assert not (tmp_path / "free").exists()


def test_a_link_that_fails_for_another_reason_is_an_error(tmp_path, temp, monkeypatch):
    monkeypatch.setattr(os, "link", fails(errno.ENOSPC))
    with pytest.raises(OSError, match="No space"):
        files.place(temp, tmp_path / "free")
    assert not (tmp_path / "free").exists()


def test_all_bytes_are_on_disk_before_a_name_is_given(tmp_path, monkeypatch):
    steps = []
    for name in ("fsync", "link"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *given, name=name, real=real: steps.append(name) or real(*given))
    store = DirectoryStore(tmp_path)
    store.add(KEY, 0, b"1")
    assert steps == (["fsync", "link", "fsync"] if os.name != "nt" else ["fsync", "link"])


def test_a_folder_whose_file_system_cannot_sync_it_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", fails(errno.EINVAL))
    files.sync_folder(tmp_path)
    monkeypatch.setattr(os, "fsync", fails(errno.EIO))
    if os.name != "nt":
        with pytest.raises(OSError, match="Input/output"):
            files.sync_folder(tmp_path)


def test_folders_are_made_with_those_above_them(tmp_path):
    files.make_folder(tmp_path / "a" / "b" / "c")
    files.make_folder(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").is_dir()


def test_remove_says_whether_there_was_a_file(temp):
    assert (files.remove(temp), files.remove(temp)) == (True, False)


def test_a_lock_is_held_where_there_is_a_folder(tmp_path):
    with files.locked(tmp_path / "none") as held:
        assert not held
    for _ in range(2):
        with files.locked(tmp_path) as held:
            assert held is (os.name != "nt")


@pytest.mark.skipif(os.name == "nt", reason="folders are never locked here")
def test_where_folders_cannot_be_locked_the_name_alone_decides(tmp_path, monkeypatch):
    import fcntl

    monkeypatch.setattr(fcntl, "flock", fails(errno.ENOLCK))
    one, other = DirectoryStore(tmp_path / "cassette"), DirectoryStore(tmp_path / "cassette")
    for turn in range(5):
        assert one.add(KEY, turn, b"first", "chat")
        assert not other.add(KEY, turn, b"second", "chat")
        assert other.get(KEY, turn) == b"first"
    assert len(one.names()) == 5


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="needs /proc, where files tell no size")
def test_a_file_is_read_to_its_end_whatever_size_it_tells():
    found = files.read(Path("/proc/self/status"))
    assert found is not None
    assert found.startswith(b"Name:")
    assert b"nonvoluntary_ctxt_switches" in found


def test_links_are_told_apart_where_the_system_cannot_refuse_them(tmp_path, temp, monkeypatch):
    (tmp_path / "link").symlink_to(temp)
    monkeypatch.setattr(files, "_NO_FOLLOW", 0)
    with pytest.raises(OSError, match="symbolic link"):
        files.read(tmp_path / "link")
    assert files.read(temp) == b"whole"


def test_a_temporary_file_is_whole_while_it_is_there_and_gone_afterwards(tmp_path):
    with files.temporary(tmp_path, b"whole") as temp:
        assert temp.read_bytes() == b"whole"
        assert temp.parent == tmp_path
        assert files.place(temp, tmp_path / "name")
    assert [path.name for path in tmp_path.iterdir()] == ["name"]
    assert (tmp_path / "name").read_bytes() == b"whole"


def test_a_temporary_file_is_gone_too_where_what_was_done_with_it_failed(tmp_path):
    with pytest.raises(ZeroDivisionError), files.temporary(tmp_path, b"whole"):
        1 / 0  # noqa: B018 (the error itself)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such lock")
def test_a_file_is_claimed_while_its_writer_lives_also_when_it_is_closed(tmp_path, monkeypatch):
    path = tmp_path / "a"
    descriptor = files.create(path)
    with files.claimed(descriptor):
        files.write(descriptor, b"whole")
        assert files.writer_lives(path) is True
    assert files.writer_lives(path) is False
    monkeypatch.setattr(files.fcntl, "flock", fails(errno.ENOTSUP))
    assert files.writer_lives(path) is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such lock")
def test_a_temporary_file_is_claimed_from_its_first_moment(tmp_path):
    with files.temporary(tmp_path, b"whole") as temp:
        assert files.writer_lives(temp) is True
        temp.replace(tmp_path / "name")
        assert files.writer_lives(tmp_path / "name") is True
    assert files.writer_lives(tmp_path / "name") is False

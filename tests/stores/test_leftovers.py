"""What killed processes left is told from what living ones write."""

from __future__ import annotations

import errno
import os
import sys
import time

import pytest

from onetake.stores import files, leftovers

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such lock")


@pytest.fixture
def temp(tmp_path):
    """A temporary file that nobody claims."""
    path = tmp_path / ".onetake-0123456789abcdef.tmp"
    path.write_bytes(b"half an en")
    return path


def test_only_temporary_files_of_ours_are_swept(tmp_path, temp):
    for name in ("onetake-1.tmp", ".onetake-1.json", "a.tmp", ".onetake-1.tmp~"):
        (tmp_path / name).touch()
    os.utime(temp, (0, 0))
    before = set(tmp_path.iterdir())
    assert leftovers.left_over(tmp_path) == [temp]
    assert set(tmp_path.iterdir()) == before
    assert leftovers.sweep(tmp_path) == [temp]
    assert set(tmp_path.iterdir()) == before - {temp}
    assert leftovers.sweep(tmp_path) == leftovers.left_over(tmp_path) == []


def test_a_folder_that_is_none_holds_nothing(tmp_path, temp):
    for path in (tmp_path / "none", temp):
        assert leftovers.sweep(path) == leftovers.left_over(path) == []


@posix
def test_what_is_no_file_stays(tmp_path):
    other = tmp_path / "mine"
    other.write_bytes(b"mine")
    (tmp_path / ".onetake-1.tmp").symlink_to(other)
    (tmp_path / ".onetake-2.tmp").mkdir()
    os.mkfifo(tmp_path / ".onetake-3.tmp")
    assert leftovers.sweep(tmp_path) == []
    assert len(list(tmp_path.iterdir())) == 4


@posix
@pytest.mark.parametrize("age", [0, 11, 3700])
def test_what_a_living_process_writes_stays_at_any_age(tmp_path, age):
    with files.temporary(tmp_path, b"whole") as temp:
        os.utime(temp, (time.time() - age,) * 2)
        assert leftovers.sweep(tmp_path) == []
        assert temp.exists()


@posix
@pytest.mark.parametrize(("alone", "age", "is_left"), [(True, 0, True), (False, 0, False), (False, 11, True)])
def test_without_the_lock_of_the_folder_a_new_file_may_not_be_claimed_yet(temp, alone, age, is_left):
    os.utime(temp, (time.time() - age,) * 2)
    assert leftovers.is_left_over(temp, alone=alone) is is_left


@pytest.mark.parametrize(("age", "is_left"), [(3500, False), (3700, True)])
def test_where_no_lock_tells_age_does(temp, monkeypatch, age, is_left):
    def no_locks(*_):
        raise OSError(errno.ENOTSUP, "not here")

    if sys.platform != "win32":
        monkeypatch.setattr(files.fcntl, "flock", no_locks)
    os.utime(temp, (time.time() - age,) * 2)
    assert leftovers.sweep(temp.parent) == ([temp] if is_left else [])

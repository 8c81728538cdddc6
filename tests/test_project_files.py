"""What the files of a project are: what moves the digest, and what does not."""

from __future__ import annotations

import os
import subprocess

import pytest

from onetake import project_files
from onetake.project_files import digest


def git(folder, *words):
    own = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *own, "-c", "core.autocrlf=false", *words], cwd=folder, check=True, capture_output=True
    )
    return done.stdout


@pytest.fixture
def project(tmp_path):
    """Files of a project that no git knows."""
    for name in ("test_a.py", "app/parse.py", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"1\n")
    return tmp_path


@pytest.fixture
def tracked(project):
    """The same under git, committed."""
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-qm", "a")
    return project


def moves(root, name, data=b"2\n"):
    """Tell whether a file that is written moves the digest; it is put back."""
    before, path = digest(root), root / name
    old = path.read_bytes() if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    after = digest(root)
    path.unlink() if old is None else path.write_bytes(old)
    assert len(before) == len(after) == 64
    assert digest(root) == before
    return before != after


STORED = ["tape/chat-0123456789abcdef.json", f"tape/_raw/{'a' * 64}.txt", f"tape/_schemas/{'a' * 64}.json"]


@pytest.mark.parametrize("name", ["test_a.py", "app/parse.py", "new.py"])
def test_a_module_moves_it(project, name):
    assert moves(project, name)


@pytest.mark.parametrize("name", [*STORED, ".onetake/x.py", ".venv/x.py", "venv/site-packages/x.py", "notes.txt"])
def test_without_git_nothing_else_moves_it(project, name):
    assert not moves(project, name)


@pytest.mark.parametrize("name", ["test_a.py", "notes.txt", "new.py"])
def test_under_git_every_tracked_file_moves_it_and_a_new_module(tracked, name):
    assert moves(tracked, name)
    if name != "new.py":
        before = digest(tracked)
        (tracked / name).unlink()
        assert digest(tracked) != before


@pytest.mark.parametrize("name", [*STORED, ".onetake/x.py", "new.txt"])
def test_under_git_what_is_stored_or_made_does_not(tracked, name):
    assert not moves(tracked, name)
    (tracked / name).parent.mkdir(parents=True, exist_ok=True)
    (tracked / name).write_bytes(b"1")
    git(tracked, "add", "-f", name)
    assert name == "new.txt" or not moves(tracked, name), "not where it is tracked either"


def test_a_commit_of_what_is_there_moves_nothing(tracked):
    (tracked / "test_a.py").write_bytes(b"2\n")
    (tracked / "new.py").write_bytes(b"3\n")
    before = digest(tracked)
    git(tracked, "add", "test_a.py")
    assert digest(tracked) == before
    git(tracked, "add", ".")
    git(tracked, "commit", "-qm", "b")
    assert digest(tracked) == before
    os.utime(tracked / "test_a.py", (0, 0))
    assert digest(tracked) == before


def test_other_folders_of_the_repository_count(tracked):
    before = digest(tracked / "app")
    (tracked / "test_a.py").write_bytes(b"2\n")
    assert digest(tracked / "app") != before


def test_a_folder_that_git_does_not_know_is_walked(tracked):
    (tracked / ".gitignore").write_bytes(b"own\n")
    (tracked / "own").mkdir()
    before = digest(tracked / "own")
    (tracked / "own" / "test_b.py").write_bytes(b"1\n")
    assert digest(tracked / "own") != before


def test_what_is_too_large_to_walk_is_not_known(project, monkeypatch):
    monkeypatch.setattr(project_files, "_MOST", 1)
    assert digest(project) == ""

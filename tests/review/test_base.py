from __future__ import annotations

import os
import shutil
import sys
from hashlib import sha256

import pytest

from onetake.errors import UsageError
from onetake.review.base import base_of, is_pointer_to, is_same


def test_the_entries_of_a_commit_and_what_was_in_them(desk):
    path = desk.put(desk.entry())
    before = path.read_bytes()
    desk.commit()
    path.write_bytes(b"other")
    base = base_of(desk.root, None)
    assert (base.name, base.commit, base.why_none) == ("HEAD", desk.git("rev-parse", "HEAD"), "")
    assert list(base.files) == [path]
    assert base.read(path) == before
    assert is_same(before, base.files[path])
    assert not is_same(b"other", base.files[path])
    assert base.read(path.with_name("other.json")) is None
    assert base.sides == {path.parent: (f"_schemas/{desk.contract.digest}.json",)}


def test_only_what_lies_where_cassettes_may_lie(desk):
    entry = desk.entry()
    for folder in (".hidden", "node_modules/x", "cassettes/_raw", "sub/.git2/x"):
        desk.put(entry, folder)
    inside = desk.put(entry, "sub/b")
    desk.commit()
    assert list(base_of(desk.root, None).files) == [inside]
    assert list(base_of(desk.root / "sub", None).files) == [inside]
    assert base_of(desk.root / "cassettes", None).files == {}


def test_line_ends_that_git_turned_count_for_nothing(desk):
    path = desk.put(desk.entry())
    desk.commit()
    (digest,) = base_of(desk.root, None).files.values()
    unix, windows = path.read_bytes(), path.read_bytes().replace(b"\n", b"\r\n")
    assert is_same(windows, digest)
    path.write_bytes(windows)
    desk.commit()
    (digest,) = base_of(desk.root, None).files.values()
    assert is_same(windows, digest)
    assert is_same(unix, digest)
    assert not is_same(unix + b"x", digest)


def test_a_start_that_a_link_leads_to(desk, tmp_path_factory):
    path = desk.put(desk.entry())
    desk.commit()
    link = tmp_path_factory.mktemp("links") / "link"
    link.symlink_to(desk.root, target_is_directory=True)
    base = base_of(link, None)
    (found,) = base.files
    assert found == link / path.relative_to(desk.root)
    assert base.read(found) == path.read_bytes()


@pytest.mark.parametrize("against", ["nowhere", "--all", "HEAD~9", "", "a\nb"])
def test_a_commit_that_is_not_there_is_refused(desk, against):
    with pytest.raises(UsageError, match="git has no such commit here"):
        base_of(desk.root, against)


def test_no_repository_and_no_commit_are_told(tmp_path, desk):
    bare = tmp_path / "bare"
    bare.mkdir()
    desk.git("init", "-q", str(bare))
    assert base_of(bare, None).why_none == "nothing is committed yet"
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    assert base_of(outside, None).why_none == "git knows no repository here"
    with pytest.raises(UsageError, match="git knows no repository here"):
        base_of(outside, "HEAD")


def test_a_commit_that_git_cannot_list_is_no_commit_without_entries(desk):
    desk.put(desk.entry())
    desk.commit()
    tree = desk.git("rev-parse", "HEAD^{tree}")
    (desk.root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()  # as in a clone that was made without trees
    with pytest.raises(UsageError, match=r"`git ls-tree .*` gives no answer: fatal: not a tree object; "):
        base_of(desk.root, None)


def test_a_commit_that_is_damaged_is_not_taken_for_none(desk):
    commit = desk.git("rev-parse", "HEAD")
    (desk.root / ".git" / "objects" / commit[:2] / commit[2:]).unlink()
    with pytest.raises(UsageError, match="git cannot read the commit that HEAD names"):
        base_of(desk.root, None)


@pytest.mark.skipif(sys.platform == "win32", reason="the program in between is a shell script")
def test_a_repository_that_git_does_not_trust_is_told_in_its_words(desk, tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("bin")
    (folder / "git").write_text(f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {shutil.which("git")} "$@"\n')
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    with pytest.raises(UsageError, match=r"dubious ownership .*safe\.directory"):
        base_of(desk.root, None)


def test_a_pointer_of_git_lfs_is_to_one_content():
    digest = sha256(b"content").hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 7\n".encode()
    assert is_pointer_to(digest, pointer)
    assert not is_pointer_to(sha256(b"other").hexdigest(), pointer)
    assert not is_pointer_to(digest, b"content")

"""Git is asked one way: it only reads, runs nothing, and looks where it is told to."""

from __future__ import annotations

import os
import subprocess

import pytest

from onetake import git

WHO = {f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def run(folder, *words, given=b""):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(["git", *words], cwd=folder, env=clean | WHO, capture_output=True, input=given)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    run(folder, "init", "-q")
    (folder / "a.txt").write_bytes(b"a\r\n")
    run(folder, "-c", "core.autocrlf=false", "add", ".")
    run(folder, "commit", "-qm", "a")
    return folder


def test_an_answer_is_bytes_and_a_line_is_text(repository):
    assert git.ask(repository, "cat-file", "blob", "HEAD:a.txt") == b"a\r\n"
    assert git.line(repository, "rev-parse", "HEAD") == run(repository, "rev-parse", "HEAD")


@pytest.mark.parametrize(
    "words", [("rev-parse", "--verify", "nothing"), ("no-such-command",), ("cat-file", "blob", "a\0b")]
)
def test_no_answer_is_none(repository, words):
    assert git.ask(repository, *words) is None
    assert git.line(repository, *words) == ""


def test_what_has_to_be_known_says_why_it_is_not(repository, tmp_path, monkeypatch):
    assert git.need(repository, "cat-file", "blob", "HEAD:a.txt") == b"a\r\n"
    with pytest.raises(git.NoAnswerError, match=r"^fatal: path 'b\.txt' does not exist in 'HEAD'$") as told:
        git.need(repository, "cat-file", "blob", "HEAD:b.txt")
    assert not told.value.is_no_repository
    with pytest.raises(git.NoAnswerError, match="exit code 1") as told:
        git.need(repository, "rev-parse", "--verify", "--quiet", "nothing")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    with pytest.raises(git.NoAnswerError) as told:
        git.need(tmp_path, "rev-parse", "HEAD")
    assert told.value.is_no_repository


def test_outside_of_a_repository_and_without_git_there_is_no_answer(repository, tmp_path, monkeypatch):
    assert git.ask(tmp_path, "rev-parse", "HEAD") is None
    assert git.ask(tmp_path / "nowhere", "rev-parse", "HEAD") is None
    assert git.is_installed()
    monkeypatch.setenv("PATH", "")
    assert git.ask(repository, "rev-parse", "HEAD") is None
    assert not git.is_installed()


def test_a_git_that_lies_in_the_current_folder_is_not_run(repository, tmp_path, monkeypatch):
    for name in ("git", "git.exe"):
        (tmp_path / name).write_text("#!/bin/sh\necho owned\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", os.environ["PATH"]]))
    assert git.line(repository, "rev-parse", "HEAD") == run(repository, "rev-parse", "HEAD")


def test_a_hook_of_another_repository_does_not_aim_it_there(repository, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    run(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert git.line(repository, "rev-parse", "HEAD") == run(repository, "rev-parse", "HEAD")


def test_what_the_environment_configures_counts(repository, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "Ann")
    assert git.line(repository, "config", "user.name") == "Ann"


def test_it_does_not_wait_for_ever(repository):
    assert git.ask(repository, "rev-parse", "HEAD", seconds=0) is None


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for the program")
def test_the_monitor_and_the_hooks_of_a_repository_are_not_run(repository, tmp_path):
    evil, mark = tmp_path / "post-index-change", tmp_path / "mark"
    evil.write_text(f"#!/bin/sh\necho run >> {mark}\n")
    evil.chmod(0o755)
    run(repository, "config", "core.fsmonitor", str(evil))
    run(repository, "config", "core.hooksPath", str(tmp_path))
    mark.unlink(missing_ok=True)
    (repository / "a.txt").write_bytes(b"b")
    assert git.line(repository, "status", "--porcelain", "--untracked-files=no") == "M a.txt"
    assert not mark.exists()


def test_contents_are_returned_by_what_git_calls_them(repository):
    contents = [b"", b"\n", b"one\ntwo", b"\x00\xff" * 1000, b"blob 3\nabc"]
    digests = [run(repository, "hash-object", "-w", "--stdin", given=content) for content in contents]
    tree, gone = run(repository, "rev-parse", "HEAD^{tree}"), "0" * 39 + "1"
    wanted = [digests[0], gone, *digests[1:3], tree, *digests[3:], digests[0]]
    assert git.blobs(repository, wanted) == dict(zip(digests, contents, strict=True))
    assert git.blobs(repository, []) == {}


def test_contents_that_a_partial_clone_lacks_are_not_fetched(repository, tmp_path):
    run(repository, "config", "uploadpack.allowFilter", "true")
    run(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", repository.as_uri(), "partial")
    digest = run(repository, "rev-parse", "HEAD:a.txt")
    assert git.blobs(repository, [digest]) == {digest: b"a\r\n"}
    assert git.blobs(tmp_path / "partial", [digest]) == {}


@pytest.mark.parametrize("setting", ["clean", "process"])
def test_no_filter_of_the_repository_is_run_to_tell_what_changed(repository, tmp_path, setting):
    assert (git.changed(repository), git.is_dirty(repository)) == ([], False)
    trap = tmp_path / "ran"
    (repository / ".gitattributes").write_text("*.txt filter=x.y\n")
    run(repository, "add", ".")
    run(repository, "commit", "-qm", "b")
    run(repository, "config", f"filter.x.y.{setting}", f"touch {trap}; cat")
    run(repository, "config", "filter.x.y.required", "true")
    (repository / "a.txt").write_bytes(b"b\n")
    assert (git.changed(repository), git.is_dirty(repository)) == ([b"a.txt"], True)
    assert not trap.exists()
    run(repository, "config", f"filter.a=b.{setting}", f"touch {trap}; cat")
    assert (git.changed(repository), git.is_dirty(repository)) == (None, True), "it cannot be told"
    assert not trap.exists()


def test_what_is_staged_is_a_change_of_the_commit_alone(repository):
    (repository / "b.txt").write_bytes(b"b")
    assert not git.is_dirty(repository), "nobody tracks it"
    run(repository, "add", ".")
    assert (git.changed(repository), git.is_dirty(repository)) == ([], True)
    os.utime(repository / "a.txt", (0, 0))
    assert git.changed(repository) == [], "its content is the same"


def test_the_top_is_that_of_the_repository(repository, tmp_path):
    (repository / "a").mkdir()
    assert git.top(repository / "a") == repository.resolve()
    assert git.top(tmp_path) is None

"""Entries that predate the parser, on the histories that people make: by digest first, by commit where that can be."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


def changed(more):
    return [f"the files that 'items' watches have changed since it was recorded ({more})"]


def other(more):
    start = "the files that 'items' watches are not those of when it was recorded"
    return [f"{start}; whether they say something else, or only have other names, is not known ({more})"]


def unknown(more):
    start = "unknown whether the files that 'items' watches have changed since it was recorded: they were not watched"
    return [f"{start} then, and {more}"]


def test_a_fix_is_named_by_its_commit(recorded):
    recorded.write(recorded.fixed)
    fix = recorded.commit("Strip what the model says", "2026-04-02")
    recorded.write(recorded.fixed.replace("Parses.", "Parses it."))
    recorded.commit("Say more", "2026-04-03")
    said = f"app/parse.py, last in {fix[:12]} of 2026-04-02: Strip what the model says"
    assert recorded.said() == changed(said)


def test_a_fix_that_is_not_committed_yet(recorded):
    recorded.write(recorded.fixed)
    assert recorded.said() == changed("app/parse.py is changed, and not committed")


def test_a_fix_that_was_reverted(recorded):
    recorded.write(recorded.fixed)
    fix = recorded.commit("Strip")
    assert len(recorded.said()) == 1
    recorded.git("revert", "--no-edit", fix)
    assert recorded.said() == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("\n", "\r\n"), ("Parses.", "Parses an answer."), ("    return", "    # As it came.\n    return")],
    ids=["CRLF", "docstring", "formatter"],
)
def test_what_moves_no_digest_needs_no_git(recorded, old, new, monkeypatch):
    recorded.write(recorded.parser.replace(old, new))
    recorded.commit("Tidy")
    monkeypatch.setenv("PATH", "")
    assert recorded.said() == []


@pytest.mark.parametrize("is_fixed", [False, True])
def test_a_branch_that_was_squashed(recorded, is_fixed):
    first = recorded.git("rev-list", "--max-parents=0", "HEAD")
    if is_fixed:
        recorded.write(recorded.fixed)
        recorded.commit("Fix")
    recorded.git("reset", "--soft", first)
    squashed = recorded.commit("All of it", "2026-05-01")
    recorded.git("reflog", "expire", "--expire=now", "--all")
    recorded.git("gc", "-q", "--prune=now")
    assert recorded.said() == (
        changed(f"app/parse.py, last in {squashed[:12]} of 2026-05-01: All of it") if is_fixed else []
    )


@pytest.mark.parametrize("is_fixed", [False, True])
def test_a_branch_that_was_rebased(recorded, is_fixed):
    if is_fixed:
        recorded.write(recorded.fixed)
        recorded.commit("Fix")
    first = recorded.git("rev-list", "--max-parents=0", "HEAD")
    recorded.git("checkout", "-q", "-b", "other", first)
    recorded.write("unrelated", "notes.txt")
    recorded.commit("Notes")
    recorded.git("rebase", "-q", "other", "main")
    assert [said.split(":")[-1] for said in recorded.said()] == ([" Fix)"] if is_fixed else [])


@pytest.mark.parametrize("is_fixed", [False, True])
def test_a_shallow_clone_tells_by_digest_whether_they_are_the_same(recorded, git, tmp_path_factory, is_fixed):
    if is_fixed:
        recorded.write(recorded.fixed)
        recorded.commit("Fix")
    clone = tmp_path_factory.mktemp("clone")
    git(clone, "clone", "-q", "--depth=1", recorded.root.as_uri(), "here")
    recorded.folder.root = clone / "here"
    assert recorded.said() == (other("this clone is shallow") if is_fixed else [])


def test_a_file_that_was_renamed_is_the_same_file(recorded):
    recorded.write("VALUE = 1\n", "app/other.py")
    recorded.git("mv", "app/parse.py", "parser.py")
    recorded.watch('watch = ["parser.py"]')
    assert recorded.said() == []  # staged
    recorded.commit("Rename")
    assert recorded.said() == []
    (recorded.root / "lib").mkdir()
    recorded.git("mv", "parser.py", "lib/read.py")
    recorded.watch('watch = ["lib/*.py"]')
    recorded.commit("Rename it again")
    assert recorded.said() == []
    recorded.write(recorded.fixed, "lib/read.py")
    fix = recorded.commit("Fix", "2026-06-01")
    assert recorded.said() == changed(f"lib/read.py, last in {fix[:12]} of 2026-06-01: Fix")


def test_a_rename_that_a_squash_has_swallowed_is_not_said_to_be_a_change(repository):
    first = repository.git("rev-parse", "HEAD")
    repository.write("A = 1\n", "app/a.py")
    repository.watch('watch = ["app/a.py"]')
    repository.commit("Add it")
    repository.folder.record()
    repository.git("mv", "app/a.py", "app/b.py")
    repository.watch('watch = ["app/b.py"]')
    repository.commit("Rename it")
    assert repository.said() == []
    repository.git("reset", "--soft", first)
    squashed = repository.commit("All of it", "2026-05-01")
    assert repository.said() == other(f"app/b.py, last in {squashed[:12]} of 2026-05-01: All of it")


def test_a_name_that_a_squash_has_swallowed_is_not_said_to_be_a_change_from_before(recorded):
    """git knows a first and a last name, and a fix from before the entry was recorded under one in between."""
    recorded.write(recorded.fixed)
    fix = recorded.commit("Fix", "2026-03-02")
    recorded.git("rm", "-rq", "cassettes")
    recorded.git("mv", "app/parse.py", "app/read.py")
    recorded.watch('watch = ["app/read.py"]')
    recorded.commit("Rename")
    recorded.folder.record()
    recorded.git("mv", "app/read.py", "app/reader.py")
    recorded.watch('watch = ["app/reader.py"]')
    recorded.commit("Rename again")
    assert recorded.said() == []
    recorded.git("reset", "--soft", fix)
    recorded.commit("All of it")
    assert recorded.said() == other(f"app/parse.py, last in {fix[:12]} of 2026-03-02: Fix")


def test_a_rename_in_a_shallow_clone_is_not_said_to_be_a_change(recorded, git, tmp_path_factory):
    recorded.git("mv", "app/parse.py", "parser.py")
    recorded.watch('watch = ["parser.py"]')
    recorded.commit("Rename")
    assert recorded.said() == []
    clone = tmp_path_factory.mktemp("clone")
    git(clone, "clone", "-q", "--depth=1", recorded.root.as_uri(), "here")
    recorded.folder.root = clone / "here"
    assert recorded.said() == other("this clone is shallow")


def test_a_rename_that_git_was_not_told_of_is_not_said_to_be_a_change(recorded):
    (recorded.root / "app/parse.py").rename(recorded.root / "parser.py")
    recorded.watch('watch = ["parser.py"]')
    assert recorded.said() == other("parser.py is not committed")
    recorded.git("add", "-A")
    assert recorded.said() == []


def test_fixes_and_renames_since_are_a_change(recorded):
    recorded.write(recorded.fixed)
    recorded.commit("Fix")
    recorded.git("mv", "app/parse.py", "parser.py")
    recorded.watch('watch = ["parser.py"]')
    recorded.commit("Rename")
    recorded.write(f"{recorded.fixed}\n\nTAGS = 1\n", "parser.py")
    last = recorded.commit("Add", "2026-05-01")
    said = f"parser.py, last in {last[:12]} of 2026-05-01: Add"
    assert recorded.said() == changed(said)
    recorded.write("A = 1\n", "a.py")
    recorded.watch('watch = ["parser.py", "a.py"]')
    new = recorded.commit("Watch more", "2026-05-02")
    assert recorded.said() == changed(f"a.py, last in {new[:12]} of 2026-05-02: Watch more")


@pytest.mark.parametrize("day", ["2026-03-01", "2026-03-02", "2026-03-03"], ids=["earlier", "same second", "later"])
def test_folders_that_were_moved_one_after_the_other(repository, day):
    """The moments of commits are not their order: clocks differ, and a rebase makes many within one second."""
    repository.write("A = 1\n", "app/deep/a.py")
    repository.write("B = 1\n", "app/deep/b.py")
    repository.watch('watch = ["app"]')
    repository.commit("More")
    repository.folder.record()
    repository.git("mv", "app/deep", "app/low")
    repository.commit("Move one", "2026-03-02")
    repository.git("mv", "app", "src")
    repository.watch('watch = ["src"]')
    repository.commit("Move all", day)
    assert repository.said() == []


@pytest.mark.parametrize("attempt", range(6))
def test_files_that_were_renamed_by_commits_of_one_second(repository, attempt):
    """As a rebase makes them; which of the commits has the lower digits is another one in each attempt."""
    repository.write("A = 1\n", "a.py")
    repository.write("C = 1\n", "c.py")
    repository.watch('watch = ["a.py", "c.py"]')
    repository.commit(f"More, attempt {attempt}")
    repository.git("mv", "a.py", "b.py")
    repository.watch('watch = ["b.py", "c.py"]')
    repository.commit("Rename one", "2026-03-02")
    repository.folder.record()
    repository.git("mv", "c.py", "d.py")
    repository.watch('watch = ["b.py", "d.py"]')
    repository.commit("Rename the other", "2026-03-02")
    assert repository.said() == []
    repository.write("A = 2\n", "b.py")
    fix = repository.commit("Fix", "2026-03-02")
    repository.write("# C\nC = 1\n", "d.py")
    repository.commit("Tidy", "2026-03-02")
    assert repository.said() == changed(f"b.py, last in {fix[:12]} of 2026-03-02: Fix")


def test_a_watched_file_that_is_gone_counts(repository):
    repository.write("A = 1\n", "app/a.py")
    repository.watch('watch = ["app/*.py"]')
    repository.commit("More")
    repository.folder.record()
    (repository.root / "app/a.py").unlink()
    gone = repository.commit("Take it out")
    assert repository.said() == changed(f"app/a.py, last in {gone[:12]} of 2026-03-01: Take it out")


def test_watching_one_more_file_that_did_not_change_moves_nothing(repository):
    repository.write("A = 1\n", "app/a.py")
    repository.commit("More")
    repository.folder.record()
    repository.watch('watch = ["app/parse.py", "app/a.py"]')
    assert repository.said() == []
    repository.write("A = 2\n", "app/a.py")
    fix = repository.commit("Fix", "2026-05-02")
    assert repository.said() == changed(f"app/a.py, last in {fix[:12]} of 2026-05-02: Fix")


def test_watching_one_more_file_where_the_commit_is_gone_is_unknown(repository, monkeypatch):
    repository.write("A = 1\n", "app/a.py")
    repository.commit("More")
    repository.folder.record()
    repository.watch('watch = ["app/parse.py", "app/a.py"]')
    monkeypatch.setenv("PATH", "")
    (said,) = repository.said()
    assert said.endswith(": not all of them were watched then, and there is no git here")


def test_a_digest_of_what_was_never_committed_is_not_outdone_by_a_commit(repository):
    """What was recorded under a parser that somebody was editing, which the commit does not hold."""
    repository.write(repository.fixed)
    (path,) = repository.folder.record()
    repository.git("checkout", "app/parse.py")
    assert json.loads(path.read_bytes())["provenance"].pop("dirty")
    repository.folder.edit(path, '    "dirty": true,\n', "")
    assert len(repository.said()) == 1


def test_without_a_digest_the_commit_decides(unwatched):
    assert unwatched.said() == []
    unwatched.write(unwatched.parser.replace("Parses", "Reads"))
    unwatched.commit("Tidy")
    assert unwatched.said() == []
    unwatched.write(unwatched.fixed)
    fix = unwatched.commit("Fix", "2026-04-02")
    assert unwatched.said() == changed(f"app/parse.py, last in {fix[:12]} of 2026-04-02: Fix")


def test_without_a_digest_a_renamed_file_is_the_same_file(unwatched):
    unwatched.git("mv", "app/parse.py", "parser.py")
    unwatched.watch('watch = ["parser.py"]')
    unwatched.commit("Rename")
    assert unwatched.said() == []


def test_without_a_digest_a_commit_that_is_gone_is_said_to_be_unknown(unwatched, git, tmp_path_factory):
    (path,) = unwatched.root.glob("cassettes/*/*/*.json")
    commit = json.loads(path.read_bytes())["provenance"]["commit"]
    clone = tmp_path_factory.mktemp("clone")
    git(clone, "clone", "-q", "--depth=1", unwatched.root.as_uri(), "here")
    unwatched.folder.root = clone / "here"
    assert unwatched.said() == unknown(f"its commit {commit[:12]} is not in this clone (squashed, rebased or shallow)")


def test_without_a_digest_a_dirty_tree_is_said_to_be_unknown(repository):
    repository.watch("")
    repository.write(repository.fixed)
    repository.folder.record()
    repository.watch()
    commit = repository.git("rev-parse", "HEAD")
    assert repository.said() == unknown(f"files were changed and not committed then, at commit {commit[:12]}")


def test_without_a_digest_and_without_git_it_is_unknown(unwatched, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert unwatched.said() == unknown("there is no git here")


def test_without_a_repository_it_is_unknown_and_a_digest_still_decides(folder):
    (folder.root / "app").mkdir()
    parser = folder.root / "app" / "parse.py"
    parser.write_text("TAGS = 1\n")
    folder.record()
    folder.settings('watch = ["app/parse.py"]')
    (found,) = folder.findings()
    assert [found.message.split("\n")[0]] == unknown("git knows no repository here")
    (folder.root / "cassettes").rename(folder.root / "old")
    folder.record()
    parser.write_text("TAGS = 2\n")
    found = [one.message.split("\n")[0] for one in folder.findings() if "cassettes" in one.path.parts]
    assert found == other("git knows no repository here")


def test_a_commit_that_is_none_is_never_given_to_git(unwatched):
    (path,) = unwatched.root.glob("cassettes/*/*/*.json")
    tree = json.loads(path.read_bytes())
    for commit in ("--output=owned", "HEAD", "a" * 41, "", 7, None, ["x"]):
        tree["provenance"]["commit"] = commit
        path.write_text(json.dumps(tree))
        assert unwatched.said() == unknown("it names no commit that it was recorded at")
    assert not (unwatched.root / "owned").exists()


def test_a_file_outside_of_the_repository_is_unknown(unwatched, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "parse.py"
    outside.write_text(unwatched.parser)
    name = Path(os.path.relpath(outside, unwatched.root)).as_posix()
    unwatched.watch(f'watch = ["{name}"]')
    assert unwatched.said() == unknown(f"{name} lies outside of the repository")


def test_the_history_of_a_folder_inside_a_repository(repository):
    """Settings in a subfolder: names count from there, and commits from the top."""
    inner = repository.root / "services" / "triage"
    inner.mkdir(parents=True)
    repository.git("mv", "onetake.toml", "items.json", "app", inner.as_posix())
    repository.root = repository.folder.root = inner
    repository.commit("Inside")
    repository.folder.record()
    repository.git("mv", "app/parse.py", "../../parse.py")
    repository.watch('watch = ["../../*.py"]')
    repository.commit("Share")
    assert repository.said() == []
    repository.write(repository.fixed, "../../parse.py")
    fix = repository.commit("Fix", "2026-05-02")
    assert repository.said() == changed(f"../../parse.py, last in {fix[:12]} of 2026-05-02: Fix")


def test_a_commit_of_an_impossible_time_is_told_without_its_day(recorded):
    recorded.write(recorded.fixed)
    recorded.git("commit", "-qam", "Fix", GIT_COMMITTER_DATE="@99999999999999 +0000")
    (said,) = recorded.said()
    assert said.endswith(": Fix)")
    assert " of " not in said

"""The runs on record: what they prove, and what takes it back."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from onetake.project_files import digest
from onetake.upkeep.runs import Runs
from onetake.usage import CassetteUsage, UsageRun, write_run

A, B, C = (("a" * 16, 0), ("b" * 16, 0), ("c" * 16, 3))
AT = "2020-11-30T10:00:00Z"


NO_FILES = sha256(b"").hexdigest()


def run_of(place="tape", used=(), unused=(), *, why="", known=True, at=AT, commit="", files=NO_FILES):
    cassettes = {place: CassetteUsage(frozenset(used), frozenset(unused), known=known)}
    return UsageRun(at, commit, files, why, cassettes)


def test_the_newest_whole_run_proves_what_it_left(tmp_path):
    write_run(tmp_path, run_of(used=[A], unused=[A, B, C], at="2020-11-29T10:00:00Z"))
    write_run(tmp_path, run_of(used=[A], unused=[B, C]))
    runs = Runs(tmp_path)
    assert (runs.why, runs.at) == ("", AT)
    assert runs.unused(tmp_path / "tape") == {B, C}
    assert runs.used(tmp_path / "tape") == {A}
    assert runs.unused(tmp_path / "other") == runs.used(tmp_path / "other") == frozenset()


@pytest.mark.parametrize(
    ("later", "left"),
    [
        (run_of(used=[B], why="tests were selected (-k)"), {C}),
        (run_of(used=[B, C], why="not all tests passed"), set()),
        (run_of(place="other", used=[B], why="not all tests passed"), {B, C}),
        (run_of(known=False, why="tests were selected (-k)"), set()),
    ],
)
def test_a_later_run_of_any_kind_takes_back_what_it_used(tmp_path, later, left):
    write_run(tmp_path, run_of(used=[A], unused=[B, C]))
    write_run(tmp_path, later)
    runs = Runs(tmp_path)
    assert runs.unused(tmp_path / "tape") == left
    assert runs.is_known(tmp_path / "tape") == all(one.known for one in later.cassettes.values())


@pytest.mark.parametrize("why", ["tests were selected (-k)", "not all tests passed", "a worker crashed"])
def test_br_155_a_run_that_is_not_whole_and_green_proves_nothing(tmp_path, why):
    assert Runs(tmp_path).why == "no run of tests is on record: run all tests, without selecting any"
    write_run(tmp_path, run_of(used=[A], unused=[B], why=why))
    runs = Runs(tmp_path)
    assert runs.why == f"the newest run is no proof ({why}): run all tests, without selecting any"
    assert (runs.at, runs.unused(tmp_path / "tape"), runs.used(tmp_path / "tape")) == ("", frozenset(), {A})


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"onetake_usage": 2, "at": "x", "cassettes": {}}', b"\xff", b"1"])
def test_a_later_ledger_that_cannot_be_read_may_tell_of_a_use(tmp_path, data):
    damaged = write_run(tmp_path, run_of(unused=[A], why="not all tests passed"))
    damaged.write_bytes(data)
    write_run(tmp_path, run_of(unused=[A]))
    assert Runs(tmp_path).unused(tmp_path / "tape") == {A}, "an earlier one cannot"
    later = write_run(tmp_path, run_of(why="not all tests passed"))
    later.write_bytes(data)
    runs = Runs(tmp_path)
    assert runs.why.startswith(f".onetake/usage/{later.name} cannot be read, or is dated in the future: remove it")
    assert not runs.is_known(tmp_path / "tape")


def test_a_cassette_outside_of_the_settings_folder_has_its_full_path(tmp_path):
    folder = tmp_path / "elsewhere" / "tape"
    write_run(tmp_path / "root", run_of(str(folder), used=[A], unused=[B]))
    assert Runs(tmp_path / "root").unused(folder) == {B}


def test_a_folder_is_found_by_any_of_its_paths(tmp_path):
    (tmp_path / "real" / "tape").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    write_run(tmp_path / "real", run_of(unused=[B]))
    assert Runs(tmp_path / "link").unused(tmp_path / "link" / "tape") == {B}
    assert Runs(tmp_path / "real").unused(tmp_path / "link" / ".." / "link" / "tape") == {B}


@pytest.mark.parametrize(
    ("provenance", "is_left"),
    [
        ({"recorded_at": "2020-11-30T09:59:59Z"}, True),
        ({"recorded_at": "2020-11-30T10:00:01Z"}, False),
        ({"recorded_at": "2020-11-30T12:30:00+03:00"}, True),
        ({"recorded_at": "2020-11-30T09:59:59"}, True),
        ({"recorded_at": "2020-11-30T10:00:01"}, False),
        ({"recorded_at": "2020-01-01T00:00:00Z", "adopted": {"at": "2020-12-01T00:00:00Z"}}, False),
        ({"recorded_at": "once"}, False),
        ({}, False),
    ],
)
def test_what_came_after_the_run_is_another_entry(tmp_path, folder, answer, provenance, is_left):
    (path,) = folder.record(("one", answer))
    entry = replace(folder.load(path), provenance=provenance)
    slot = entry.key[:16], 0
    write_run(tmp_path, run_of("cassettes/test_a/test_b", unused=[slot]))
    runs = Runs(tmp_path)
    assert runs.left(path.parent, slot, entry) is is_left
    assert not runs.left(path.parent, slot, None), "nothing is proved of what cannot be read"
    assert not runs.left(path.parent, A, entry)


def test_a_run_is_no_longer_the_newest(tmp_path):
    write_run(tmp_path, run_of(unused=[A]))
    runs = Runs(tmp_path)
    assert runs.is_newest
    write_run(tmp_path, run_of(used=[A], why="not all tests passed"))
    assert not runs.is_newest


def git(folder, *words):
    own = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def tests_in_git(tmp_path):
    """A repository with tests, of which a run is on record."""
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / ".gitignore").write_text(".onetake\n")
    (tmp_path / "test_a.py").write_text("b\nc\n")
    commit(tmp_path)
    return tmp_path


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "more", "--allow-empty")


def ran(folder):
    head = git(folder, "rev-parse", "HEAD")
    return write_run(folder, run_of(unused=[A], commit=head, files=digest(folder)))


def test_br_155_a_run_of_another_branch_says_nothing_of_this_one(tests_in_git):
    root = tests_in_git
    git(root, "checkout", "-q", "-b", "feature")
    (root / "test_a.py").write_text("b\n")
    commit(root)
    ran(root)
    assert Runs(root).unused(root / "tape") == {A}
    git(root, "checkout", "-q", "main")
    runs = Runs(root)
    assert runs.unused(root / "tape") == frozenset()
    head = git(root, "rev-parse", "feature")
    said = "files of the project have changed since the newest run of all tests of commit"
    assert runs.why == f"{said} {head[:12]}: run all tests, without selecting any"


@pytest.mark.parametrize("why", ["not all tests passed", "tests were selected (-k)"])
def test_after_a_newer_run_that_proves_nothing_both_are_told(tests_in_git, why):
    root = tests_in_git
    ran(root)
    head = git(root, "rev-parse", "HEAD")
    (root / "test_a.py").write_text("d\n")
    write_run(root, run_of(used=[B], why=why))
    newest = f"the newest run is no proof ({why}), and "
    said = f"files of the project have changed since the last green run of all tests of commit {head[:12]}"
    assert Runs(root).why == f"{newest}{said}: run all tests, without selecting any"
    write_run(root, run_of(unused=[A], files=""))
    write_run(root, run_of(used=[B], why=why))
    assert Runs(root).why.startswith(f"{newest}nobody knows which files the last green run of all tests was of:")


def test_br_155_what_brings_a_test_back_takes_the_proof_with_it(tests_in_git):
    root = tests_in_git
    (root / "test_a.py").write_text("b\n")
    commit(root)
    ran(root)
    git(root, "revert", "--no-edit", "HEAD")
    assert Runs(root).unused(root / "tape") == frozenset(), "HEAD holds the commit of the run, and the test again"


def test_a_run_of_files_that_are_committed_later_counts(tests_in_git):
    root = tests_in_git
    (root / "test_a.py").write_text("b\n")
    (root / "test_new.py").write_text("d\n")
    ran(root)
    assert Runs(root).unused(root / "tape") == {A}
    commit(root)
    (root / "tape").mkdir()
    (root / "tape" / f"chat-{'b' * 16}.json").write_text("{}")
    commit(root)
    assert Runs(root).unused(root / "tape") == {A}, "what is stored is no test"
    (root / "test_new.py").write_text("d\ne\n")
    assert Runs(root).unused(root / "tape") == frozenset()
    (root / "test_new.py").write_text("d\n")
    assert Runs(root).unused(root / "tape") == {A}
    (root / "test_newer.py").write_text("e\n")
    assert Runs(root).unused(root / "tape") == frozenset(), "though nobody tracks it yet"


def test_what_was_only_put_under_git_is_no_change(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / ".gitignore").write_text(".onetake\n")
    (tmp_path / "test_a.py").write_text("b\n")
    (tmp_path / "onetake.toml").write_text("")
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    write_run(tmp_path, run_of(unused=[A], at=now, files=digest(tmp_path)))
    commit(tmp_path)
    assert Runs(tmp_path).unused(tmp_path / "tape") == {A}
    (tmp_path / "cases.yaml").write_text("d\n")
    commit(tmp_path)
    assert Runs(tmp_path).unused(tmp_path / "tape") == frozenset(), "which came after the run"
    git(tmp_path, "rm", "-q", "cases.yaml")
    assert Runs(tmp_path).unused(tmp_path / "tape") == {A}
    (tmp_path / "test_a.py").write_text("c\n")
    commit(tmp_path)
    assert Runs(tmp_path).unused(tmp_path / "tape") == frozenset()


def test_a_run_of_files_that_nobody_knows_is_none(tmp_path):
    write_run(tmp_path, run_of(unused=[A], files="", commit="--help\x1b[2J"))
    why = Runs(tmp_path).why
    assert why.startswith("nobody knows which files the newest run of all tests of commit --help was of")
    assert Runs(tmp_path).unused(tmp_path / "tape") == frozenset()


def test_a_run_that_is_dated_in_the_future_proves_nothing_and_hides_none(tmp_path):
    later = datetime.now(UTC) + timedelta(days=3650)
    for name, at in (
        (later.strftime("%Y%m%dT%H%M%S.%fZ-aaaaaaaa.json"), AT),
        ("", later.strftime("%Y-%m-%dT%H:%M:%SZ")),
    ):
        wrong = write_run(tmp_path, run_of(unused=[A], at=at))
        wrong = wrong.rename(wrong.with_name(name)) if name else wrong
        true = write_run(tmp_path, run_of(used=[A])) if name else None
        assert f"{wrong.name} cannot be read, or is dated in the future" in Runs(tmp_path).why
        assert Runs(tmp_path).unused(tmp_path / "tape") == frozenset()
        wrong.unlink()
        assert true is None or Runs(tmp_path).used(tmp_path / "tape") == {A}

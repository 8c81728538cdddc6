"""What is said of an entry that predates the parser."""

from __future__ import annotations

import os
import shutil

import pytest

from onetake.upkeep.checking import check


def test_it_is_looked_at_then_vouched_for_or_recorded_again(recorded):
    (path,) = recorded.root.glob("cassettes/*/*/*.json")
    recorded.write(recorded.fixed)
    (found,) = recorded.folder.findings()
    assert (found.code, found.severity, found.line) == (
        "predates-parser",
        "warning",
        recorded.folder.line_of(path, '"contract"'),
    )
    assert found.mend.startswith(f"onetake vouch {path.as_posix()} --reason ")
    again = "pytest --record-mode=all tests/test_a.py::test_b"
    assert found.message.split("\n")[1] == f"look at it first: onetake show {path.as_posix()}; or {again}"


@pytest.fixture
def asked(tmp_path_factory, monkeypatch):
    """A function that returns how often git was asked since it was called last."""
    if os.name == "nt":
        pytest.skip("a shell script stands for the program")
    place = tmp_path_factory.mktemp("counting")
    book, program = place / "book", place / "git"
    program.write_text(f'#!/bin/sh\necho asked >> {book}\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(place), prepend=os.pathsep)

    def number():
        lines = book.read_text().split() if book.exists() else []
        book.unlink(missing_ok=True)
        return len(lines)

    return number


def test_git_is_asked_no_oftener_for_many_entries_than_for_one(unwatched, answer, asked):
    unwatched.watch("")
    unwatched.folder.record(*[(f"number {number}", answer) for number in range(12)], folder="cassettes/more")
    unwatched.watch()
    unwatched.write(unwatched.fixed)
    unwatched.commit("Fix")
    asked()
    (one,) = check(unwatched.root / "cassettes" / "test_a").findings
    of_one = asked()
    assert one.code == "predates-parser"
    assert len(unwatched.folder.findings()) == 13
    assert 0 < asked() == of_one


def test_git_is_not_asked_where_the_digests_are_the_same(recorded, asked):
    asked()
    assert recorded.folder.findings() == ()
    assert asked() == 0


def test_what_a_commit_says_is_printed_on_one_line_and_without_its_secrets(recorded):
    recorded.write(recorded.fixed)
    key = "sk-proj-" + "Ab1" * 16
    recorded.commit(f"Use {key} \x1b[31mred\x1b[0m\ufffd " + "x" * 500)
    (said,) = recorded.said()
    assert key not in said
    assert "\x1b" not in said
    assert len(said) < 300

"""pytest as a process of its own: how far it is, what it printed where it could not run, and its end in time."""

from __future__ import annotations

import os

import pytest

from onetake.errors import UsageError
from onetake.proving_runs import Telling, run

ALONE = ["-p", "no:xdist", "-p", "no:hypothesispytest", "-p", "no:onetake", "-q"]


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """Return a function that runs a suite of one file, and what was said meanwhile."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    said, seen = [], []

    def go(source, timeout=None):
        (tmp_path / "test_it.py").write_text(source, encoding="utf-8")
        return run([], ALONE, tmp_path / "outcomes.json", Telling(said.append, seen.append, timeout))

    go.said, go.seen = said, seen
    return go


def test_what_became_of_each_test_whatever_was_printed(suite):
    found = suite("def test_a():\n    print('\\u2603' * 9999)\n    assert False, '\\u2603'\ndef test_b(): pass\n")
    assert {name: one["outcome"] for name, one in found["tests"].items()} == {
        "test_it.py::test_a": "failed",
        "test_it.py::test_b": "passed",
    }
    assert suite.said == []


def test_what_could_not_run_is_printed_in_its_lines_and_named_in_one(suite):
    with pytest.raises(UsageError, match=r"^pytest ended with 2, so nothing can be compared: E   NameError: name 'no'"):
        suite("no\n")
    assert any(line.startswith("E   NameError") for line in suite.said)
    assert not any("\n" in line for line in suite.said)


def test_a_run_without_a_test_is_no_proof(suite):
    with pytest.raises(UsageError, match=r"^pytest found no test, so nothing can be compared"):
        suite("")
    assert suite.said == []


HANGS = """
import threading

def test_it():
    threading.Event().wait()
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signal for one process")
def test_a_run_that_takes_too_long_is_ended_as_a_person_would_and_was_seen_to_be_under_way(suite):
    with pytest.raises(UsageError, match=r"^pytest took longer than 1 seconds"):
        suite(HANGS, timeout=1)
    assert suite.seen

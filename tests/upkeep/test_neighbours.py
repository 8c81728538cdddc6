"""Whose tests may use what lies below a settings folder."""

from __future__ import annotations

import subprocess

import pytest

from onetake.upkeep.neighbours import Neighbours, roots_below
from onetake.usage import UsageRun, write_run

RUN = UsageRun("2026-11-30T10:00:00Z")


@pytest.fixture
def tree(tmp_path):
    """A repository with settings at its top and in three folders, two of them with runs, and one outside of it."""
    for name in ("repo", "repo/app", "repo/app/inner", "repo/lib", "repo/lib/src", "outside"):
        (tmp_path / name).mkdir()
        if name != "repo/lib/src":
            (tmp_path / name / "onetake.toml").touch()
    for name in ("repo", "repo/app/inner", "repo/lib", "outside"):
        write_run(tmp_path / name, RUN)
    return tmp_path


def others(start, root):
    return [runs.root for runs in Neighbours(start, roots_below(start)).others(root)]


def test_the_runs_of_others_are_those_above_below_and_in_the_repository(tree):
    repo = tree / "repo"
    above_and_below = [repo, repo / "app" / "inner"]
    assert others(repo / "app", repo / "app") == above_and_below
    for words in (("init", "-q"), ("add", "-A")):
        subprocess.run(["git", *words], cwd=repo, check=True, capture_output=True)
    assert others(repo / "app", repo / "app") == [*above_and_below, repo / "lib"]
    assert others(repo / "app", repo) == [repo / "app" / "inner", repo / "lib"], "not its own"

"""Whose tests may use what lies below a settings folder."""

from __future__ import annotations

import subprocess

from onetake.upkeep.neighbours import Neighbours, roots_below


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

"""What lies around cassettes: settings folders with runs, rejects and trash."""

from __future__ import annotations

import subprocess

import pytest

from onetake.upkeep.surroundings import Surroundings
from onetake.usage import UsageRun, write_run

RUN = UsageRun("2026-11-30T10:00:00Z")


def roots(found):
    return [runs.root for runs in found]


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


def test_the_runs_of_others_are_those_above_below_and_in_the_repository(tree):
    repo = tree / "repo"
    above_and_below = [repo, repo / "app" / "inner"]
    assert roots(Surroundings(repo / "app").others(repo / "app")) == above_and_below
    for words in (("init", "-q"), ("add", "-A")):
        subprocess.run(["git", *words], cwd=repo, check=True, capture_output=True)
    assert roots(Surroundings(repo / "app").others(repo / "app")) == [*above_and_below, repo / "lib"]
    assert roots(Surroundings(repo / "app").others(repo)) == [repo / "app" / "inner", repo / "lib"], "not its own"


def test_roots_and_folders_with_sidecars_are_found_by_their_names(tree):
    (tree / "repo" / "cassettes" / "_raw").mkdir(parents=True)
    (tree / "repo" / ".venv" / "x" / ".onetake").mkdir(parents=True)
    around = Surroundings(tree / "repo")
    assert around.roots == {tree / "repo", tree / "repo" / "app" / "inner", tree / "repo" / "lib"}
    assert around.sided == {tree / "repo" / "cassettes": None}
    assert around.is_whole(tree / "repo")
    assert around.is_whole(tree / "repo" / "lib")
    assert not Surroundings(tree / "repo" / "cassettes").is_whole(tree / "repo")


def test_the_places_of_a_part_are_those_of_its_cassettes(tree):
    repo = tree / "repo"
    part = repo / ".onetake" / "trash" / "cassettes"
    own = repo / ".onetake" / "trash" / ".onetake" / "rejects" / "cassettes"
    rejects = repo / ".onetake" / "rejects" / "cassettes"
    for place in (repo / "cassettes", part, own, rejects):
        place.mkdir(parents=True)
    around = Surroundings(repo / "cassettes")
    assert around.places(repo, "trash") == [part, own]
    assert around.places(repo, "rejects") == [rejects]
    assert Surroundings(repo).places(repo, "trash") == [repo / ".onetake" / "trash"]
    assert Surroundings(repo).places(repo / "lib", "trash") == []


@pytest.mark.parametrize("link", [".onetake", ".onetake/trash"])
def test_a_link_is_followed_nowhere(tree, link):
    lib, away = tree / "repo" / "lib" / "src", tree / "away"
    (away / "trash").mkdir(parents=True)
    (lib / link).parent.mkdir(exist_ok=True)
    (lib / link).symlink_to(away, target_is_directory=True)
    assert Surroundings(lib).places(lib, "trash") == []

"""What lies around cassettes: settings folders with runs, rejects and trash."""

from __future__ import annotations

import pytest

from onetake.upkeep.prune.places import Places


def test_roots_and_folders_with_sidecars_are_found_by_their_names(tree):
    (tree / "repo" / "cassettes" / "_raw").mkdir(parents=True)
    (tree / "repo" / ".venv" / "x" / ".onetake").mkdir(parents=True)
    around = Places(tree / "repo")
    assert around.roots == {tree / "repo", tree / "repo" / "app" / "inner", tree / "repo" / "lib"}
    assert around.sided == {tree / "repo" / "cassettes": None}
    assert around.is_whole(tree / "repo")
    assert around.is_whole(tree / "repo" / "lib")
    assert not Places(tree / "repo" / "cassettes").is_whole(tree / "repo")


def test_the_places_of_a_part_are_those_of_its_cassettes(tree):
    repo = tree / "repo"
    part = repo / ".onetake" / "trash" / "cassettes"
    own = repo / ".onetake" / "trash" / ".onetake" / "rejects" / "cassettes"
    rejects = repo / ".onetake" / "rejects" / "cassettes"
    for place in (repo / "cassettes", part, own, rejects):
        place.mkdir(parents=True)
    around = Places(repo / "cassettes")
    assert around.places(repo, "trash") == [part, own]
    assert around.places(repo, "rejects") == [rejects]
    assert Places(repo).places(repo, "trash") == [repo / ".onetake" / "trash"]
    assert Places(repo).places(repo / "lib", "trash") == []


@pytest.mark.parametrize("link", [".onetake", ".onetake/trash"])
def test_a_link_is_followed_nowhere(tree, link):
    lib, away = tree / "repo" / "lib" / "src", tree / "away"
    (away / "trash").mkdir(parents=True)
    (lib / link).parent.mkdir(exist_ok=True)
    (lib / link).symlink_to(away, target_is_directory=True)
    assert Places(lib).places(lib, "trash") == []

"""A newer recipe, or a newer scrub list: what is stored is outdated, is told so, and is keyed anew from its request."""

from __future__ import annotations

import json

import pytest

from onetake import key, scrub
from onetake.errors import InteractionNotFound
from onetake.key import Keyer, canonical
from onetake.stores.directory import DirectoryStore
from onetake.upkeep.findings import Code
from onetake.upkeep.rekey.rekeying import rekey
from onetake.upkeep.statuses import status

CASSETTE = "cassettes/test_a/test_b"


@pytest.fixture
def k2(monkeypatch):
    """Let the next onetake come, whose recipe gives every request another key."""

    def come():
        hashed = canonical.encode
        monkeypatch.setattr(key, "RECIPES", ("k2", "k1"))
        monkeypatch.setattr(canonical, "encode", lambda text: b"k2" + hashed(text))

    return come


def commands(folder):
    return [(one.advice.value, one.command) for one in status(folder.root).entries]


def test_entries_of_an_older_recipe_are_outdated_and_are_keyed_anew(folder, k2, answer):
    old = folder.record(("Hello", answer), ("Good bye", answer))
    k2()
    found = folder.findings()
    assert [(one.code, one.severity, one.path) for one in found] == [(Code.OUTDATED_KEY, "error", path) for path in old]
    assert all("recipe 'k1'" in one.message and "(k2, s1)" in one.message for one in found)
    assert all(one.mend.startswith("onetake rekey ") for one in found)
    assert [(advice, command.split(" /")[0]) for advice, command in commands(folder)] == [
        ("broken", "onetake rekey")
    ] * 2
    moved = rekey(folder.root, writes=True)
    assert (len(moved.moves), moved.left, moved.collisions) == (2, [], [])
    assert not any(path.exists() for path in old)
    assert folder.codes() == []
    assert {folder.load(one.new_path).key_spec.recipe for one in moved.moves} == {"k2"}
    assert all(folder.load(one.new_path).key == Keyer().key(folder.load(one.new_path).request) for one in moved.moves)


def test_a_replay_says_that_rekey_gives_an_entry_the_key_of_a_newer_recipe(folder, direct, k2):
    folder.record(("Hello", "Good day."), contract=None)
    store = DirectoryStore(folder.root / CASSETTE)
    k2()
    with pytest.raises(InteractionNotFound, match="`onetake rekey` gives it this key"):
        direct(store, "none").ask("Hello")
    rekey(folder.root, writes=True)
    assert direct(DirectoryStore(folder.root / CASSETTE), "none").call("Hello") == "Good day."


def test_an_entry_of_a_recipe_that_is_forgotten_is_keyed_anew_too(folder, k2, monkeypatch):
    (old,) = folder.record()
    k2()
    monkeypatch.setattr(key, "RECIPES", ("k2",))
    assert folder.codes() == ["outdated-key"]
    (move,) = rekey(folder.root, writes=True).moves
    assert (move.path, folder.codes()) == (old, [])


def test_entries_of_an_older_scrub_list_keep_their_key_and_are_outdated_until_they_are_scrubbed_anew(
    folder, direct, monkeypatch
):
    (path,) = folder.record(("Hello", "Good day."), contract=None)
    monkeypatch.setattr(scrub, "SCRUBS", ("s2", "s1"))
    assert folder.codes() == ["outdated-key"]
    assert direct(DirectoryStore(path.parent), "none").call("Hello") == "Good day."
    (move,) = rekey(folder.root, writes=True).moves
    assert (move.path, move.new_path, move.key) == (path, path, move.new_key)
    assert folder.load(path).key_spec.scrub == "s2"
    assert (folder.codes(), rekey(folder.root).moves) == ([], [])


def test_a_changed_request_is_no_less_broken_for_an_older_scrub_list(folder, monkeypatch):
    (path,) = folder.record()
    folder.edit(path, "Sort this", "Sort that")
    monkeypatch.setattr(scrub, "SCRUBS", ("s2", "s1"))
    assert folder.codes() == ["broken"]
    (left,) = rekey(folder.root, writes=True).left
    assert "does not give the stored key" in left.why


@pytest.mark.parametrize(
    ("field", "version", "mend"),
    [("recipe", "k3", "upgrade"), ("scrub", "s3", "upgrade"), ("recipe", "kiwi", "restore")],
)
def test_entries_of_a_newer_onetake_or_of_none_are_left_with_what_mends_them(folder, k2, field, version, mend):
    (path,) = folder.record()
    k2()
    tree = json.loads(path.read_text())
    tree["key_spec"][field] = version
    path.write_text(json.dumps(tree))
    (found,) = folder.findings()
    (left,) = rekey(folder.root, writes=True).left
    assert found.code == "broken"
    assert found.mend.startswith(mend)
    assert left.mend == found.mend

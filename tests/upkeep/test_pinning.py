"""A pin is one word in the entry, and goes again."""

from __future__ import annotations

import json

import pytest

from onetake.pins import Pins
from onetake.upkeep.pinning import pin, unpin
from onetake.writing import SecretLeftError

FOLDER = "cassettes/test_a/test_b[x]"


@pytest.fixture
def path(folder):
    """The file of one entry."""
    return folder.record(folder=FOLDER)[0]


def test_a_pin_changes_one_word_of_the_entry(folder, path):
    entry, before = folder.load(path), json.loads(path.read_bytes())
    assert pin(path, entry, "the golden one")
    after = json.loads(path.read_bytes())
    said = after["provenance"].pop("pinned")
    assert (after, said["reason"], said.keys()) == (before, "the golden one", {"at", "reason"})
    assert Pins(folder.root, []).why(path, folder.load(path)) == "pinned: the golden one"
    assert folder.check() == []
    assert unpin(path, entry)
    assert json.loads(path.read_bytes()) == before
    assert Pins(folder.root, []).why(path, folder.load(path)) == ""


def test_what_is_pinned_stays_so_and_a_new_reason_is_noted(folder, path):
    entry = folder.load(path)
    pin(path, entry, "")
    first = path.read_bytes()
    assert pin(path, entry, "")
    assert path.read_bytes() == first
    pin(path, entry, "why")
    assert folder.load(path).provenance["pinned"]["reason"] == "why"
    pin(path, entry, "")
    assert folder.load(path).provenance["pinned"]["reason"] == "why"


def test_what_others_wrote_meanwhile_stays(folder, path):
    entry = folder.load(path)
    folder.rewrite(path, vouched={"reason": "read"})
    assert pin(path, entry, "")
    assert folder.load(path).provenance.keys() >= {"vouched", "pinned"}


def test_another_entry_in_its_place_is_not_pinned(folder, path):
    entry = folder.load(path)
    folder.edit_answer(path, '{"label": "bug", "tags": ["a", "b"]}', '{"label": "other", "tags": []}')
    assert not pin(path, entry, "")
    assert "pinned" not in folder.load(path).provenance
    path.unlink()
    assert not pin(path, entry, "")
    assert not path.exists()


def test_a_secret_in_the_reason_is_not_written(folder, path):
    before = path.read_bytes()
    with pytest.raises(SecretLeftError):
        pin(path, folder.load(path), "sk-proj-" + "aB3dE5fG7hJ9kL1m" * 3)
    assert path.read_bytes() == before

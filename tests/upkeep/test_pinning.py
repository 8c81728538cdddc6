"""Which entries are pinned: by a path, by a key, or by a word in the entry."""

from __future__ import annotations

import json

import pytest

from onetake.upkeep.pinning import Pins, pin, unpin
from onetake.writing import SecretLeftError

FOLDER = "cassettes/test_a/test_b[x]"


@pytest.fixture
def path(folder):
    """The file of one entry."""
    return folder.record(folder=FOLDER)[0]


@pytest.mark.parametrize(
    "word",
    [
        "cassettes",
        "cassettes/",
        "./cassettes/test_a",
        "cassettes\\test_a",
        FOLDER,
        f"{FOLDER}/*",
        "*/test_b?x?/*",
        "cassettes/**",
        "*.json",
    ],
)
def test_a_path_pins_what_it_names_and_all_below(folder, path, word):
    pins = Pins(folder.root, ["nothing/*", word])
    assert pins.why(path, None) == f"pinned by the settings: {word!r}"
    assert pins.unmatched == ["nothing/*"]


@pytest.mark.parametrize("word", ["cassette", "test_a", "cassettes/test_a/test_b", "cassettes/test_a/test_bx", "*.jso"])
def test_what_names_something_else_pins_nothing(folder, path, word):
    pins = Pins(folder.root, [word])
    assert (pins.why(path, folder.load(path)), pins.unmatched) == ("", [word])


def test_a_key_pins_by_its_first_digits(folder, path):
    entry = folder.load(path)
    assert Pins(folder.root, [entry.key[:8]]).why(path, entry) == f"pinned by the settings: {entry.key[:8]!r}"
    assert Pins(folder.root, [entry.key]).why(path, entry)
    for word in (entry.key[:7], entry.key[1:9], entry.key[:8].upper() if not entry.key[:8].isdigit() else "x"):
        assert Pins(folder.root, [word]).why(path, entry) == ""


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


@pytest.mark.parametrize("said", ["yes", 1, {"reason": "\x1b[31m"}, {"reason": ["x"]}, {}])
def test_whatever_a_hand_wrote_pins(folder, path, said):
    folder.rewrite(path, pinned=said)
    why = Pins(folder.root, []).why(path, folder.load(path))
    assert why.startswith("pinned")
    assert "\x1b" not in why

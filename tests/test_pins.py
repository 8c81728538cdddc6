"""Which entries are pinned: by a path, by a key, or by a word in the entry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onetake.pins import Pins
from onetake.stores.naming import entry_name

FOLDER = "cassettes/test_a/test_b[x]"


@pytest.fixture
def entry(direct):
    """One entry."""
    recording = direct()
    recording.call("Hello", "Good day.")
    return recording.entries()[0]


@pytest.fixture
def path(entry, tmp_path):
    """Where its file would be."""
    return tmp_path / FOLDER / entry_name(entry.key, 0, "chat")


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
def test_a_path_pins_what_it_names_and_all_below(tmp_path, path, word):
    pins = Pins(tmp_path, ["nothing/*", word])
    assert pins.why(path, None) == f"pinned by the settings: {word!r}"
    assert pins.unmatched == ["nothing/*"]


@pytest.mark.parametrize("word", ["cassette", "test_a", "cassettes/test_a/test_b", "cassettes/test_a/test_bx", "*.jso"])
def test_what_names_something_else_pins_nothing(tmp_path, path, entry, word):
    pins = Pins(tmp_path, [word])
    assert (pins.why(path, entry), pins.unmatched) == ("", [word])


def test_a_key_pins_by_its_first_digits(tmp_path, path, entry):
    assert Pins(tmp_path, [entry.key[:8]]).why(path, entry) == f"pinned by the settings: {entry.key[:8]!r}"
    assert Pins(tmp_path, [entry.key]).why(path, entry)
    for word in (entry.key[:7], entry.key[1:9], entry.key[:8].upper() if not entry.key[:8].isdigit() else "x"):
        assert Pins(tmp_path, [word]).why(path, entry) == ""


@pytest.mark.parametrize("said", ["yes", 1, {"reason": "\x1b[31m"}, {"reason": ["x"]}, {}])
def test_whatever_a_hand_wrote_pins(tmp_path, path, entry, said):
    entry = replace(entry, provenance={"pinned": said})
    why = Pins(tmp_path, []).why(path, entry)
    assert why.startswith("pinned")
    assert "\x1b" not in why


@pytest.mark.parametrize("word", ["cassettes/x", "cassettes/*", "cassettes"])
def test_a_pin_by_a_link_pins_what_it_leads_to(tmp_path, entry, word):
    path = tmp_path / "real" / "x" / entry_name(entry.key, 0, "chat")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    (tmp_path / "cassettes").mkdir()
    link = tmp_path / "cassettes" / "x"
    link.symlink_to(path.parent, target_is_directory=True)
    by_link, pins = link / path.name, Pins(tmp_path, [word])
    assert pins.why(by_link, None), "as a link is named"
    assert bool(pins.why(path, None)) is (word != "cassettes"), "a link in a folder is not followed"
    assert Pins(tmp_path, ["real/x"]).why(by_link, None)
    assert not Pins(tmp_path, ["cassettes/y", "rea"]).why(path, None)


def test_every_word_that_names_an_entry_has_named_one(tmp_path, path, entry):
    pins = Pins(tmp_path, ["cassettes", FOLDER, entry.key[:8]])
    assert pins.why(path, entry) == "pinned by the settings: 'cassettes'"
    assert pins.unmatched == []

"""A change to an entry's provenance loses nothing that others write meanwhile."""

from __future__ import annotations

import signal
import sys
from threading import Thread

import pytest

from onetake.errors import FormatError
from onetake.format import load_entry
from onetake.upkeep import amending
from onetake.upkeep.amending import SecretThereError, amend
from onetake.writing import SecretLeftError


def load(path):
    return load_entry(path.read_bytes(), lambda name: None)


@pytest.fixture
def path(folder):
    """The file of an entry."""
    return folder.record()[0]


def test_only_the_provenance_changes(path):
    seen = load(path)
    assert amend(path, seen, lambda provenance: {**provenance, "note": 1})
    found = load(path)
    assert found.provenance == {**seen.provenance, "note": 1}
    assert (found.request, found.response, found.answer) == (seen.request, seen.response, seen.answer)


def test_many_changes_at_once_lose_none(path):
    seen = load(path)
    names = [f"note_{number}" for number in range(12)]

    def note(name):
        assert amend(path, seen, lambda provenance: {**provenance, name: "there"})

    threads = [Thread(target=note, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(names) <= load(path).provenance.keys()
    assert [found.name for found in path.parent.iterdir() if found.is_file()] == [path.name]


def test_an_entry_that_was_recorded_again_meanwhile_is_left_alone(folder, path, answer):
    seen = load(path)
    folder.edit_answer(path, answer, answer.replace("bug", "ok"))
    before = path.read_bytes()
    assert not amend(path, seen, lambda provenance: {**provenance, "note": 1})
    assert path.read_bytes() == before
    path.unlink()
    assert not amend(path, seen, lambda provenance: {**provenance, "note": 1})
    assert not path.exists()


def test_a_change_that_holds_a_secret_is_not_written(path):
    before = path.read_bytes()
    with pytest.raises(SecretLeftError) as caught:
        amend(path, load(path), lambda provenance: {**provenance, "note": "sk-proj-" + "Ab1" * 16})
    assert caught.type is SecretLeftError
    assert path.read_bytes() == before


def test_whose_secret_it_is_that_keeps_a_change_from_being_written_is_told(folder, path):
    folder.rewrite(path, test="tests/test_a.py::test_b[sk-proj-" + "Ab1" * 16 + "]")
    before = path.read_bytes()
    for change in (lambda provenance: {**provenance, "note": 1}, lambda provenance: provenance):
        with pytest.raises(SecretThereError):
            amend(path, load(path), change)
    assert path.read_bytes() == before
    assert amend(path, load(path), lambda provenance: {**provenance, "test": "tests/test_a.py::test_b"})


def test_a_file_keeps_the_name_that_somebody_gave_it(path):
    own = path.rename(path.with_name(f"mine-{path.name}"))
    assert amend(own, load(own), lambda provenance: {**provenance, "note": 1})
    assert [found.name for found in own.parent.glob("*.json")] == [own.name]
    assert load(own).provenance["note"] == 1


def test_a_file_whose_name_says_another_key_is_left_alone(path):
    own = path.rename(path.with_name("chat-0123456789abcdef.json"))
    before = own.read_bytes()
    assert not amend(own, load(own), lambda provenance: {**provenance, "note": 1})
    assert own.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="needs a timer that sends signals")
def test_looking_through_an_entry_is_given_up_after_a_while(folder, monkeypatch):
    (path,) = folder.record()
    entry, before = folder.load(path), path.read_bytes()

    def endless(provenance):
        while True:
            pass

    monkeypatch.setattr(amending, "SECONDS", 0.2)
    timer = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        with pytest.raises(FormatError, match=r"cannot be looked through: it took more than 0\.2 seconds"):
            amend(path, entry, endless)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
    assert path.read_bytes() == before

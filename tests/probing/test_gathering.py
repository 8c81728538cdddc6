"""Which stored entries a probe may choose from."""

from __future__ import annotations

import json
import signal

import pytest

from onetake.errors import StoreError, UsageError
from onetake.probing import gathering
from onetake.probing.gathering import find, gather
from onetake.upkeep.projects import Projects


@pytest.fixture
def gathered(chats):
    """Return a function that gathers: the entries that can be asked, by what the user said, and why others cannot."""

    def both(*words):
        found = list(gather(chats.root, Projects(chats.root, importing=False), words))
        asked = {json.loads(one.entry.request.body)["messages"][0]["content"]: one for one in found}
        return [said for said, one in asked.items() if not one.why_not], {
            said: one.why_not for said, one in asked.items() if one.why_not
        }

    return both


def test_every_readable_entry_is_found_with_what_a_sample_is_chosen_by(chats, gathered):
    chats("one", "two", folder="cassettes/a")
    chats("three", folder="cassettes/b", model="other-1")
    (chats.root / "cassettes/a/broken.json").write_text('{"onetake": 1, ')
    assert sorted(gathered()[0]) == ["one", "three", "two"]
    candidates = [one.candidate for one in gather(chats.root, Projects(chats.root, importing=False))]
    assert {(one.operation, one.model, one.contract) for one in candidates} == {
        ("chat", "m-1", ""),
        ("chat", "other-1", ""),
    }
    assert all(one.recorded_at is not None and one.path.is_file() and len(one.key) == 64 for one in candidates)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["model:other*"], ["three"]),
        (["model:m-?", "operation:chat"], ["one", "two"]),
        (["model:m-?", "model:other-1"], ["one", "three", "two"]),
        (["operation:messages"], []),
        (["contract:items"], []),
        (["cassettes/b"], ["three"]),
        (["cassettes/a/*"], ["one", "two"]),
        (["cassettes/a", "model:other-1"], []),
    ],
)
def test_what_counts_is_selected(chats, gathered, words, said):
    chats("one", "two", folder="cassettes/a")
    chats("three", folder="cassettes/b", model="other-1")
    assert sorted(gathered(*words)[0]) == said


def test_a_key_selects(chats, gathered):
    first, _ = chats("one", "two")
    assert gathered(first.stem[-16:])[0] == ["one"]


def test_an_empty_word_selects_nothing_and_is_refused(chats, gathered):
    with pytest.raises(UsageError, match="--select is empty"):
        gathered("")


def test_a_file_that_says_other_than_it_was_recorded_as_is_not_trusted(chats, gathered):
    changed, renamed, _ = chats("one", "two", "three")
    text = changed.read_text(encoding="utf-8")
    changed.write_text(text.replace(chats.provider.url, "https://evil.example"), encoding="utf-8")
    renamed.rename(renamed.with_name(renamed.name.replace(renamed.stem[-16:], "0" * 16)))
    asked, others = gathered()
    assert asked == ["three"]
    assert others["one"].startswith("its request does not give the stored key: ")
    assert others["two"].startswith("its name is not that of the entry in it")


def test_a_folder_that_cannot_be_listed_and_a_file_that_is_no_entry_are_said(tmp_path):
    with pytest.raises(StoreError):
        list(gather(tmp_path / "none", Projects(tmp_path, importing=False)))
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(UsageError, match=r"a\.json"):
        find(tmp_path / "a.json", Projects(tmp_path, importing=False))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="nothing limits a pattern here")
def test_a_file_whose_rules_run_for_ever_does_not_hold_up_the_others(chats, gathered, monkeypatch):
    monkeypatch.setattr(gathering, "SECONDS", 0.2)
    path, _ = chats("a" * 40, "two")
    text = path.read_text(encoding="utf-8")
    rules = '"rules": {"replace": [{"pattern": "(a+)+b", "with": "x"}]}'
    path.write_text(text.replace('"scrub": "s1"', f'"scrub": "s1", {rules}'), encoding="utf-8")
    timer = signal.setitimer(signal.ITIMER_REAL, 0)  # pytest's own
    try:
        asked, others = gathered()
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
    assert (asked, list(others)) == (["two"], ["a" * 40])
    assert others["a" * 40].startswith("it cannot be looked through (it took more than ")


def test_a_word_that_selects_by_what_there_is_not_is_refused_with_the_nearest(chats, gathered):
    (path,) = chats("one", folder="cassettes/modle:b")
    with pytest.raises(UsageError, match=r"--select modle:m-1: nothing is selected by 'modle'; did you mean 'model'\?"):
        gathered("modle:m-1")
    assert gathered(path.relative_to(chats.root).as_posix())[0] == ["one"]

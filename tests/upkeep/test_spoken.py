"""Which request of a cassette goes on from which."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from onetake.dialects.conversations import Words
from onetake.upkeep.spoken import Spoken, kept, slot_of


@pytest.fixture
def entries(folder, direct):
    """Three turns of a conversation, the second behind a call that is none of it, as they are kept in mind."""
    messages, calls = [], []
    for text in ("one", "two", "three"):
        messages = [*messages, {"role": "user", "content": f"say {text}"}]
        calls.append((direct.chat("", messages=messages), text))
        messages = [*messages, {"role": "assistant", "content": text}]
    paths = folder.record(*calls, ("say four", "one"), contract=None)
    found = [kept(path, folder.load(path)) for path in paths]
    return sorted(found, key=lambda one: (one.request.body.count(b'"role"'), b"four" in one.request.body))


def test_each_answer_that_is_repeated_is_found_with_those_that_repeat_it(entries):
    first, _, second, third = entries
    spoken = Spoken(entries)
    found = {one.words.text: {(holder.kept.path, place) for holder, place in one.holders} for one in spoken.repeated()}
    assert found == {"one": {(second.path, 1), (third.path, 1)}, "two": {(third.path, 2)}}
    assert all(one.is_given_by(spoken.asked[one.before]) for one in spoken.repeated())
    assert not any(one.is_given_by([third]) for one in spoken.repeated())
    assert first.words == {Words("one", frozenset())}


def test_without_the_earlier_request_nothing_is_repeated(entries):
    _, other, second, third = entries
    assert [one.words.text for one in Spoken([other, second, third]).repeated()] == ["two"]
    assert list(Spoken([other, third]).repeated()) == []


def test_what_says_no_moment_and_no_mark_has_none(entries):
    one = entries[0]._replace(provenance={"recorded_at": 5, "chained": "no"})
    assert (one.at, one.mark) == ("", "")
    times = ["2026-01-02T10:00:00+09:00", "2026-01-02T01:00:00.5", "2026-01-02T05:00:00Z"]
    at = [entries[0]._replace(provenance={"recorded_at": time}).at for time in times]
    assert at == sorted(at), "they compare as moments"
    assert entries[0]._replace(provenance={"recorded_at": "0001-01-01T00:00:00+10:00"}).at == ""
    one = entries[0]._replace(provenance={"chained": {"from": slot_of("ab", 1)}})
    assert one.mark == "ab-1"


def test_an_entry_of_an_unknown_dialect_takes_no_part(folder, entries):
    path = Path(entries[0].path)
    unknown = kept(path, replace(folder.load(path), dialect="other/9"))
    assert Spoken([unknown]).told == []

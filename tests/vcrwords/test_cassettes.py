"""A cassette in vcrpy's words, over an engine that answers."""

from __future__ import annotations

import json
import sys
import types
from dataclasses import replace

import pytest

from onetake.preparing import Preparing
from onetake.stores.memory import MemoryStore
from onetake.vcrwords import matching
from onetake.vcrwords.cassettes import VcrCassette
from onetake.vcrwords.requests import as_vcr

MATCHES = matching.compare_all([*matching.DEFAULT, "body"], {})


@pytest.fixture
def store(direct):
    """A store with the answers to `one` and to `two`."""
    recording = direct()
    for text in ("one", "two"):
        recording.call(text, f"to {text}")
    return recording.store


def _cassette(asking, preparing=None):
    return VcrCassette(asking.engine, preparing or Preparing(), MATCHES)


def _texts(cassette):
    return [json.loads(request.body)["messages"][0]["content"] for request in cassette.requests]


def test_what_it_holds_and_what_was_played_of_it(direct, store):
    asking = direct(store, "none")
    cassette = _cassette(asking)
    assert (sorted(_texts(cassette)), len(cassette), cassette.play_count) == (["one", "two"], 2, 0)
    place = _texts(cassette).index("two")
    asking.call("two")
    assert (cassette.play_counts, cassette.all_played) == ({place: 1}, False)
    asking.call("one")
    assert (cassette.play_count, cassette.all_played) == (2, True)
    cassette.rewind()
    assert (cassette.play_count, cassette.all_played) == (0, False)
    (_, response) = cassette.data[place]
    assert response == cassette.responses[place] == cassette.responses_of(as_vcr(direct.chat("two")))[0]
    assert (cassette.record_mode, cassette.write_protected, cassette.dirty) == ("none", True, False)
    with pytest.raises(LookupError, match="no answer"):
        cassette.responses_of(as_vcr(direct.chat("three")))


@pytest.mark.parametrize(
    ("mode", "repeats", "told"),
    [
        ("none", "sequence", [True, True, False, False]),
        ("none", "same", [True, True, True, True]),
        ("all", "same", [True, False, True, False]),
    ],
)
def test_whether_it_can_play_hangs_on_repeats_and_mode(direct, store, mode, repeats, told):
    asking = direct(store, mode, repeats=repeats)
    cassette, request = _cassette(asking), as_vcr(direct.chat("one"))
    before = [request in cassette, cassette.can_play_response_for(request)]
    asking.call("one", "anew")
    assert [*before, request in cassette, cassette.can_play_response_for(request)] == told
    assert as_vcr(direct.chat("three")) not in cassette


def test_what_is_recorded_comes_behind_what_was_there(direct, store):
    asking = direct(store)
    cassette = _cassette(asking)
    before = _texts(cassette)
    asking.call("a third", "to it")
    assert (_texts(cassette), cassette.dirty, cassette.write_protected) == ([*before, "a third"], True, False)


def test_what_an_import_brought_comes_in_its_order(direct, store):
    entries = direct(store).entries()[::-1]
    other = direct(MemoryStore("other"), "none")
    for position, entry in enumerate(entries):
        came = {"imported_from": {"path": "a.yaml", "position": position}}
        other.engine.cassette.add(replace(entry, provenance=came))
    assert [request.body for request in _cassette(other).requests] == [entry.request.body for entry in entries]


def test_a_request_is_compared_as_the_suite_prepares_it(direct, store):
    def as_one(request):
        return None if request.method == "GET" else direct.chat("one")

    cassette = _cassette(direct(store, "none"), Preparing(request=as_one))
    assert as_vcr(direct.chat("whatever")) in cassette
    assert as_vcr(replace(direct.chat("one"), method="GET")) not in cassette


def test_beside_blockbuster_it_is_read_at_once(direct, store, monkeypatch):
    monkeypatch.setitem(sys.modules, "blockbuster", types.ModuleType("blockbuster"))
    asking = direct(store, "none")
    cassette = _cassette(asking)
    monkeypatch.setattr(asking.engine.cassette, "all", None)
    assert sorted(_texts(cassette)) == ["one", "two"]

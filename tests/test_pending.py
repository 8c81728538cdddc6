"""Entries that wait for their test to pass, and what then becomes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onetake.cassette import Cassette
from onetake.errors import StoreError
from onetake.key import Keyer
from onetake.model import Entry, KeySpec, Request, Response
from onetake.stores.directory import DirectoryStore
from onetake.stores.memory import MemoryStore


def make(text="q", ordinal=0, verdict="good"):
    head = (("content-type", "application/json"),)
    request = Request("POST", "https://api.openai.com/v1/chat/completions", head, b'{"text": "%s"}' % text.encode())
    response = Response(200, head, b'{"choices": []}')
    spec = KeySpec("k1", "s1", Keyer().spec())
    return Entry(verdict, request, response, Keyer().key(request), ordinal, spec)


@pytest.fixture
def stores(tmp_path):
    """A cassette's store and its pending one."""
    return DirectoryStore(tmp_path / "c", "c"), DirectoryStore(tmp_path / "p", "p")


def told(*entries):
    """Return what children say they put aside."""
    return {(entry.key[:16], entry.ordinal) for entry in entries}


def stored(store):
    return {(entry.key, ordinal): entry.verdict for _, ordinal, entry in Cassette(store).all()}


def test_an_entry_waits_in_the_pending_store_until_it_is_promoted(tmp_path):
    store, pending = MemoryStore(), MemoryStore()
    cassette = Cassette(store, pending)
    cassette.add(make())
    assert (list(store.names()), len(pending.names())) == ([], 1)
    assert cassette.load(make().key, 0) == make()
    assert cassette.promote() == [make()]
    assert (len(store.names()), list(pending.names())) == (1, [])
    assert Cassette(store).load(make().key, 0) == make()


def test_a_promoted_entry_takes_the_next_ordinal_where_another_process_was_faster():
    store = MemoryStore()
    cassette = Cassette(store, MemoryStore())
    cassette.add(make())
    Cassette(store).add(replace(make(), verdict="left:3"))
    assert [entry.ordinal for entry in cassette.promote()] == [1]
    assert Cassette(store).load(make().key, 0).verdict == "left:3"


def test_a_replacement_that_waits_is_promoted_over_the_old_entry():
    store = MemoryStore()
    Cassette(store).add(make())
    cassette = Cassette(store, MemoryStore())
    cassette.put(replace(make(), verdict="left:3"))
    assert Cassette(store).load(make().key, 0).verdict == "good"
    cassette.promote()
    assert Cassette(store).load(make().key, 0).verdict == "left:3"


def test_what_a_child_put_aside_is_taken_over_and_goes_into_the_cassette(stores):
    parent, child = Cassette(*stores, resume=True), Cassette(*stores)
    assert parent.add(make("mine"))
    assert child.add(make("childs"))
    childs = told(make("childs"))
    assert parent.take_over(childs) == [make("childs")]
    assert parent.take_over(childs) == []
    assert {entry.key for entry in parent.promote()} == {make("mine").key, make("childs").key}
    assert len(stored(stores[0])) == 2
    assert stores[1].names() == []


def test_a_childs_entry_never_goes_over_one_that_another_session_stored_meanwhile(stores):
    parent, child = Cassette(*stores, resume=True), Cassette(*stores)
    child.add(make(verdict="left:1"))
    Cassette(stores[0]).add(make(verdict="left:2"))
    assert [entry.ordinal for entry in parent.take_over(told(make()))] == [1]
    parent.promote()
    assert stored(stores[0]) == {(make().key, 0): "left:2", (make().key, 1): "left:1"}


def test_a_childs_entry_goes_over_the_one_that_was_there_when_the_session_began(stores):
    Cassette(stores[0]).add(make(verdict="left:1"))
    parent, child = Cassette(*stores, resume=True), Cassette(*stores)
    child.put(make(verdict="left:2"))
    assert [entry.ordinal for entry in parent.take_over(told(make()))] == [0]
    parent.promote()
    assert stored(stores[0]) == {(make().key, 0): "left:2"}


def test_what_an_earlier_run_left_never_goes_over_one_that_was_stored_meanwhile(stores):
    Cassette(*stores, resume=True).add(make(verdict="left:1"))
    again = Cassette(*stores, resume=True)
    Cassette(stores[0]).add(make(verdict="left:2"))
    again.resume(again.left_over(make().key, 0))
    again.promote()
    assert stored(stores[0]) == {(make().key, 0): "left:2", (make().key, 1): "left:1"}


def test_what_no_child_put_into_the_same_place_waits_for_whoever_did(stores):
    parent, child, other = Cassette(*stores, resume=True), Cassette(*stores), Cassette(*stores, resume=True)
    other.add(make("others"))
    child.add(make("childs"))
    assert parent.take_over(told(make("childs"))) == parent.promote() == [make("childs")]
    assert other.promote() == [make("others")]


def test_a_childs_entry_may_stand_where_an_earlier_run_left_one(stores):
    Cassette(stores[0]).add(make(verdict="left:1"))
    Cassette(*stores).put(make(verdict="left:2"))
    parent, child = Cassette(*stores, resume=True), Cassette(*stores)
    child.put(make(verdict="left:3"))
    assert parent.take_over(told(make())) == [make(verdict="left:3")]
    parent.promote()
    assert stored(stores[0]) == {(make().key, 0): "left:3"}


def test_two_children_and_what_was_left_over_get_numbers_of_their_own(stores):
    Cassette(*stores, resume=True).add(make(verdict="left:1"))
    parent, first, second = Cassette(*stores, resume=True), Cassette(*stores), Cassette(*stores)
    assert not first.add(make(verdict="left:2"))  # what was left is in the way
    assert first.add(make(ordinal=1, verdict="left:2"))
    assert second.add(make(ordinal=2, verdict="left:3"))
    assert [entry.ordinal for entry in parent.take_over(told(make(ordinal=1), make(ordinal=2)))] == [0, 1]
    parent.promote()
    assert stored(stores[0]) == {(make().key, 0): "left:2", (make().key, 1): "left:3"}


def test_a_childs_entry_that_cannot_be_read_is_named_and_everything_still_waits(stores, tmp_path):
    parent, child = Cassette(*stores, resume=True), Cassette(*stores)
    child.add(make("one")), child.add(make("two"))
    (file,) = (tmp_path / "p").glob(f"*{make('one').key[:16]}*")
    whole = file.read_bytes()
    file.write_bytes(whole[:200])
    with pytest.raises(StoreError, match=f"p/{file.name}: waits for its test and cannot be read: torn"):
        parent.take_over(told(make("one"), make("two")))
    assert (parent.promote(), len(stores[1].names())) == ([], 2)
    file.write_bytes(whole)
    assert len(parent.take_over(told(make("one"), make("two")))) == 2


def test_what_an_earlier_run_left_and_cannot_be_read_answers_nothing(stores, tmp_path):
    Cassette(*stores, resume=True).add(make())
    (file,) = (tmp_path / "p").glob("*.json")
    file.write_bytes(b"{")
    again = Cassette(*stores, resume=True)
    assert again.left_over(make().key, 0) is None
    assert again.add(make())
    assert again.promote() == [make()]

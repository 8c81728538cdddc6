import gzip
from dataclasses import replace
from random import Random

import pytest

from onetake.cassette import Cassette, Damaged
from onetake.key import Keyer
from onetake.model import Entry, KeySpec, Request, Response
from onetake.stores.directory import DirectoryStore
from onetake.stores.memory import MemoryStore
from onetake.writing import SecretLeftError

SECRET = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2


def make(text="q", ordinal=0, keyer=None, url="https://api.openai.com/v1/chat/completions"):
    keyer = keyer or Keyer()
    body = b'{"model": "gpt-5", "text": "' + text.encode() + b'"}'
    request = Request("POST", url, (("content-type", "application/json"),), body)
    response = Response(200, (("content-type", "application/json"),), b'{"choices": []}')
    spec = KeySpec("k1", "s1", keyer.spec())
    return Entry("good", request, response, keyer.key(request), ordinal, spec)


def test_an_entry_is_found_by_key_and_ordinal():
    cassette, entry = Cassette(MemoryStore()), make()
    assert cassette.add(entry)
    assert (cassette.load(entry.key, 0), cassette.load(entry.key, 1), cassette.load("0" * 64, 0)) == (entry, None, None)
    assert (cassette.ordinals(entry.key), cassette.ordinals("0" * 64)) == ({0}, set())


def test_an_entry_is_never_added_over_another_one():
    cassette = Cassette(MemoryStore())
    assert cassette.add(make())
    assert not cassette.add(replace(make(), verdict="left:3"))
    assert cassette.load(make().key, 0).verdict == "good"


def test_put_replaces():
    cassette = Cassette(MemoryStore())
    cassette.add(make())
    cassette.put(replace(make(), verdict="left:3"))
    assert cassette.load(make().key, 0).verdict == "left:3"


def test_what_another_process_adds_is_seen(tmp_path):
    ours, theirs = Cassette(DirectoryStore(tmp_path)), Cassette(DirectoryStore(tmp_path))
    assert theirs.add(make())
    assert ours.ordinals(make().key) == {0}
    assert theirs.add(make(ordinal=1))
    assert not ours.add(make(ordinal=1))


def test_whether_it_was_empty_is_settled_when_it_is_opened():
    store = MemoryStore()
    first = Cassette(store)
    first.add(make())
    assert (first.was_empty, Cassette(store).was_empty) == (True, False)


def test_a_renamed_decoration_is_still_found(tmp_path):
    Cassette(DirectoryStore(tmp_path)).add(make())
    (file,) = tmp_path.glob("*.json")
    file.rename(tmp_path / f"my-own-words-{file.name.rpartition('-')[2]}")
    assert Cassette(DirectoryStore(tmp_path)).load(make().key, 0) == make()


def test_a_damaged_entry_is_named_and_the_others_still_load(tmp_path):
    cassette = Cassette(DirectoryStore(tmp_path))
    cassette.add(make("one")), cassette.add(make("two"))
    (file,) = tmp_path.glob(f"*{make('one').key[:16]}*")
    file.write_bytes(file.read_bytes()[:-20])
    found = [entry for _, _, entry in Cassette(DirectoryStore(tmp_path)).all()]
    (damaged,) = [entry for entry in found if isinstance(entry, Damaged)]
    assert file.name in damaged.place
    assert [entry for entry in found if isinstance(entry, Entry)] == [make("two")]


def test_br_095_nothing_that_still_holds_a_secret_is_written_by_any_way(tmp_path):
    bad, pending = make(SECRET), DirectoryStore(tmp_path / "p")
    cassette = Cassette(DirectoryStore(tmp_path / "c"), pending)
    for write in (cassette.add, cassette.put, Cassette(DirectoryStore(tmp_path / "c")).add):
        with pytest.raises(SecretLeftError) as caught:
            write(bad)
        assert SECRET[8:20] not in str(caught.value)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("size", [0, 4000], ids=["in the file", "in a sidecar"])
def test_a_secret_inside_a_compressed_body_is_not_written(size):
    store = MemoryStore()
    body = gzip.compress(SECRET.encode() + Random(7).randbytes(size))
    with pytest.raises(SecretLeftError):
        Cassette(store).add(replace(make(), response=Response(200, (), body)))
    assert (list(store.names()), list(store.side_names())) == ([], [])


def test_br_094_requests_whose_names_are_alike_are_two_entries(tmp_path):
    cassette = Cassette(DirectoryStore(tmp_path))
    for text in ("a b", "a-b", "A B"):
        assert cassette.add(make(text))
    assert len(list(tmp_path.glob("chat-gpt-5-*.json"))) == 3
    assert [cassette.load(make(text).key, 0) for text in ("a b", "a-b", "A B")] == [
        make(t) for t in ("a b", "a-b", "A B")
    ]

"""Entries are written in recorded order, never over another, and a second time not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onetake.cassette import Cassette
from onetake.imported import imported_from
from onetake.importers import writing
from onetake.importers.judging import Outcome, judge
from onetake.importers.writing import Target
from onetake.key import Keyer
from onetake.scrub import Scrubber
from onetake.scrub.scanning import Finding
from onetake.settings import KeyRules
from onetake.stores.directory import DirectoryStore
from onetake.writing import SecretLeftError

PATH = "a.yaml"


@pytest.fixture
def judged(interaction, read_one, rules):
    """Return a function that judges a chat call, of a position in a file."""

    def make(asked="Hello?", said="Good day.", *, position=0, path=PATH, keep=(), status=200, by=rules, marks=()):
        one = replace(read_one(interaction(asked, said, status=status)), position=position)
        request = replace(one.request, headers=(*one.request.headers, *marks))
        return judge(replace(one, request=request), path, replace(by, keep=keep))

    return make


@pytest.fixture
def target(tmp_path):
    """Return a function that opens the cassette that is imported into, each time anew."""
    return lambda writes=True: Target(tmp_path / "cassette", "cassette", (), writes=writes)


@pytest.fixture
def held(tmp_path):
    """Return a function that reads what the cassette holds: by key's first digits and ordinal, what was said."""

    def read():
        cassette = Cassette(DirectoryStore(tmp_path / "cassette"))
        return {(key[:16], ordinal): entry.answer.choices[0].text for key, ordinal, entry in cassette.all()}

    return read


def test_identical_requests_are_ordinals_in_recorded_order(judged, target, held):
    calls = [judged(said=said, position=number) for number, said in enumerate(["a", "b", "c"])]
    other = judged("Another?", "d", position=3)
    into = target()
    placed = [into.place(one) for one in (*calls, other)]
    key = calls[0].entry.key[:16]
    assert held() == {(key, 0): "a", (key, 1): "b", (key, 2): "c", (other.entry.key[:16], 0): "d"}
    assert [one.entry for one in placed[:2]] == [f"cassette/chat-gpt-5-{key}.json", f"cassette/chat-gpt-5-{key}-1.json"]
    assert not any(one.was_there for one in placed)


def test_importing_again_changes_nothing(judged, target, held, tmp_path):
    calls = [judged(said=said, position=number) for number, said in enumerate(["a", "b"])]
    first = target()
    names = [first.place(one).entry for one in calls]
    before = {path: path.read_bytes() for path in (tmp_path / "cassette").iterdir()}
    again = target()
    placed = [again.place(one) for one in calls]
    assert [(one.entry, one.was_there, one.judged.outcome) for one in placed] == [
        (name, True, Outcome.IMPORTED) for name in names
    ]
    assert {path: path.read_bytes() for path in (tmp_path / "cassette").iterdir()} == before


def test_what_was_removed_comes_back_under_its_ordinal(judged, target, held, tmp_path):
    calls = [judged(said=said, position=number) for number, said in enumerate(["a", "b", "c"])]
    first = target()
    names = [first.place(one).entry for one in calls]
    (tmp_path / names[1]).unlink()
    again = target()
    assert [again.place(one).was_there for one in calls] == [True, False, True]
    assert sorted(held().values()) == ["a", "b", "c"]


def test_a_dry_run_says_the_same_and_writes_nothing(judged, target, tmp_path):
    into = target(writes=False)
    placed = [into.place(judged(position=number)) for number in range(2)]
    assert [one.entry.rpartition("-")[2] for one in placed] == [f"{placed[0].judged.entry.key[:16]}.json", "1.json"]
    assert not (tmp_path / "cassette").exists()


def test_what_is_not_imported_has_no_place(judged, target):
    placed = target().place(judged(status=401))
    assert (placed.judged.outcome, placed.entry, placed.was_there) == (Outcome.WOULD_NOT_RECORD, "", False)


def test_another_answer_in_its_place_is_never_written_over(judged, target, held, tmp_path):
    recorded = judged(said="recorded").entry
    recorded = replace(recorded, provenance={"recorder": "onetake"})
    assert Cassette(DirectoryStore(tmp_path / "cassette")).add(recorded)
    placed = target().place(judged(said="imported"))
    assert placed.judged.outcome is Outcome.REFUSED
    assert placed.judged.reason.startswith("another answer to the same request lies in its place: cassette/")
    assert held() == {(recorded.key[:16], 0): "recorded"}


def test_the_same_answer_in_its_place_is_there(judged, target, tmp_path):
    recorded = replace(judged(said="same").entry, provenance={"recorder": "onetake"})
    assert Cassette(DirectoryStore(tmp_path / "cassette")).add(recorded)
    assert target().place(judged(said="same")).was_there


def test_what_comes_before_what_was_imported_without_it_is_refused(judged, target, held):
    refused, good = judged(status=401, position=0), judged(said="good", position=1)
    first = target()
    assert first.place(refused).judged.outcome is Outcome.WOULD_NOT_RECORD
    assert not first.place(good).was_there
    again = target()
    placed = again.place(judged(status=401, position=0, keep=("status:4xx",)))
    assert placed.judged.outcome is Outcome.REFUSED
    assert "remove the cassette's entries, and import all of them again" in placed.judged.reason
    assert again.place(good).was_there
    assert list(held().values()) == ["good"]


def test_a_source_that_was_changed_since_is_refused(judged, target, held):
    target().place(judged(said="before"))
    placed = target().place(judged(said="after"))
    assert placed.judged.outcome is Outcome.REFUSED
    assert "was imported before with other content: remove cassette/" in placed.judged.reason
    assert list(held().values()) == ["before"]


def test_what_has_another_key_by_new_rules_takes_the_place_of_what_was_imported(judged, target, held, rules):
    by_header = KeyRules(headers=("x-user",))
    new = replace(rules, keyer=Keyer(by_header), scrubber=Scrubber(key_headers=by_header.headers))
    calls = [{"said": said, "position": number, "marks": (("x-user", said),)} for number, said in enumerate("ab")]
    first, dry = target(), target(writes=False)
    before = [first.place(judged(**call)).entry for call in calls]
    told = [dry.place(judged(**call, by=new)).entry for call in calls]
    assert len(held()) == 2
    for by in (new, rules, new):
        into = target()
        placed = [into.place(judged(**call, by=by)) for call in calls]
        assert [(one.judged.outcome, one.was_there) for one in placed] == [(Outcome.IMPORTED, False)] * 2
        assert [one.entry for one in placed] == (told if by is new else before)
        assert sorted(held().values()) == ["a", "b"]
    assert [ordinal for _, ordinal in held()] == [0, 0]


def test_another_request_at_an_imported_position_is_refused(judged, target, held):
    target().place(judged("before", "one"))
    placed = target().place(judged("edited", "two"))
    assert placed.judged.outcome is Outcome.REFUSED
    assert placed.judged.reason.startswith("it was imported before as another request, in ")
    assert list(held().values()) == ["one"]


def test_what_another_process_imported_meanwhile_is_there(judged, target, held):
    ours, theirs = target(), target()
    one, other = judged(said="a"), judged(said="b", position=1)
    assert ours.find(one) is None  # it has looked, and found nothing
    for each in (one, other):
        theirs.place(each)
    placed = [ours.place(each) for each in (one, other)]
    assert [(each.judged.outcome, each.was_there) for each in placed] == [(Outcome.IMPORTED, True)] * 2
    late = target()
    late.find(judged("Another?"))
    target().place(judged("Another?", "theirs", path="b.yaml"))
    refused = late.place(judged("Another?", "ours", position=2))
    assert refused.judged.reason.startswith("another answer to the same request lies in its place")


def test_the_verdict_of_what_is_there_stays(judged, target):
    target().place(judged(status=401, keep=("status:4xx",)))
    again = judged(status=401, keep=("status:401",))
    again = replace(again, reason="kept:other", entry=replace(again.entry, verdict="kept:other"))
    placed = target().place(again)
    assert (placed.was_there, placed.judged.reason) == (True, "kept:status:401")


def test_of_many_alike_each_stored_one_is_looked_at_once(judged, target, monkeypatch):
    calls = [judged(position=number) for number in range(20)]
    first = target()
    for one in calls:
        first.place(one)
    asked = []
    monkeypatch.setattr(writing, "imported_from", lambda entry: asked.append(entry) or imported_from(entry))
    again = target()
    assert all(again.place(one).was_there for one in calls)
    assert len(asked) == 2 * len(calls)


def test_an_entry_that_cannot_be_read_stays(judged, target, tmp_path):
    name = target().place(judged()).entry
    (tmp_path / name).write_bytes(b"{")
    placed = target().place(judged())
    assert placed.judged.reason.startswith("an entry that cannot be read lies in its place: cassette/")
    assert (tmp_path / name).read_bytes() == b"{"


@pytest.mark.parametrize("writes", [True, False])
def test_what_keeps_a_secret_is_refused_and_the_secret_not_told(judged, target, tmp_path, monkeypatch, writes):
    secret = "sk-proj-" + "Ab3dEf6hIj" * 5

    def look(*_, **__):
        raise SecretLeftError([Finding("openai key", f"$.{secret}", None), Finding("openai key", "$.a", None)])

    monkeypatch.setattr("onetake.cassette.write", look)
    monkeypatch.setattr(writing, "looked_over", look)
    placed = target(writes).place(judged())
    assert placed.judged.outcome is Outcome.REFUSED
    assert placed.judged.reason == "it keeps a secret that cannot be scrubbed: openai key, openai key at $.a"
    assert not list(tmp_path.glob("cassette/*.json"))


def test_an_entry_that_would_be_too_large_is_refused(judged, target, monkeypatch):
    monkeypatch.setattr("onetake.format.LARGEST", 100)
    placed = target().place(judged())
    assert (placed.judged.outcome, placed.entry) == (Outcome.REFUSED, "")
    assert "more than the 100 that can be read again" in placed.judged.reason


def test_the_schema_of_a_contract_lies_beside(interaction, read_one, rules, tmp_path):
    from onetake.contract import Contract

    contract = Contract({"type": "object", "properties": {"a": {"type": "integer"}}}, name="a", schema_version=1)
    judged = judge(read_one(interaction(said='{"a": 1}')), PATH, replace(rules, contracts=(contract,)))
    Target(tmp_path / "c", "c", (contract,), writes=True).place(judged)
    assert (tmp_path / f"c/_schemas/{contract.digest}.json").is_file()

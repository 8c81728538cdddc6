"""Entries under other rules than those that they were keyed by: what becomes of a whole cassette."""

from __future__ import annotations

import json

import pytest

from onetake.cassette import Cassette
from onetake.errors import InteractionNotFound
from onetake.format import load_entry
from onetake.key import Keyer
from onetake.settings import key_rules, load_settings
from onetake.stores.directory import DirectoryStore
from onetake.upkeep.rekey.found import Choices
from onetake.upkeep.rekey.rekeying import rekey

TRACE = '[key]\nignore = ["$.trace"]\n'


@pytest.fixture
def asked(folder):
    """Return a function that asks a cassette, under the settings of now, in mode none: what each call is answered."""

    def ask(*requests, cassette="cassettes/test_a/test_b", **policy):
        settings = load_settings(folder.root)
        policy = {"keyer": Keyer(settings.key), **policy}
        engine = folder.direct(DirectoryStore(folder.root / cassette), "none", root=folder.root, **policy)
        return [engine.call(request) for request in requests]

    return ask


def entries(folder, cassette="cassettes/test_a/test_b"):
    """Every entry of a cassette."""
    return [entry for _, _, entry in Cassette(DirectoryStore(folder.root / cassette)).all()]


def said(folder):
    """What each entry answers, by the trace in its request and its ordinal."""
    return {
        (json.loads(entry.request.body).get("trace"), entry.ordinal): entry.answer.choices[0].text
        for entry in entries(folder)
    }


def traced(folder, trace, prompt="Hello", **fields):
    return folder.direct.chat(prompt, trace=trace, **fields)


def test_an_entry_is_found_again_under_a_new_rule(folder, asked):
    (old,) = folder.record((traced(folder, 1), "Good day."), contract=None)
    before = old.read_bytes()
    folder.settings(top=TRACE)
    found = rekey(folder.root)
    (move,) = found.moves
    assert (move.path, old.read_bytes()) == (old, before)
    assert (found.entries, found.collisions, found.left) == (1, [], [])
    done = rekey(folder.root, writes=True)
    assert done.moves == found.moves
    assert not old.exists()
    assert move.new_path.is_file()
    assert asked(traced(folder, 2)) == ["Good day."]
    assert folder.check() == []
    assert rekey(folder.root, writes=True).moves == []


def test_what_changes_in_the_file_is_the_key_and_its_rules(folder):
    (old,) = folder.record((traced(folder, 1), "Good day."), contract=None)
    before = old.read_text().splitlines()
    folder.settings(top=TRACE)
    (move,) = rekey(folder.root, writes=True).moves
    after = move.new_path.read_text().splitlines()
    changed = [line for line in after if line not in before]
    assert [line.split(":")[0].strip() for line in changed] == ['"key_spec"', '"key"']


def test_a_rule_that_touches_nothing_moves_nothing(folder):
    (path,) = folder.record(contract=None)
    before = path.read_bytes()
    folder.settings(top=TRACE)
    assert rekey(folder.root, writes=True).moves == []
    assert path.read_bytes() == before


def test_the_answers_of_one_key_keep_their_ordinals(folder, asked):
    same = [(traced(folder, 1), text) for text in ("one", "two", "three")]
    engine_paths = folder.record(*same, contract=None)
    assert len(engine_paths) == 3
    folder.settings(top=TRACE)
    rekey(folder.root, writes=True)
    assert asked(*[traced(folder, 9)] * 3) == ["one", "two", "three"]


def test_repeats_of_one_answer_become_ordinals(folder, asked):
    folder.record((traced(folder, 1), "same"), (traced(folder, 2), "same"), contract=None)
    folder.settings(top=TRACE)
    found = rekey(folder.root, writes=True)
    assert sorted(move.new_ordinal for move in found.moves) == [0, 1]
    assert asked(traced(folder, 5), traced(folder, 6)) == ["same", "same"]


def record_at(folder, trace, text, at, **options):
    """Record one call, and set back the time of its entry."""
    known = set((folder.root / "cassettes").rglob("*.json"))
    paths = folder.record((traced(folder, trace), text), contract=None, **options)
    (path,) = [path for path in paths if path not in known]
    entry = load_entry(path.read_bytes(), lambda name: None)
    folder.edit(path, entry.provenance["recorded_at"], at)
    return path


def test_other_answers_follow_in_the_order_in_which_they_were_recorded(folder, asked):
    for trace, second in ((3, "02"), (1, "03"), (2, "01")):
        record_at(folder, trace, f"at {second}", f"2026-03-01T10:00:{second}Z")
    folder.settings(top=TRACE)
    assert len(rekey(folder.root, writes=True).moves) == 3
    assert asked(*[traced(folder, 9)] * 3) == ["at 01", "at 02", "at 03"]


def test_where_the_order_is_not_known_the_user_says_it(folder, asked):
    at = "2026-03-01T10:00:00Z"
    one, two = record_at(folder, 1, "one", at), record_at(folder, 2, "two", at)
    folder.settings(top=TRACE)
    found = rekey(folder.root, writes=True)
    assert found.moves == []
    (collision,) = found.collisions
    assert set(collision.met.paths) == {one, two}
    assert "it is not known which was recorded first" in collision.why
    assert "--first " in collision.mend
    assert one.is_file() and two.is_file()
    chosen = Choices(first=(two.resolve(),))
    assert len(rekey(folder.root, chosen, writes=True).moves) == 2
    assert asked(*[traced(folder, 9)] * 2) == ["two", "one"]


@pytest.mark.parametrize(("top", "test"), [('repeats = "same"\n', "tests/test_a.py::test_b"), ("", "")])
def test_other_answers_are_left_where_one_is_meant_for_all(folder, top, test):
    record_at(folder, 1, "one", "2026-03-01T10:00:01Z", test=test)
    record_at(folder, 2, "two", "2026-03-01T10:00:02Z", test=test)
    folder.settings(top=top + TRACE)
    found = rekey(folder.root, writes=True)
    assert found.moves == []
    assert [one.why for one in found.collisions] == [
        "they become one request, for which one answer is meant, and their answers differ"
    ]


def test_another_answer_that_has_the_key_already_is_not_touched(folder):
    (old,) = folder.record((traced(folder, 1), "old"), contract=None)
    folder.settings(top=TRACE)
    new = next(path for path in folder.record((traced(folder, 2), "new"), contract=None) if path != old)
    before = old.read_bytes(), new.read_bytes()
    found = rekey(folder.root, writes=True)
    assert found.moves == []
    assert [(one.met.paths, one.why) for one in found.collisions] == [
        ((new, old), "another answer is stored under the new key")
    ]
    assert (old.read_bytes(), new.read_bytes()) == before


def test_a_repeat_of_what_has_the_key_already_comes_behind_it(folder):
    (old,) = folder.record((traced(folder, 1), "same"), contract=None)
    folder.settings(top=TRACE)
    folder.record((traced(folder, 2), "same"), contract=None)
    (move,) = rekey(folder.root, writes=True).moves
    assert (move.path, move.new_ordinal) == (old, 1)
    assert said(folder) == {(2, 0): "same", (1, 1): "same"}


def test_what_cannot_be_read_and_has_the_place_is_not_written_over(folder):
    (old,) = folder.record((traced(folder, 1), "Good day."), contract=None)
    folder.settings(top=TRACE)
    (move,) = rekey(folder.root).moves
    move.new_path.write_bytes(b"{")
    found = rekey(folder.root, writes=True)
    assert (found.moves, [one.path for one in found.left]) == ([], [move.new_path])
    assert "cannot be read as an entry of it" in found.collisions[0].why
    assert old.is_file()
    assert move.new_path.read_bytes() == b"{"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"onetake": 1', '"onetake": 99', "unreadable entry: written by a newer onetake"),
        ("Hello", "Hullo", "its request does not give the stored key"),
        ('"recipe": "k1"', '"recipe": "k9"', "keyed under recipe 'k9'"),
        ('"ordinal": 0', '"ordinal": 3', "its name is not that of the entry in it"),
    ],
)
def test_damaged_entries_are_named_and_left_and_the_others_move(folder, old, new, why):
    damaged, whole = folder.record((traced(folder, 1), "a"), (traced(folder, 2, "Bye"), "b"), contract=None)
    if old == "Hello" and "Hello" not in damaged.read_text():
        damaged, whole = whole, damaged
    folder.edit(damaged, old, new)
    before = damaged.read_bytes()
    folder.settings(top=TRACE)
    found = rekey(folder.root, writes=True)
    assert [move.path for move in found.moves] == [whole]
    assert [one.path for one in found.left] == [damaged]
    assert found.left[0].why.startswith(why)
    assert damaged.read_bytes() == before


def test_the_answers_of_one_key_that_come_apart_begin_at_0_again(folder, asked):
    folder.settings(top=TRACE)
    folder.record(*[(traced(folder, trace), f"to {trace}") for trace in (1, 2, 1, 2)], contract=None)
    assert sorted(entry.ordinal for entry in entries(folder)) == [0, 1, 2, 3]
    folder.settings()
    dropped = Choices(dropped=key_rules({"ignore": ["$.trace"]}))
    assert len(rekey(folder.root, dropped, writes=True).moves) == 4
    assert said(folder) == {(1, 0): "to 1", (1, 1): "to 1", (2, 0): "to 2", (2, 1): "to 2"}
    assert asked(*[traced(folder, trace) for trace in (2, 1, 1, 2)]) == ["to 2", "to 1", "to 1", "to 2"]
    assert folder.check() == []


def test_an_answer_that_cannot_be_read_leaves_its_gap(folder):
    folder.record(*[(traced(folder, 1), text) for text in ("one", "two")], contract=None)
    torn = next(path for path in (folder.root / "cassettes").rglob("*.json") if not path.stem.endswith("-1"))
    torn.write_bytes(torn.read_bytes()[:-20])
    folder.settings(top=TRACE)
    (move,) = rekey(folder.root, writes=True).moves
    assert move.new_ordinal == 1


# Scrub rules of today

BADGE = '[scrub]\npatterns = ["badge-[0-9]{6}"]\n'


def test_what_is_a_secret_today_is_scrubbed_in_request_response_and_answer(folder, asked):
    (path,) = folder.record(("I am badge-123456", "Hello, badge-123456."), contract=None)
    folder.settings(top=BADGE)
    assert "secret" in folder.codes()
    (move,) = rekey(folder.root, writes=True).moves
    assert move.spans == ("request.body$.messages[0].content", "response.body$.choices[0].message.content")
    text = move.new_path.read_text()
    assert "badge-123456" not in text
    (entry,) = entries(folder)
    assert entry.answer.choices[0].text == "Hello, [secret 1]."
    assert entry.scrubbed == move.spans
    assert not path.exists()
    assert folder.check() == []


def test_an_entry_that_keeps_its_key_is_scrubbed_where_it_is(folder):
    (path,) = folder.record(("Who am I?", "You are badge-123456."), contract=None)
    folder.settings(top=BADGE)
    (move,) = rekey(folder.root, writes=True).moves
    assert (move.path, move.new_path, move.key) == (path, path, move.new_key)
    assert "badge-123456" not in path.read_text()
    assert folder.check() == []
    assert rekey(folder.root, writes=True).moves == []


def test_a_sidecar_with_what_is_a_secret_today_goes(folder, streamed):
    request, response = streamed
    body = response.body.replace(b"bug", b"badge-123456")
    folder.record((request, type(response)(200, response.headers, body)), contract=None)
    (old,) = (folder.root / "cassettes").rglob("*.sse")
    folder.settings(top=BADGE)
    assert len(rekey(folder.root, writes=True).moves) == 1
    (new,) = (folder.root / "cassettes").rglob("*.sse")
    assert old != new
    assert b"badge-123456" not in new.read_bytes()
    assert folder.check() == []


def test_a_sidecar_stays_while_another_entry_cannot_be_read(folder, streamed):
    request, response = streamed
    body = response.body.replace(b"bug", b"badge-123456")
    (first,) = folder.record((request, type(response)(200, response.headers, body)), contract=None)
    torn = next(path for path in folder.record(("Hi", "ho"), contract=None) if path != first)
    torn.write_bytes(torn.read_bytes()[:-20])
    folder.settings(top=BADGE)
    rekey(folder.root, writes=True)
    assert len(list((folder.root / "cassettes").rglob("*.sse"))) == 2
    torn.unlink()
    rekey(folder.root, writes=True)
    assert len(list((folder.root / "cassettes").rglob("*.sse"))) == 1


def test_two_requests_that_differ_in_what_is_a_secret_today_become_one(folder):
    folder.record(("I am badge-111111", "Hello."), ("I am badge-222222", "Hello."), contract=None)
    folder.settings(top=BADGE)
    assert sorted(move.new_ordinal for move in rekey(folder.root, writes=True).moves) == [0, 1]
    assert folder.check() == []


# Whole trees


def test_each_cassette_counts_under_the_settings_nearest_above_it(folder, direct):
    folder.record((traced(folder, 1), "a"), contract=None, folder="one/cassettes/x")
    folder.record((traced(folder, 1), "b"), contract=None, folder="two/cassettes/x")
    (folder.root / "two/onetake.toml").write_text(TRACE)
    (move,) = rekey(folder.root).moves
    assert move.path.relative_to(folder.root).parts[0] == "two"


def test_links_are_not_followed(folder):
    folder.record((traced(folder, 1), "a"), contract=None)
    (folder.root / "cassettes/link").symlink_to(folder.root / "cassettes/test_a", target_is_directory=True)
    folder.settings(top=TRACE)
    assert len(rekey(folder.root).moves) == 1


def test_other_files_in_the_folder_are_nobodys_business(folder):
    (path,) = folder.record((traced(folder, 1), "a"), contract=None)
    other = path.with_name("package.json")
    other.write_text("{}")
    folder.settings(top=TRACE)
    found = rekey(folder.root, writes=True)
    assert (found.entries, found.left, other.read_text()) == (1, [], "{}")


# Before it is done


def test_a_miss_says_that_the_entry_is_there_under_other_rules(folder, asked):
    (old,) = folder.record((traced(folder, 1), "Good day."), contract=None)
    folder.record((traced(folder, 2, "Hello!"), "Good night."), contract=None)
    folder.settings(top=TRACE)
    with pytest.raises(InteractionNotFound) as caught:
        asked(traced(folder, 2))
    said = str(caught.value)
    assert old.name in said
    assert "it is this request under today's key rules: `onetake rekey` gives it this key" in said
    free, paid, *_ = caught.value.args[4].split("\n")
    assert (
        free
        == "onetake rekey (asks nobody: it shows which entries get their keys of today, and --yes gives them these)"
    )
    assert "new_episodes" in paid
    assert caught.value.recordable is False, "the run's summary sends nobody to pay for it"
    rekey(folder.root, writes=True)
    with pytest.raises(InteractionNotFound) as caught:
        asked(traced(folder, 2, "Hello?"))
    assert "onetake rekey" not in str(caught.value)


def test_a_secret_that_cannot_be_scrubbed_is_told_before_anything_is_written(folder):
    """What a hand put where no scrub reaches, as in its verdict, the last look finds."""
    (path,) = folder.record((traced(folder, 1), "Good day."), contract=None)
    folder.edit(path, '"verdict": "good"', '"verdict": "kept:sk-proj-' + "a1B2c3D4e5F6g7H8" * 3 + '"')
    folder.settings(top=TRACE)
    for writes in (False, True):
        found = rekey(folder.root, writes=writes)
        assert (found.moves, [one.path for one in found.left]) == ([], [path])
        assert found.left[0].why == "it holds a secret that cannot be scrubbed"
    assert path.is_file()


HOSTILE = {
    "a time that is no text": ("recorded_at", 7, True),
    "a time beyond all times": ("recorded_at", "9999-99-99T99:99:99Z", True),
    "a test that is no text": ("test", ["x"], True),
    "a commit that is an option": ("commit", "--output=x", True),
    "what nests deep": ("note", json.loads("[" * 900 + "]" * 900), None),
    "a lone surrogate": ("test", "\ud800", None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_was_made_to_do_harm_is_keyed_anew_or_named(folder, name):
    field, value, moves = HOSTILE[name]
    (path,) = folder.record((traced(folder, 1), "Good day."), contract=None)
    folder.edit(path, '"provenance": {', f'"provenance": {{\n    "{field}x": 0,')
    text = path.read_text()
    said = json.loads(text)["provenance"].get(field)
    if said is None:
        folder.edit(path, f'"{field}x": 0', f'"{field}": {json.dumps(value)}')
    else:
        folder.edit(path, f'"{field}": {json.dumps(said)}', f'"{field}": {json.dumps(value)}')
    folder.settings(top=TRACE)
    found = rekey(folder.root, writes=True)
    assert len(found.moves) + len(found.left) == 1
    assert moves is None or bool(found.moves) is moves
    assert rekey(folder.root).moves == []

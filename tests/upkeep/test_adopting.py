"""Entries for what a run missed, made of stored ones, where a small difference explains it."""

from __future__ import annotations

import json
import os
import re
import threading
from dataclasses import replace

import pytest

from onetake.cassette_files import read_entry
from onetake.decide import Found
from onetake.errors import InteractionNotFound
from onetake.key import Keyer
from onetake.lookup import Looked
from onetake.missed import MissBook, missed_in
from onetake.model import Mode
from onetake.scrub import Scrubber
from onetake.steps import Asked, Policy
from onetake.stores.directory import DirectoryStore
from onetake.stores.naming import parse_name
from onetake.upkeep.adopting import adopt, plan
from onetake.usage import CassetteUsage, UsageRun, write_run

SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """No machine goes down while these tests write."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def upgraded(folder, direct, answer):
    """Return a function that records prompts, and then misses all of them with fields added."""

    def run(*prompts, more=None, old=None, **options):
        folder.record(*((direct.chat(text, **(old or {})), answer) for text in prompts), **options)
        options.pop("keep", None)
        folder.miss(*(direct.chat(text, **(old or {}), **(more or {"store": False})) for text in prompts), **options)
        return plan(folder.root)

    return run


def shown(found):
    return [(group.reason, len(group.misses), len(group.adoptions), group.refused) for group in found.groups]


def written(found, reason=""):
    return [
        one
        for group in found.groups
        if not group.refused
        for one in adopt(group, reason, found.groups[0].adoptions[0].folder)
    ]


def aged(*paths, year=2020):
    """Have these files be of another year."""
    for path in paths:
        path.write_bytes(re.sub(rb'at": "20\d\d-', b'at": "%d-' % year, path.read_bytes()))


def without_orphans(codes):
    return [code for code in codes if code != "orphan"]


def entries(folder, cassette="cassettes/test_a/test_b"):
    """Return the entries of a cassette by what the user said and whether `store` is there."""
    found = {}
    for path in sorted((folder.root / cassette).glob("*.json")):
        entry = read_entry(path)
        body = json.loads(entry.request.body)
        found[body["messages"][-1]["content"], "store" in body, entry.ordinal] = entry
    return found


def test_nothing_was_missed(folder):
    folder.record()
    assert plan(folder.root) == plan(folder.root)
    assert (plan(folder.root).groups, plan(folder.root).unexplained) == ((), ())


def test_a_field_that_was_added_is_one_difference_of_all_misses(folder, upgraded):
    found = upgraded("one", "two", "three")
    assert shown(found) == [("body$.store: added false", 3, 3, "")]
    assert len(entries(folder)) == 3  # a plan writes nothing
    done = written(found)
    assert [one.why for one in done] == ["", "", ""]
    assert len(entries(folder)) == 6
    assert plan(folder.root).groups == ()


def test_a_new_entry_has_the_request_that_was_missed_and_the_answer_of_the_old(folder, upgraded):
    written(upgraded("one", "two"), "the SDK says it since 2.0")
    found = entries(folder)
    for text in ("one", "two"):
        old, new = found[text, False, 0], found[text, True, 0]
        assert (new.response, new.answer, new.contract, new.verdict) == (
            old.response,
            old.answer,
            old.contract,
            old.verdict,
        )
        adopted = new.provenance["adopted"]
        assert (adopted["from"], adopted["reason"]) == (old.key, "the SDK says it since 2.0")
        assert new.provenance["recorded_at"] == old.provenance["recorded_at"]
        assert new.key == Keyer().key(new.request) != old.key
    assert without_orphans(folder.codes()) == ["adopted", "adopted"]


def test_a_session_replays_what_was_adopted(folder, upgraded, direct, answer):
    written(upgraded("one"))
    engine = direct(DirectoryStore(folder.root / "cassettes/test_a/test_b"), "none")
    assert engine.call(direct.chat("one", store=False)) == answer


def test_what_the_run_did_not_come_to_is_adopted_too(folder, direct, answer):
    folder.record(*((text, answer) for text in ("one", "two", "three")))
    folder.record(("other", answer), test="tests/test_a.py::test_c")
    folder.miss(direct.chat("one", store=False))
    found = plan(folder.root)
    assert shown(found) == [("body$.store: added false", 1, 3, "")]
    assert [one.missed for one in found.groups[0].adoptions] == [True, False, False]
    assert [one.adoption.missed for one in written(found)] == [False, False, True]
    assert sorted(key[:2] for key in entries(folder) if key[1]) == [("one", True), ("three", True), ("two", True)]


def test_what_the_run_replayed_is_neither_adopted_nor_taken_for_another(folder, direct, answer):
    folder.record(*((text, answer) for text in ("Sort this", "Sort that")))
    folder.miss("Sort this", direct.chat("Sort that", store=False), direct.chat("Sort those"))
    assert shown(plan(folder.root)) == [("body$.store: added false", 1, 1, "")]
    (left,) = plan(folder.root).unexplained
    assert "nothing that is stored here" in left.why
    assert left.mend == "pytest --record-mode=new_episodes tests/test_a.py::test_b"


def test_repeats_keep_their_order(folder, direct):
    answers = [json.dumps({"label": name, "tags": []}) for name in ("first", "second")]
    folder.record(("one", answers[0]), ("one", answers[1]))
    folder.miss(direct.chat("one", store=False))
    written(plan(folder.root))
    found = entries(folder)
    for ordinal, text in enumerate(answers):
        assert found["one", True, ordinal].answer.choices[0].text == text


def test_an_edit_of_the_prompt_is_one_group_with_a_caution(folder, direct, answer):
    tickets = [f"ticket {number} is about {number * 7}" for number in range(5)]
    folder.record(*((f"Label this tickt: {ticket}", answer) for ticket in tickets))
    folder.miss(*(f"Label this ticket: {ticket}" for ticket in tickets))
    (group,) = plan(folder.root).groups
    assert (group.reason, len(group.misses)) == ('body$.messages[*].content: "tickt" is now "ticket"', 5)
    assert "prompt was edited" in group.cautions[0]


def test_two_changes_are_two_groups_and_one_may_be_adopted_alone(folder, direct, answer):
    folder.record(*((direct.chat(text), answer) for text in ("one thing", "another thing", "a third thing")))
    folder.miss(direct.chat("one thing", store=False), direct.chat("another thing", store=False), "a third item")
    found = plan(folder.root)
    assert [(group.reason, len(group.misses)) for group in found.groups] == [
        ("body$.store: added false", 2),
        ('body$.messages[*].content: "thing" is now "item"', 1),
    ]
    assert len({group.name for group in found.groups}) == 2
    assert [group.name for group in plan(folder.root).groups] == [group.name for group in found.groups]


def test_one_entry_answers_one_miss_only(folder, direct, answer):
    folder.record(("Sort this list of words", answer))
    folder.miss("Sort this list of names", "Sort this list of verbs")
    found = plan(folder.root)
    assert [len(group.adoptions) for group in found.groups] == [1]
    assert len(found.unexplained) == 1


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"model": "gpt-6"}, "another model is asked"),
        ({"stream": True}, "as a stream"),
        ({"response_format": {"type": "json_object"}}, "the schema"),
        ({"tools": [{"type": "function", "function": {"name": "t"}}]}, "the tools"),
    ],
)
def test_what_changes_the_answer_is_refused(upgraded, more, word):
    (group,) = upgraded("one", more=more).groups
    assert word in group.refused
    assert (group.adoptions, group.mend) == ([], "pytest --record-mode=new_episodes tests/test_a.py::test_b")


def test_another_schema_version_is_refused(folder, upgraded, direct, answer):
    folder.record(("one", answer))
    folder.settings("schema_version = 2")
    folder.miss(direct.chat("one", store=False))
    (group,) = plan(folder.root).groups
    assert group.refused == "it was recorded under 'items' schema_version 1, which is 2 now"


def test_another_schema_is_refused_although_the_answer_satisfies_it(folder, direct, answer, items):
    folder.record(("one", answer))
    items["properties"]["label"] = {"enum": ["bug", "wish"]}
    folder.schema(items)
    folder.miss(direct.chat("one", store=False))
    (group,) = plan(folder.root).groups
    assert group.refused == "the schema of the contract 'items' that judged it is another one now"


def test_an_answer_that_the_contract_never_judged_is_refused(folder, direct, answer):
    folder.record(("one", answer), contract=None)
    folder.miss(direct.chat("one", store=False))
    assert "without the contract 'items'" in plan(folder.root).groups[0].refused


def test_an_answer_that_was_changed_to_break_the_contract_is_refused(folder, direct, answer):
    (path,) = folder.record(("one", answer))
    folder.edit_answer(path, answer, '{"label": 5, "tags": []}')
    folder.miss(direct.chat("one", store=False))
    assert plan(folder.root).groups[0].refused.startswith("the gate says reject:violation of its answer today: $.label")


def test_an_entry_whose_request_was_changed_gives_nothing_away(folder, direct, answer):
    (path,) = folder.record(("one", answer))
    folder.edit(path, '"content": "one"', '"content": "two"')
    folder.miss(direct.chat("two", store=False))
    assert (plan(folder.root).groups, len(plan(folder.root).unexplained)) == ((), 1)


def test_kept_answers_are_adopted_as_such(folder, direct):
    folder.record(("one", direct.said("no", status=429)), keep=("status:4xx",))
    folder.miss(direct.chat("one", store=False), keep=["status:4xx"])
    written(plan(folder.root))
    assert [one.verdict for one in entries(folder).values()] == ["kept:status:429"] * 2


def test_streams_are_adopted_with_their_sidecars(folder, streamed):
    request, response = streamed
    folder.record((request, response))
    body = {**json.loads(request.body), "store": False}
    folder.miss(replace(request, body=json.dumps(body).encode()))
    written(plan(folder.root))
    assert without_orphans(folder.codes()) == ["adopted"]
    assert len({one.response.body for one in entries(folder).values()}) == 1


def test_key_rules_that_moved_are_the_business_of_rekey(folder, direct, answer):
    folder.record((direct.chat("one", user="me"), answer))
    folder.settings(top='[key]\nignore = ["$.user"]')
    folder.miss(direct.chat("one", user="me"))
    (left,) = plan(folder.root).unexplained
    assert left.mend == "onetake rekey cassettes/test_a/test_b" or left.mend.endswith("cassettes/test_a/test_b")
    assert "the same request" in left.why


def test_a_request_of_a_marker_with_rules_of_its_own_is_keyed_by_them(folder, direct, answer):
    keyer = Keyer.from_spec({"ignore": ["$.user"]})[0]
    folder.record((direct.chat("one", user="a"), answer), keyer=keyer)
    folder.miss(direct.chat("one", user="b", store=False), key={"ignore": ["$.user"]})
    found = plan(folder.root)
    assert shown(found) == [("body$.store: added false", 1, 1, "")]
    written(found)
    assert without_orphans(folder.codes()) == ["adopted"]


def test_secrets_stop_an_entry_and_no_other(folder, upgraded, monkeypatch):
    found = upgraded("one", "two")
    first = found.groups[0].adoptions[0]
    stained = replace(first.entry, provenance={**first.entry.provenance, "recorder": SECRET})
    found.groups[0].adoptions[0] = replace(first, entry=stained)
    done = written(found)
    assert sorted(one.why for one in done) == ["", "a secret would be in it (openai key)"]


def test_a_secret_in_the_reason_is_never_written(folder, upgraded):
    written(upgraded("one"), f"because of {SECRET}")
    assert all(SECRET.encode() not in path.read_bytes() for path in folder.root.rglob("*.json"))


def test_what_was_written_meanwhile_stays(folder, upgraded, direct):
    found = upgraded("one")
    other = json.dumps({"label": "other", "tags": []})
    folder.record((direct.chat("one", store=False), other))
    assert [one.why for one in written(found)] == ["one is there already"]
    assert entries(folder)["one", True, 0].answer.choices[0].text == other


def test_two_at_once_write_each_entry_once(folder, upgraded):
    found = upgraded(*(f"line {number}" for number in range(30)))
    results = []
    threads = [threading.Thread(target=lambda: results.extend(written(found))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(not one.why for one in results) == 30
    assert len(entries(folder)) == 60


def test_a_run_that_was_killed_half_way_is_finished_by_the_next(folder, direct, answer):
    aged(*folder.record(*((f"line {number}", answer) for number in range(6))))
    folder.miss(direct.chat("line 0", store=False), direct.chat("line 1", store=False))
    aged(*folder.root.glob(".onetake/missed/*/*"), year=2021)
    for _ in range(6):
        (group,) = plan(folder.root).groups
        next(adopt(group, "", folder.root))  # and no further
    assert plan(folder.root).groups == ()
    assert len(entries(folder)) == 12


def test_what_was_adopted_may_be_adopted_again(folder, direct, answer, upgraded):
    written(upgraded("one", "two"))
    folder.miss(*(direct.chat(text, store=False, tier="x") for text in ("one", "two")))
    found = plan(folder.root)
    assert shown(found) == [('body$.tier: added "x"', 2, 2, "")]
    written(found)
    assert len(entries(folder)) == 6 - 2  # by text and store: the later ones have their place
    assert folder.codes().count("adopted") == 4


def test_what_is_put_in_front_again_and_again_is_done_once(folder, direct, answer):
    folder.record(*((f"line {number}", answer) for number in range(3)))
    asked = json.loads(direct.chat("line 0").body)
    asked["messages"].insert(0, {"role": "system", "content": "Be brief."})
    folder.miss(replace(direct.chat("x"), body=json.dumps(asked).encode()))
    (group,) = plan(folder.root).groups
    assert [one.missed for one in group.adoptions] == [True]


def test_shared_cassettes_keep_the_tests_apart(folder, direct, answer):
    for name in ("a", "b"):
        folder.record((f"of {name}", answer), folder="cassettes/shared", test=f"t.py::{name}")
    folder.miss(direct.chat("of a", store=False), folder="cassettes/shared", test="t.py::a")
    (group,) = plan(folder.root).groups
    (one,) = group.adoptions
    assert json.loads(one.entry.request.body)["messages"][0]["content"] == "of a"
    assert group.tests == ("t.py::a",)


def test_only_cassettes_below_the_folder_count(folder, direct, answer):
    for name in ("a", "b"):
        folder.record((name, answer), folder=f"cassettes/{name}")
        folder.miss(direct.chat(name, store=False), folder=f"cassettes/{name}", test=f"t.py::{name}")
    assert [group.tests for group in plan(folder.root / "cassettes/b").groups] == [("t.py::b",)]
    assert len(plan(folder.root).groups[0].misses) == 2


def test_a_project_inside_another_has_misses_of_its_own(folder, direct, answer, tmp_path):
    inner = (
        type(folder)((tmp_path / "packages/inner"), direct)
        if (tmp_path / "packages/inner").mkdir(parents=True) is None
        else None
    )
    inner.record(("one", answer))
    inner.miss(direct.chat("one", store=False))
    assert shown(plan(folder.root)) == [("body$.store: added false", 1, 1, "")]


def test_damaged_entries_and_misses_are_in_nobodys_way(folder, upgraded, direct, answer):
    found = upgraded("one", "two")
    cassette = folder.root / "cassettes/test_a/test_b"
    (cassette / f"chat-{'0' * 16}.json").write_bytes(b"{")
    (cassette / f"chat-{'1' * 16}.json").symlink_to("nowhere")
    assert shown(plan(folder.root)) == shown(found)


def test_a_note_that_was_changed_is_not_believed(folder, upgraded):
    upgraded("one")
    (path,) = folder.root.glob(".onetake/missed/*/*.jsonl")
    path.write_bytes(path.read_bytes().replace(b'\\"one\\"', b'\\"two\\"'))
    (left,) = plan(folder.root).unexplained
    assert left.mend == "run the tests again"


def test_thousands_take_seconds_and_differences_of_their_own_too(folder, direct, answer):
    names = [f"subject{number * 7919 % 1000} of{number}" for number in range(300)]
    store = DirectoryStore(folder.root / "cassettes/test_a/test_b")
    engine = direct(store, root=folder.root, test="tests/test_a.py::test_b")
    for name in names:
        engine.answer(engine.ask(f"about {name}"), answer)
    book = MissBook(Policy(mode=Mode.NONE, root=folder.root, test="tests/test_a.py::test_b"), store._folder)
    for name in names:
        request = direct.chat(f"about {name} and {name[::-1]}")
        asked = Asked(request, (), Keyer().key(request), None, request, Scrubber())
        book.note(Looked(asked, 0, Found.ABSENT), InteractionNotFound("", "", "", "", ""))
    found = plan(folder.root)
    assert sum(len(group.adoptions) for group in found.groups) == 300
    for group in found.groups:
        for one in group.adoptions:
            old = json.loads(read_entry(one.old).request.body)["messages"][0]["content"]
            assert json.loads(one.entry.request.body)["messages"][0]["content"].startswith(old)


def test_an_entry_that_a_refused_miss_is_like_is_not_taken_along(folder, direct, answer):
    folder.record(*((text, answer) for text in ("Sort one thing", "Sort two things")))
    folder.miss(direct.chat("Sort one thing", store=False), direct.chat("Sort two things", model="gpt-6"))
    assert shown(plan(folder.root)) == [
        ("body$.store: added false", 1, 1, ""),
        ('body$.model: "gpt-5" is now "gpt-6"', 1, 0, "body$.model: another model is asked"),
    ]


def test_a_test_that_is_no_more_is_forgotten_once_all_tests_passed(folder, upgraded):
    upgraded("one")
    write_run(folder.root, UsageRun("2999-01-01T00:00:00Z", why="tests failed"))
    assert len(plan(folder.root).groups) == 1
    write_run(folder.root, UsageRun("2999-01-01T00:00:00Z"))
    assert plan(folder.root).groups == ()


def test_a_field_that_is_longer_than_the_request_is_a_small_difference_too(folder, direct, answer):
    folder.record(*((text, answer) for text in ("one", "two")))
    folder.miss(*(direct.chat(text, metadata={"trace": "x" * 5000}) for text in ("one", "two")))
    (group,) = plan(folder.root).groups
    assert (len(group.misses), group.refused, group.cautions) == (2, "", ())


def test_a_request_that_two_tests_of_one_cassette_missed_is_adopted_once(folder, direct, answer):
    for text in ("Sort one thing", "Sort one thing more"):
        folder.record((text, answer), folder="cassettes/shared", test="t.py::a")
    for name in ("a", "b"):
        folder.miss(direct.chat("Sort one thing", store=False), folder="cassettes/shared", test=f"t.py::{name}")
    (group,) = plan(folder.root).groups
    assert group.tests == ("t.py::a", "t.py::b")
    assert [one.missed for one in group.adoptions] == [True, False]


def test_what_other_tests_of_the_run_used_is_taken_for_no_other_request(folder, direct, answer):
    (path,) = folder.record(("Sort this list of words", answer), folder="cassettes/shared", test="t.py::a")
    folder.miss("Sort this list of names", folder="cassettes/shared", test="t.py::b")
    (missed,) = missed_in(folder.root)
    used = {"cassettes/shared": CassetteUsage(used=frozenset({parse_name(path.name)}))}
    write_run(folder.root, UsageRun(missed.at, cassettes=used))  # a good one, before it
    assert len(plan(folder.root).groups) == 1
    write_run(folder.root, UsageRun(missed.at, why="tests failed", cassettes=used))
    assert (plan(folder.root).groups, len(plan(folder.root).unexplained)) == ((), 1)

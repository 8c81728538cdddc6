"""Which stored request a miss is now, and what else the same is done to."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from onetake.cassette_files import read_entry
from onetake.decide import Found
from onetake.errors import InteractionNotFound
from onetake.key import Keyer
from onetake.lookup import Looked
from onetake.missed import MissBook
from onetake.model import Mode
from onetake.scrub import Scrubber
from onetake.settings import KeyRules
from onetake.steps import Asked, Policy
from onetake.stores.directory import DirectoryStore
from onetake.upkeep import mends
from onetake.upkeep.adopt.adopting import adopt
from onetake.upkeep.adopt.planning import plan
from onetake.upkeep.rekey.rekeying import rekey


def aged(*paths, year=2020):
    """Have these files be of another year."""
    for path in paths:
        path.write_bytes(re.sub(rb'at": "20\d\d-', b'at": "%d-' % year, path.read_bytes()))


def chat(direct, *messages, **more):
    """Return a request with messages of (role, content)."""
    said = [{"role": role, "content": content} for role, content in messages]
    request = direct.chat("x", **more)
    return replace(request, body=json.dumps({**json.loads(request.body), "messages": said}).encode())


def adopted(folder):
    """Return what is asked in the entries that would be written, by whether the run missed it."""
    return [
        (one.missed, [message["content"] for message in json.loads(one.entry.request.body)["messages"]])
        for group in plan(folder.root).groups
        for one in group.adoptions
    ]


def shown(found):
    return [(group.reason, len(group.misses), len(group.adoptions), group.refused) for group in found.groups]


def written(found, reason=""):
    return [
        one
        for group in found.groups
        if not group.refused
        for one in adopt(group, reason, found.groups[0].adoptions[0].folder)
    ]


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


def test_a_field_that_was_added_is_one_difference_of_all_misses(folder, upgraded):
    found = upgraded("one", "two", "three")
    assert shown(found) == [("body$.store: added false", 3, 3, "")]
    assert len(entries(folder)) == 3  # a plan writes nothing
    done = written(found)
    assert [one.why for one in done] == ["", "", ""]
    assert len(entries(folder)) == 6
    assert plan(folder.root).groups == ()


def test_what_the_run_did_not_come_to_is_adopted_too(folder, direct, answer):
    folder.record(*((text, answer) for text in ("one", "two", "three")))
    folder.record(("other", answer), test="tests/test_a.py::test_c")
    folder.miss(direct.chat("one", store=False))
    found = plan(folder.root)
    assert shown(found) == [("body$.store: added false", 1, 3, "")]
    assert [one.missed for one in found.groups[0].adoptions] == [True, False, False]
    assert [one.adoption.missed for one in written(found)] == [False, False, True]
    assert sorted(key[:2] for key in entries(folder) if key[1]) == [("one", True), ("three", True), ("two", True)]


def test_an_edit_of_the_prompt_is_one_group_with_a_caution(folder, direct, answer):
    tickets = [f"ticket {number} is about {number * 7}" for number in range(5)]
    folder.record(*((f"Label this tickt: {ticket}", answer) for ticket in tickets))
    folder.miss(*(f"Label this ticket: {ticket}" for ticket in tickets))
    (group,) = plan(folder.root).groups
    assert (group.reason, len(group.misses)) == ('body$.messages[0].content: "tickt" is now "ticket"', 5)
    assert "prompt was edited" in group.cautions[0]


def test_two_changes_are_two_groups_and_one_may_be_adopted_alone(folder, direct, answer):
    folder.record(*((direct.chat(text), answer) for text in ("one thing", "another thing", "a third thing")))
    folder.miss(direct.chat("one thing", store=False), direct.chat("another thing", store=False), "a third item")
    found = plan(folder.root)
    assert [(group.reason, len(group.misses)) for group in found.groups] == [
        ("body$.store: added false", 2),
        ('body$.messages[0].content: "thing" is now "item"', 1),
    ]
    assert len({group.name for group in found.groups}) == 2
    assert [group.name for group in plan(folder.root).groups] == [group.name for group in found.groups]


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"model": "gpt-6"}, "another model is asked"),
        ({"stream": True}, "$.stream: a parameter"),
        ({"response_format": {"type": "json_object"}}, "the schema"),
        ({"tools": [{"type": "function", "function": {"name": "t"}}]}, "the tools"),
    ],
)
def test_what_changes_the_answer_is_refused(upgraded, more, word):
    (group,) = upgraded("one", more=more).groups
    assert word in group.refused
    assert (group.adoptions, group.mend) == ([], "pytest --record-mode=new_episodes tests/test_a.py::test_b")


def test_key_rules_that_moved_are_the_business_of_rekey(folder, direct, answer):
    folder.record((direct.chat("one", user="me"), answer))
    folder.settings(top='[key]\nignore = ["$.user"]')
    folder.miss(direct.chat("one", user="me"))
    (left,) = plan(folder.root).unexplained
    assert (left.mend.split()[:2], left.mend.endswith("cassettes/test_a/test_b")) == (["onetake", "rekey"], True)
    assert "the same request" in left.why


def test_what_was_adopted_is_no_less_the_business_of_rekey_where_it_has_the_key_that_it_was_adopted_from(
    folder, upgraded, direct
):
    (group,) = upgraded("one", "two").groups
    olds = [one.old for one in group.adoptions]
    assert [one.why for one in adopt(group, "the SDK sends it", folder.root)] == ["", ""]
    for old in olds:
        old.unlink()
    folder.settings(top='[key]\nignore = ["$.store"]\n')
    assert len(rekey(folder.root, writes=True).moves) == 2
    assert sorted(path for path in olds if path.is_file()) == sorted(olds), "the new ones have the old ones' keys"
    folder.settings()
    folder.miss(*(direct.chat(text, store=False) for text in ("one", "two")))
    place = "cassettes/test_a/test_b"
    for wrong in (False, True):
        if wrong:  # as where a run of one test alone ended in the second of the miss
            folder.ran(used=olds, why="tests were selected (-k)")
        found = plan(folder.root)
        assert (found.groups, {one.mend for one in found.unexplained}) == ((), {mends.rekey(folder.root / place)})
        assert all("holds the same request, under a key by other rules" in one.why for one in found.unexplained)
    assert len(rekey(folder.root, writes=True).moves) == 2
    assert plan(folder.root).unexplained == ()


def test_an_entry_that_other_rules_hold_for_is_no_business_of_rekey(folder, direct, answer):
    """Two tests share a cassette, and one of them has a key rule of its own, under which it uses its entry."""
    rules = KeyRules(ignore=("$.trace",))
    asked, miss = direct.chat("one", trace=1), {"folder": "cassettes/x", "contract": None}
    paths = folder.record((asked, answer), test="tests/test_a.py::test_own", keyer=Keyer(rules), **miss)
    folder.miss(direct.chat("two"), test="tests/test_a.py::test_own", key=rules, **miss)
    folder.miss(asked, **miss)
    folder.ran(used=paths, folder="cassettes/x", why="not all tests passed")
    why = {one.missed.test: one.why for one in plan(folder.root).unexplained}
    assert "nothing that is stored here" in why["tests/test_a.py::test_b"]


def test_a_request_of_a_marker_with_rules_of_its_own_is_keyed_by_them(folder, direct, answer):
    keyer = Keyer.from_spec({"ignore": ["$.user"]})[0]
    folder.record((direct.chat("one", user="a"), answer), keyer=keyer)
    folder.miss(direct.chat("one", user="b", store=False), key={"ignore": ["$.user"]})
    found = plan(folder.root)
    assert shown(found) == [("body$.store: added false", 1, 1, "")]
    written(found)
    assert without_orphans(folder.codes()) == ["adopted"]


def test_a_message_that_was_put_in_is_refused(folder, direct, answer):
    folder.record(*((f"line {number}", answer) for number in range(3)))
    folder.miss(chat(direct, ("system", "Be brief."), ("user", "line 0")))
    (group,) = plan(folder.root).groups
    assert (group.refused, group.adoptions) == ("body$.messages: the prompt differs in more than its words", [])


def test_of_hundreds_with_differences_of_their_own_each_gets_the_answer_of_its_own_old_request(folder, direct, answer):
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
            assert json.loads(one.entry.request.body)["messages"][0]["content"].split(" and ")[0] == old


def test_an_entry_that_a_refused_miss_is_like_is_not_taken_along(folder, direct, answer):
    folder.record(*((text, answer) for text in ("Sort one thing", "Sort two things")))
    folder.miss(direct.chat("Sort one thing", store=False), direct.chat("Sort two things", model="gpt-6"))
    assert shown(plan(folder.root)) == [
        ("body$.store: added false", 1, 1, ""),
        ('body$.model: "gpt-5" is now "gpt-6"', 1, 0, 'another model is asked: "gpt-5" is now "gpt-6"'),
    ]


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


def test_a_note_that_was_changed_is_not_believed(folder, upgraded):
    upgraded("one")
    (path,) = folder.root.glob(".onetake/missed/*/*.jsonl")
    path.write_bytes(path.read_bytes().replace(b'\\"one\\"', b'\\"two\\"'))
    (left,) = plan(folder.root).unexplained
    assert left.mend == "run the tests again"


def test_shared_cassettes_keep_the_tests_apart(folder, direct, answer):
    for name in ("a", "b"):
        folder.record((f"of {name}", answer), folder="cassettes/shared", test=f"t.py::{name}")
    folder.miss(direct.chat("of a", store=False), folder="cassettes/shared", test="t.py::a")
    (group,) = plan(folder.root).groups
    (one,) = group.adoptions
    assert json.loads(one.entry.request.body)["messages"][0]["content"] == "of a"
    assert group.tests == ("t.py::a",)


def test_a_word_is_replaced_in_no_request_that_nobody_asked(folder, direct, answer):
    folder.record(*((text, answer) for text in ("fix teh typo", "is teh a word", "read teh text")))
    folder.miss("fix the typo")
    assert adopted(folder) == [(True, ["fix the typo"])]


def test_a_whole_text_is_carried_to_the_same_place_and_role_only(folder, direct, answer):
    old, new = "Answer breifly.", "Answer briefly."
    recorded = [
        chat(direct, ("system", old), ("user", "one")),
        chat(direct, ("system", old), ("user", "two")),
        chat(direct, ("system", f"{old} Always."), ("user", "three")),
        chat(direct, ("user", old), ("user", "four")),
        chat(direct, ("system", "Be kind."), ("system", old)),
    ]
    folder.record(*((request, answer) for request in recorded))
    folder.miss(chat(direct, ("system", new), ("user", "one")))
    assert adopted(folder) == [(True, [new, "one"]), (False, [new, "two"])]


def test_a_member_is_carried_to_the_same_place_and_role_only(folder, direct, answer):
    def with_name(request, at):
        body = json.loads(request.body)
        body["messages"][at]["refusal"] = None
        return replace(request, body=json.dumps(body).encode())

    first = chat(direct, ("user", "one"), ("assistant", "yes"), ("user", "and"))
    others = [
        chat(direct, ("user", "two"), ("assistant", "no"), ("user", "and")),
        chat(direct, ("system", "three"), ("user", "of"), ("user", "and")),
    ]
    folder.record(*((request, answer) for request in (first, *others)))
    folder.miss(with_name(first, 1))
    assert adopted(folder) == [(True, ["one", "yes", "and"]), (False, ["two", "no", "and"])]


def test_nothing_is_carried_to_another_call(folder, direct, answer):
    other = replace(direct.chat("two"), url="https://api.example.com/v1/chat/completions")
    folder.record((direct.chat("one"), answer), (other, answer))
    folder.miss(direct.chat("one", store=False))
    assert adopted(folder) == [(True, ["one"])]


def test_br_014_ids_of_messages_are_named_with_the_rule_that_takes_them_out(folder, direct, answer):
    def with_id(number):
        body = json.loads(direct.chat("one").body)
        body["messages"][0]["id"] = f"{number * 8}-1111-4111-8111-111111111111"
        return replace(direct.chat("x"), body=json.dumps(body).encode())

    folder.record((with_id("a"), answer))
    folder.miss(with_id("b"))
    (group,) = plan(folder.root).groups
    assert group.refused == ("body$.messages[0].id: it looks like an id or a moment, which is another one in every run")
    assert group.mend.startswith('if it is: ids = ["$.messages[*].id"] in [key], then onetake rekey ')
    assert group.adoptions == []


@pytest.mark.parametrize("change", ["whitespace", "headers"])
def test_br_023_and_br_035_what_the_key_does_not_count_is_not_missed(folder, direct, answer, change):
    request = direct.chat("one")
    folder.record((request, answer))
    if change == "whitespace":
        other = replace(request, body=json.dumps(json.loads(request.body), indent=3).encode())
    else:
        noise = (("user-agent", "sdk/9"), ("x-stainless-package-version", "9.9"), ("traceparent", "00-1-2-03"))
        other = replace(request, headers=(*request.headers, *noise))
    assert folder.miss(other) == []
    assert plan(folder.root).groups == ()


def test_br_044_turns_that_hang_on_an_old_answer_are_refused_with_what_records_them(folder, direct, answer):
    def turn(said):
        return chat(direct, ("user", "Sort this"), ("assistant", said), ("user", "Go on"))

    folder.record((turn("It is a bug in the parser."), answer))
    folder.miss(turn("It is a bug of the parser."))
    (group,) = plan(folder.root).groups
    assert "hang on the old answer" in group.refused
    assert (group.mend, group.adoptions) == ("pytest --record-mode=new_episodes tests/test_a.py::test_b", [])


def test_br_111_a_value_that_changes_in_every_run_makes_no_second_entry(folder, direct, answer):
    folder.record((direct.chat("Greet red in few words"), answer))
    sizes = []
    for word in ("green", "blue", "white"):
        folder.miss(f"Greet {word} in few words")
        for group in plan(folder.root).groups:
            if not group.refused:
                aged(*(one.path for one in adopt(group, "", folder.root)))
        sizes.append(len(list((folder.root / "cassettes/test_a/test_b").glob("*.json"))))
    assert sizes == [2, 2, 2]
    (group,) = plan(folder.root).groups
    assert "may be another one in every run" in group.refused


def test_br_111_an_id_in_the_prompt_is_not_called_an_edit(folder, direct, answer):
    folder.record(("Session 5f2b9c1e7a304d68 asks", answer))
    folder.miss("Session 0c7d4e9a12b85f36 asks")
    (group,) = plan(folder.root).groups
    assert "looks like an id" in group.refused
    assert "replace = [{ pattern =" in group.mend
    assert group.adoptions == []


def test_br_135_a_renamed_test_is_told_to_rename_its_folder(folder, direct, answer):
    folder.record(("one", answer), folder="cassettes/test_a/test_b-y-x", test="t.py::test_b[y-x]")
    (refused,) = folder.miss("one", folder="cassettes/test_a/test_b-x-y", test="t.py::test_b[x-y]")
    (left,) = plan(folder.root).unexplained
    assert left.why == "the same request is stored in cassettes/test_a/test_b-y-x"
    said = "if this test was renamed, rename that folder to cassettes/test_a/test_b-x-y"
    assert left.mend.startswith(f"{said}; else pytest --record-mode=new_episodes")
    assert left.why in str(refused)
    assert said in str(refused)

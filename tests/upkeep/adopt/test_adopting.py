"""What is written of a group, and where it comes from."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import replace

from onetake.cassette_files import read_entry
from onetake.key import Keyer
from onetake.stores.directory import DirectoryStore
from onetake.upkeep.adopt.adopting import adopt
from onetake.upkeep.adopt.planning import plan

SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3


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


def entries(folder, cassette="cassettes/test_a/test_b"):
    """Return the entries of a cassette by what the user said and whether `store` is there."""
    found = {}
    for path in sorted((folder.root / cassette).glob("*.json")):
        entry = read_entry(path)
        body = json.loads(entry.request.body)
        found[body["messages"][-1]["content"], "store" in body, entry.ordinal] = entry
    return found


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
    assert folder.codes() == ["adopted", "adopted"]


def test_a_session_replays_what_was_adopted(folder, upgraded, direct, answer):
    written(upgraded("one"))
    engine = direct(DirectoryStore(folder.root / "cassettes/test_a/test_b"), "none")
    assert engine.call(direct.chat("one", store=False)) == answer


def test_repeats_keep_their_order(folder, direct):
    answers = [json.dumps({"label": name, "tags": []}) for name in ("first", "second")]
    folder.record(("one", answers[0]), ("one", answers[1]))
    folder.miss(direct.chat("one", store=False))
    written(plan(folder.root))
    found = entries(folder)
    for ordinal, text in enumerate(answers):
        assert found["one", True, ordinal].answer.choices[0].text == text


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
    assert folder.codes() == ["adopted"]
    assert len({one.response.body for one in entries(folder).values()}) == 1


def test_secrets_stop_an_entry_and_no_other(folder, upgraded):
    found = upgraded("one", "two")
    first, second = found.groups[0].adoptions
    stained = replace(first.entry, provenance={**first.entry.provenance, "recorder": SECRET})
    found.groups[0].adoptions[0] = replace(first, entry=stained)
    done = {one.adoption.entry.key: one for one in written(found)}
    assert done[first.entry.key].why == "a secret would be in it (openai key)"
    assert not done[first.entry.key].path.exists()
    assert (done[second.entry.key].why, done[second.entry.key].path.exists()) == ("", True)
    assert all(SECRET.encode() not in path.read_bytes() for path in folder.root.rglob("*.json"))


def test_a_reason_is_a_block_without_its_secrets_and_stops_no_entry(folder, upgraded):
    done = written(upgraded("one"), f"because of {SECRET}\nand \x1b[31mmore ")
    assert [one.why for one in done] == [""]
    said = entries(folder)["one", True, 0].provenance["adopted"]["reason"]
    assert SECRET not in said
    assert said.startswith("because of ")
    assert said.split("\n")[1].endswith("more")
    assert "\x1b" not in said


def test_an_edit_says_where_it_was(folder, direct, answer):
    folder.record(("Sort teh list", answer))
    folder.miss("Sort the list")
    written(plan(folder.root))
    new = entries(folder)["Sort the list", False, 0]
    assert new.provenance["adopted"]["changed"] == ["body$.messages[0].content"]


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

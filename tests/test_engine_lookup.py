from dataclasses import replace
from datetime import date
from threading import Thread

import pytest

from onetake.errors import InteractionNotFound, UnreadableEntry
from onetake.format import dump_entry
from onetake.key import Keyer
from onetake.model import KeySpec
from onetake.scrub import Scrubber
from onetake.settings import KeyRules, Replace, ScrubRules

SECRET = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2
OTHER = "sk-proj-" + "Zy9xWv6uTs3rQp0oNm7lKj4iHg1fEd8c" * 2


def test_br_098_requests_that_differ_only_in_secrets_share_an_entry(direct):
    def asked(key):
        return direct.chat(f"is {key} valid?", headers=(("authorization", f"Bearer {key}"),))

    recording = direct()
    recording.call(asked(SECRET), "yes")
    replaying = direct(recording.store, "none", repeats="same")
    assert [replaying.call(asked(key)) for key in (SECRET, OTHER)] == ["yes", "yes"]
    with pytest.raises(InteractionNotFound):
        replaying.ask(direct.chat("is that valid?"))


def test_a_hit_needs_no_scrubbing(direct):
    def asked(key):
        return direct.chat("correct-horse-battery", headers=(("authorization", f"Bearer {key}"),))

    recording = direct()
    recording.call(asked("another-password-12"), "a")
    # Scrubbed, this request would lose its own password from its text and have another key.
    assert direct(recording.store, "none").call(asked("correct-horse-battery")) == "a"


def test_an_entry_of_the_request_as_it_came_is_found_under_rules_that_are_younger(direct):
    recording = direct()
    recording.call("badge 4711", "old")
    ruled = {"scrubber": Scrubber(ScrubRules(patterns=("badge [0-9]{4}",)))}
    assert direct(recording.store, "none", **ruled).call("badge 4711") == "old"
    again = direct(recording.store, "all", **ruled)
    assert again.call("badge 4711", "new") == "new"
    assert b"4711" not in recording.store.get(again.engine.recorded[0].key, 0)
    assert direct(recording.store, "none", **ruled).call("badge 4711") == "new"


def test_an_entry_of_another_day_is_found_where_the_date_does_not_count(direct):
    keyer = Keyer(KeyRules(volatile=("today",)))
    then, today = date(2020, 2, 29), keyer.today()[0]
    recording = direct(keyer=keyer)
    recording.call(f"today is {today.isoformat()}", "a")
    (entry,) = recording.entries()
    old = direct.chat(f"today is {then.isoformat()}")
    assert keyer.key(old, (then,)) == entry.key
    aged = replace(entry, request=old, key_spec=replace(entry.key_spec, rules=keyer.spec((then,))))
    recording.engine.cassette.put(aged)
    assert direct(recording.store, "none", keyer=keyer).call(f"today is {today.isoformat()}") == "a"


def test_a_request_keeps_its_day_when_midnight_passes_before_its_answer(direct):
    keyer = Keyer(KeyRules(volatile=("today",)))
    yesterday = date(2020, 2, 29)
    recording = direct(keyer=keyer)
    step = recording.ask("on 2020-02-29")
    step.asked.days = (yesterday,)
    step.asked.key = keyer.key(step.asked.request, (yesterday,))
    recording.answer(step, "a")
    (entry,) = recording.entries()
    assert (entry.key, entry.key_spec.rules["today"]) == (step.asked.key, ["2020-02-29"])


def test_an_edited_request_is_unreadable_and_never_replayed(direct):
    recording = direct()
    recording.call("list three colours", "a")
    (entry,) = recording.entries()
    data = recording.store.get(entry.key, 0)
    recording.store.replace(entry.key, 0, data.replace(b"list three", b"list seven"))
    for mode in ("none", "once", "new_episodes"):
        with pytest.raises(UnreadableEntry, match="no longer gives the stored key") as caught:
            direct(recording.store, mode).ask("list three colours")
        assert "restore it from version control" in str(caught.value)
    assert direct(recording.store, "all").call("list three colours", "new") == "new"


@pytest.mark.parametrize(
    ("broken", "why"),
    [(b"", ""), (b"<<<<<<< HEAD", ""), (b"version https://git-lfs.github.com/spec/v1\n", "")],
    ids=["empty", "conflict", "lfs"],
)
def test_a_damaged_entry_is_named_and_the_others_still_load(direct, broken, why):
    recording = direct()
    recording.call("one", "a"), recording.call("two", "b")
    key = recording.engine.recorded[0].key
    recording.store.replace(key, 0, broken)
    replaying = direct(recording.store, "new_episodes")
    with pytest.raises(UnreadableEntry) as caught:
        replaying.ask("one")
    assert key[:16] in str(caught.value)
    assert replaying.call("two") == "b"


def test_an_entry_whose_key_rules_are_damaged_does_not_break_a_miss(direct):
    recording = direct(keyer=Keyer(KeyRules(headers=("x-tenant",))))
    recording.call("q", "a")
    (entry,) = recording.entries()
    data = recording.store.get(entry.key, 0)
    recording.store.replace(entry.key, 0, data.replace(b'"headers": ["x-tenant"]', b'"later": ["x-tenant"]'))
    with pytest.raises(InteractionNotFound):
        direct(recording.store, "none").ask("another")


@pytest.mark.parametrize(
    ("rules", "recorded", "asked"),
    [
        (KeyRules(ignore=("$.seed",)), {"seed": 7}, {}),
        (KeyRules(replace=(Replace("run-[a-z]+", "run-ID"),)), {"user": "run-aaaa"}, {"user": "run-ID"}),
    ],
)
def test_a_rule_that_is_gone_lends_no_answer_to_another_request(direct, rules, recorded, asked):
    recording = direct(keyer=Keyer(rules))
    recording.call(direct.chat("x", **recorded), "a")
    assert direct(recording.store, "none", keyer=Keyer(rules)).call(direct.chat("x", **recorded)) == "a"
    with pytest.raises(InteractionNotFound, match="key rules of that time"):
        direct(recording.store, "none").ask(direct.chat("x", **asked))
    again = direct(recording.store, "new_episodes")
    assert again.call(direct.chat("x", **asked), "b") == "b"
    assert direct(recording.store, "none").call(direct.chat("x", **asked)) == "b"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"ordinal": 5}, "the ordinal in the file"),
        ({"key_spec": KeySpec("k99", "s1")}, "recipe 'k99'.*upgrade"),
        ({"key_spec": KeySpec("banana", "s1")}, "no onetake ever wrote that"),
        ({"key_spec": KeySpec("k1", "s99")}, "scrubbed under 's99'.*upgrade"),
    ],
)
def test_an_entry_that_was_edited_or_is_newer_is_unreadable_and_named(direct, change, why):
    recording = direct()
    recording.call("x", "a")
    (entry,) = recording.entries()
    data, _ = dump_entry(replace(entry, **change))
    recording.store.replace(entry.key, 0, data)
    with pytest.raises(UnreadableEntry, match=why):
        direct(recording.store, "none").ask(direct.chat("x"))


@pytest.mark.parametrize("verdict", ["banana", "", "REJECT", "Reject:violation", "good:really", "kept", "rejected"])
def test_a_verdict_that_the_gate_never_gives_is_never_replayed(direct, verdict):
    recording = direct()
    recording.call("x", "a")
    (entry,) = recording.entries()
    data, _ = dump_entry(replace(entry, verdict=verdict))
    recording.store.replace(entry.key, 0, data)
    with pytest.raises(InteractionNotFound, match="none that the gate gives"):
        direct(recording.store, "none", keep=("violation",)).ask(direct.chat("x"))


def test_br_007_a_run_under_other_sampling_settings_reuses_nothing(direct):
    recording = direct(None, "new_episodes", repeats="same")
    rows = ["a", "b", "c"]
    cold = [recording.call(direct.chat(row, temperature=0), f"{row} cold") for row in rows]
    resumed = direct(recording.store, "new_episodes", repeats="same")
    warm = [resumed.call(direct.chat(row, temperature=0.7), f"{row} warm") for row in rows]
    assert (cold, warm) == (["a cold", "b cold", "c cold"], ["a warm", "b warm", "c warm"])
    again = direct(recording.store, "none", repeats="same")
    assert [again.call(direct.chat(row, temperature=0)) for row in rows] == cold


def exploding(recording):
    """Give every stored entry a rule of its own that takes for ever on what was asked."""
    for entry in recording.entries():
        spec = replace(entry.key_spec, rules={"replace": [{"pattern": "(a+)+$", "with": "x"}]})
        recording.store.replace(entry.key, entry.ordinal, dump_entry(replace(entry, key_spec=spec))[0])


def test_a_rule_of_an_entry_that_explodes_holds_up_no_miss_in_any_thread(direct):
    recording = direct()
    recording.call(f"{'a' * 60}!", "x")
    exploding(recording)
    told = []

    def ask():
        try:
            direct(recording.store, "none").ask(f"{'a' * 61}!")
        except InteractionNotFound as error:
            told.append(str(error))

    thread = Thread(target=ask)
    thread.start()
    thread.join()
    (said,) = told
    assert f"{'a' * 60}!" in said


def test_a_rule_of_an_entry_that_explodes_holds_up_no_look_at_what_has_the_key(direct):
    """The request was changed by hand, so its bytes prove nothing; its own rules are not asked."""
    recording = direct()
    recording.call("other", "x")
    (entry,) = recording.entries()
    exploding(recording)
    (entry,) = recording.entries()
    changed = replace(entry, request=direct.chat(f"{'a' * 60}!"))
    recording.store.replace(entry.key, 0, dump_entry(changed)[0])
    with pytest.raises(InteractionNotFound, match="key rules of that time"):
        direct(recording.store, "none").ask("other")


def test_a_pattern_that_is_in_force_today_still_tells_that_a_request_was_changed(direct):
    keyer = Keyer(KeyRules(replace=(Replace("run-[a-z]+", "run-ID"),)))
    recording = direct(keyer=keyer)
    recording.call("run-a", "x")
    (entry,) = recording.entries()
    changed = replace(entry, request=direct.chat("changed"))
    recording.store.replace(entry.key, 0, dump_entry(changed)[0])
    with pytest.raises(UnreadableEntry, match="its request was changed"):
        direct(recording.store, "none", keyer=keyer).ask("run-a")

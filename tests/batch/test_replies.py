"""The replies that a batch has: what is told at a glance is what reading the whole entry tells."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onetake.batch.replies import Replies
from onetake.contract import Contract
from onetake.decide import Found
from onetake.format import dump_entry
from onetake.key import Keyer
from onetake.model import Answer, Choice, KeySpec, Request
from onetake.scrub import Scrubber
from onetake.settings import KeyRules, MaxAge, ScrubRules
from onetake.stores import open_store

GOOD = '{"label": "a"}'


def stored(replied, entry, **more):
    """Store an entry in another form under its name."""
    replied.store.replace(entry.key, entry.ordinal, dump_entry(replace(entry, **more))[0])


def said(replied, entry, parses=True):
    return replied.replies.said(entry.key, parses=parses)


@pytest.mark.parametrize(
    "text",
    [GOOD, '{"label":"a\\u00e4\\n{\\"b\\":1}"}', '{\n  "label": "' + "x" * 5000 + '"\n}', '{"label": "$lines"}'],
    ids=["spaced", "compact", "long", "form"],
)
def test_a_good_reply_is_told_at_a_glance_as_by_reading_it(replied, text):
    entry = replied.reply("one", text)
    whole = replied.replies.find(entry.request)
    assert whole.entry == entry
    assert said(replied, entry) == json.loads(text)
    assert said(replied, entry, parses=False) == text


def test_numbers_are_told_as_they_are_read(replied):
    text = '{"label": "a", "n": [1.10, -0, 1e2, 1E400, 12345678901234567890], "long": [' + "1.50, " * 80 + "2]}"
    replied.contract = None
    entry = replied.reply("one", text)
    found = said(replied, entry)
    assert found["n"] == [1.1, 0, 100.0, float("inf"), 12345678901234567890]
    assert found["long"] == [1.5] * 80 + [2]
    assert list(map(type, found["n"])) == [float, int, float, float, int]
    assert said(replied, entry, parses=False) == text


def test_what_needs_a_second_look_is_not_told(replied, tmp_path):
    entry = replied.reply("one", GOOD)
    for more in (
        {"verdict": "kept:violation"},
        {"verdict": "reject:json"},
        {"contract": None},
        {"contract": replace(entry.contract, schema_version=2)},
        {"contract": replace(entry.contract, schema="0" * 64)},
        {"key_spec": KeySpec("k0", entry.key_spec.scrub)},
        {"key_spec": KeySpec(entry.key_spec.recipe, "s0")},
        {"key_spec": replace(entry.key_spec, rules={"ignore": ["$.user"]})},
        {"answer": None},
        {"answer": Answer()},
    ):
        stored(replied, entry, **more)
        assert said(replied, entry) is None, more
    stored(replied, entry)
    assert said(replied, entry) == {"label": "a"}


def test_an_entry_whose_key_begins_alike_is_another(replied):
    entry = replied.reply("one", GOOD)
    other = entry.key[:16] + "0" * 48
    assert replied.store.get(other, 0) == replied.store.get(entry.key, 0)
    assert replied.replies.said(other, parses=True) is None


def test_bytes_that_are_damaged_are_not_told_and_then_named(replied):
    entry = replied.reply("one", GOOD)
    data = replied.store.get(entry.key, 0)
    replied.store.replace(entry.key, 0, data[:-30])
    assert said(replied, entry) is None
    found = replied.replies.find(entry.request)
    assert (found.entry, found.found) == (None, Found.UNREADABLE)
    assert entry.key[:16] in found.why


@pytest.mark.parametrize(
    "rules",
    [
        {"max_age": MaxAge(90, "fail")},
        {"scrubber": Scrubber(ScrubRules(patterns=("Z-[0-9]+",)))},
        {"scrubber": Scrubber(ScrubRules(paths=("$.user",)))},
        {"keyer": Keyer(KeyRules(volatile=("today",)))},
        {"contracts": (Contract(dict[str, str]),)},
        {"contracts": (Contract({"type": "object"}, name="a"), Contract({"type": "object"}, name="b"))},
    ],
    ids=lambda rules: next(iter(rules)),
)
def test_rules_that_a_glance_cannot_judge_by_are_not_skipped(replied, rules):
    entry = replied.reply("one", GOOD)
    replies = Replies(replied.store, replace(replied.replies.policy, **rules))
    assert replies.said(entry.key, parses=True) is None


def test_entries_of_a_folder_are_read_whole(replied):
    replied.store = open_store(replied.folder / "calls")
    entry = replied.reply("one", GOOD)
    assert said(replied, entry) is None
    assert replied.replies.find(entry.request).entry == entry


def test_a_choice_with_tool_calls_or_without_text_is_not_told(replied):
    replied.contract = None
    entry = replied.reply("one", GOOD)
    calls = [{"id": "1", "type": "function", "function": {"name": "label", "arguments": GOOD}}]
    called = replied.reply("two", None, finish="tool_calls", tool_calls=calls)
    assert said(replied, called) is None
    stored(replied, entry, answer=Answer((Choice(None),)))
    assert said(replied, entry) is None
    stored(replied, entry, answer=Answer((Choice("Fine."),)))
    assert (said(replied, entry), said(replied, entry, parses=False)) == (None, "Fine.")


def test_a_secret_in_a_record_is_found_under_its_scrubbed_key(replied):
    secret = "sk-proj-" + "a1B2c3D4" * 6
    entry = replied.reply(secret, GOOD)
    assert secret.encode() not in replied.store.get(entry.key, 0)
    assert entry.key != Keyer().key(replied.asking.request({"message": secret}))
    assert replied.replies.find(replied.asking.request({"message": secret})).entry == entry


def test_a_request_that_nothing_is_stored_for_is_absent(replied):
    found = replied.replies.find(Request("POST", "http://h/v1/chat/completions"))
    assert (found.entry, found.why, found.found) == (None, "", Found.ABSENT)

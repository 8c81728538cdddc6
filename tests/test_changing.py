"""Why a test asks anew in every run: where its requests differ from those that lay there, and the rule that ends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from onetake.changing import anew
from onetake.stores.memory import MemoryStore


def asked_twice(direct, old, new, **policy):
    """Record requests into one cassette in two sessions; return what is said of the second one."""
    store = MemoryStore("cassette")
    policy = {"root": Path("/nowhere"), **policy}
    first = direct(store, **policy)
    for request in old:
        first.call(request, "an answer")
    second = direct(store, being_made=False, **policy)
    for request in new:
        second.call(request, "another answer")
    engine = second.engine
    return str(anew(engine.recorded, len(engine.played), engine.cassette, engine.policy, owned=True) or "")


def test_nothing_is_said_of_a_new_cassette_or_of_one_that_is_played(direct):
    chat = direct.chat
    assert asked_twice(direct, [], [chat("a")]) == ""
    assert asked_twice(direct, [chat("a")], [chat("a")]) == ""
    assert asked_twice(direct, [chat("a"), chat("b")], [chat("a"), chat("b"), chat("c")]) == ""


@pytest.mark.parametrize(
    ("old", "new", "where", "rule"),
    [
        ({"url": "http://127.0.0.1:1/v1/chat/completions"}, {"url": "http://127.0.0.1:2/v1/chat/completions"},
         "url.origin", 'origins = { "http://127.0.0.1:*" = "local" }'),
        ({"metadata": {"a": [{"b": "one"}]}}, {"metadata": {"a": [{"b": "two"}]}},
         "$.metadata.a[*].b", 'ignore = ["$.metadata.a[*].b"]'),
        ({"chat_id": "chat-1a2b3c4d5e"}, {"chat_id": "chat-9z8y7x6w5v"}, "$.chat_id", 'ids = ["$.chat_id"]'),
        ({"temperature": 0.1}, {"temperature": 0.2}, "$.temperature", ""),
        ({"tools": [{"name": "a"}]}, {"tools": [{"name": "b"}]}, "$.tools[*].name", ""),
        ({"url": "http://127.0.0.1:1/a"}, {"url": "http://127.0.0.1:1/b"}, "url.path", ""),
    ],
    ids=["port", "in a list", "id", "parameter", "tools", "path"],
)  # fmt: skip
def test_the_place_and_the_rule_are_named(direct, old, new, where, rule):
    said = asked_twice(direct, [direct.chat("a", **old)], [direct.chat("a", **new)])
    assert said.startswith(f"1 new, 0 played: it differs at {where}; ")
    assert (f"add to [tool.onetake.key]: {rule}, and run `onetake rekey`" in said) == bool(rule)
    assert ("make it the same in every run" in said) == (not rule)


def test_several_that_differ_in_one_place_name_that_and_others_the_first_few(direct):
    chat = direct.chat
    old = [chat(text, user="one", seed=n) for n, text in enumerate("abc")]
    assert "3 new, 0 played: all differ at $.user;" in asked_twice(
        direct, old, [chat(text, user="two", seed=n) for n, text in enumerate("abc")]
    )
    mixed = [chat("a", user="two", seed=0), chat("b", user="one", seed=9)]
    assert "2 new, 0 played: they differ at $.user, $.seed;" in asked_twice(direct, old, mixed)


def test_in_a_shared_cassette_only_what_the_same_test_recorded_is_its_own(direct):
    store, chat = MemoryStore("cassette"), direct.chat
    direct(store, test="test_one").call(chat("a", user="one"), "an answer")
    second = direct(store, being_made=False, test="test_two")
    second.call(chat("a", user="two"), "an answer")
    engine = second.engine
    assert anew(engine.recorded, 0, engine.cassette, engine.policy, owned=False) is None
    assert "$.user" in str(anew(engine.recorded, 0, engine.cassette, engine.policy, owned=True))

"""One entry under today's rules, without a file."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from onetake.key import Keyer
from onetake.model import Violation
from onetake.scrub import Scrubber
from onetake.settings import KeyRules, ScrubRules
from onetake.upkeep.rekey.entry import CannotRekeyError, rekeyed
from onetake.upkeep.ruling import Ruled

BADGE = ScrubRules(patterns=("badge-[0-9]{6}",), paths=("$.pin",))


def ruled(rules=KeyRules(), scrub=BADGE):  # noqa: B008 (frozen)
    return Ruled(Keyer(rules), Scrubber(scrub, key_headers=rules.headers), (), KeyRules())


@pytest.fixture
def entry(direct):
    """Return a function that records one call, and returns its entry."""

    def make(request, response="Good day."):
        made = direct()
        made.answer(made.ask(request), response)
        return made.entries()[0]

    return make


def test_what_nothing_touches_is_the_same_object(entry):
    one = entry("Hello")
    assert rekeyed(one, ruled(KeyRules(ignore=("$.nothing",))), None) is one


def test_a_key_rule_changes_key_and_rules_alone(entry, direct):
    one = entry(direct.chat("Hello", trace=1))
    new = rekeyed(one, ruled(KeyRules(ignore=("$.trace",))), None)
    assert new.key == entry(direct.chat("Hello")).key
    assert new.key_spec.rules == {"ignore": ["$.trace"]}
    assert replace(new, key=one.key, key_spec=one.key_spec) == one


def test_a_declared_path_is_scrubbed_and_the_key_follows(entry, direct):
    one = entry(direct.chat("Hello", pin="4711"))
    new = rekeyed(one, ruled(), None)
    assert json.loads(new.request.body)["pin"] == "[secret 1]"
    assert new.key == Keyer().key(new.request) != one.key
    assert (new.scrubbed, new.answer) == (("request.body$.pin",), one.answer)


def test_placeholders_go_on_behind_those_that_are_there(entry):
    one = entry("My key is sk-proj-" + "a1B2c3D4e5F6g7H8" * 3, "badge-123456")
    assert one.scrubbed
    new = rekeyed(one, ruled(), None)
    assert new.scrubbed[: len(one.scrubbed)] == one.scrubbed
    assert new.answer.choices[0].text == "[secret 1]"
    assert rekeyed(new, ruled(), None) is new


def test_what_is_told_beside_the_bodies_is_scrubbed_too(entry):
    one = entry("Hello")
    one = replace(
        one,
        provenance={**one.provenance, "test": "test_a[badge-123456]", "dirty": True},
        violations=(Violation("$.a", "no badge", "badge-123456"),),
    )
    new = rekeyed(one, ruled(), None)
    assert new.provenance["test"] == "test_a[[secret 1]]"
    assert new.provenance["dirty"] is True
    assert new.violations[0].found == "[secret 1]"
    assert new.key == one.key


def encoded(direct, text, encoding="gzip"):
    body = direct.said(text).body
    headers = (("content-type", "application/json"), ("content-encoding", encoding))
    return replace(direct.said(text), headers=headers, body=gzip.compress(body, mtime=0))


def test_a_secret_within_a_content_encoding_cannot_be_scrubbed(entry, direct):
    one = entry("Hello", encoded(direct, "badge-123456"))
    with pytest.raises(CannotRekeyError, match="within a content-encoding"):
        rekeyed(one, ruled(), None)


def test_an_encoded_answer_is_derived_from_its_content(entry, direct):
    one = entry("I am badge-123456", encoded(direct, "Good day."))
    new = rekeyed(one, ruled(), None)
    assert (new.answer, new.response) == (one.answer, one.response)
    assert new.key != one.key


def test_an_answer_that_cannot_be_derived_is_left(entry):
    one = replace(entry("badge-123456"), dialect="unheard-of/7")
    with pytest.raises(CannotRekeyError, match="its dialect is not known here"):
        rekeyed(one, ruled(), None)


def test_an_entry_without_an_answer_has_none_afterwards(entry):
    one = replace(entry("badge-123456"), dialect=None, answer=None)
    assert rekeyed(one, ruled(), None).answer is None

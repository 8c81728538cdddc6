from __future__ import annotations

import tomllib
from datetime import date

import pytest

from onetake.compare import Difference, differences
from onetake.hints import key_rules
from onetake.key import Keyer
from onetake.model import Request
from onetake.settings import KeyRules, Replace

RECORDED = "2026-11-20T23:30:00Z"
TODAY = (date(2026, 11, 29),)


def changed(path, asked, stored):
    return Difference(path, "changed", asked, stored)


def rules(*found, recorded_at=RECORDED):
    return key_rules(found, recorded_at, TODAY)[0]


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("2026-11-29", "2026-11-20"),
        ("2026-11-29", "2026-11-21"),
        ("29.11.2026", "20.11.2026"),
        ("November 29, 2026", "November 20, 2026"),
        ("Sunday, 29 Nov 2026", "Friday, 20 Nov 2026"),
    ],
)
def test_br_042_the_days_of_asking_and_of_recording_are_volatile(asked, stored):
    difference = changed("body$.messages[0].content", f'"Today is {asked}."', f'"Today is {stored}."')
    assert rules(difference) == {"volatile": ['"today"']}


@pytest.mark.parametrize(
    ("asked", "stored", "recorded_at"),
    [
        ("2026-11-28", "2026-11-20", RECORDED),
        ("2026-11-29", "2026-11-01", RECORDED),
        ("2026-11-29", "2026-11-20", ""),
        ("2026-11-29", "2026-11-20", "no date"),
        ("2026-11-29", "2026-11-20", "0001-01-01"),
        ("2026-11-29: yes", "2026-11-20: no", RECORDED),
    ],
)
def test_other_days_and_other_words_are_not(asked, stored, recorded_at):
    assert rules(changed("body$.prompt", f'"{asked}"', f'"{stored}"'), recorded_at=recorded_at) == {}


@pytest.mark.parametrize(
    ("path", "asked", "stored", "rule"),
    [
        (
            "body$.messages[3].id",
            '"mVDEy6MXiFvzKQm4o3fsGF"',
            '"HzoDj9nLm7mBz5Mf3uGcgk"',
            {"ids": ['"$.messages[*].id"']},
        ),
        ("body$.trace_id", '"3fa85f64a1b2c3d4"', '"0a1b2c3d4e5f6071"', {"ids": ['"$.trace_id"']}),
        ("body$.metadata.run", '"run-8f3ab2c1"', '"run-77aa01b2"', {"ignore": ['"$.metadata.run"']}),
        ("body$.sent", '"2026-11-29T10:00:00Z"', '"2026-11-20T09:30:11Z"', {"ignore": ['"$.sent"']}),
        ("body$.sent", "1764412345", "1764400000", {"ignore": ['"$.sent"']}),
        ('body$["x y"].n', '"run-8f3ab2c1"', '"run-77aa01b2"', {"ignore": ['"$[\\"x y\\"].n"']}),
    ],
)
def test_br_014_an_invented_value_is_named_by_its_path(path, asked, stored, rule):
    assert rules(changed(path, asked, stored)) == rule


def test_br_111_a_fresh_token_each_run_is_named_by_its_path():
    tokens = ("eyJhbGciOi.J9x" + "aB3" * 20, "eyJhbGciOi.K1y" + "cD4" * 20)
    assert rules(changed("body$.assertion", *(f'"{token}"' for token in tokens))) == {"ignore": ['"$.assertion"']}


@pytest.mark.parametrize(
    ("path", "asked", "stored"),
    [
        ("body$.model", '"gpt-4o-2024-11-20"', '"gpt-4o-2024-08-06"'),
        ("body$.model", '"ft-a1b2c3d4e5f6"', '"ft-b1b2c3d4e5f6"'),
        ("body$.messages[0].content", '"Add 12345678."', '"Add 87654321."'),
        ("body$.messages[0].content", '"Answer in French."', '"Answer in English."'),
        ("body$.max_tokens", "100", "200"),
        (
            "body$.deployment",
            '"accounts/fireworks/models/llama-v3p1-405b"',
            '"accounts/fireworks/models/llama-v3p1-70b"',
        ),
        ("url.path", '"/v1/run-8f3ab2c1"', '"/v1/run-77aa01b2"'),
        ("headers.openai-beta", '"run-8f3ab2c1"', '"run-77aa01b2"'),
        ("body.assertion", '"8f3ab2c1aaaa1bbb8f3ab2c1aaaa1bbb!"', '"77aa01b2cccc2ddd77aa01b2cccc2ddd?"'),
    ],
)
def test_what_means_something_gets_no_rule(path, asked, stored):
    assert rules(changed(path, asked, stored)) == {}


def test_a_value_that_no_path_reaches_is_named_by_its_pattern():
    for path in ("body$.messages[0].tool_calls[0].function.arguments$.id", "body.client_id"):
        (member,) = rules(changed(path, '"run-8f3ab2c1"', '"run-77aa01b2"'))["replace"]
        assert member.endswith('with = "ID" }')


def test_only_changed_values_get_a_rule():
    for kind in ("added", "removed", "order"):
        assert rules(Difference("body$.id", kind, '"run-8f3ab2c1"', '"run-77aa01b2"')) == {}


def test_each_rule_is_named_once_and_what_is_explained_is_counted():
    found = [
        changed("body$.messages[0].id", '"run-8f3ab2c1"', '"run-77aa01b2"'),
        changed("body$.temperature", "0", "1"),
        changed("body$.messages[1].id", '"run-8f3ab2c2"', '"run-77aa01b3"'),
    ]
    assert key_rules(found, RECORDED, TODAY) == ({"ids": ['"$.messages[*].id"']}, 2)


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("job 3fa85f64-5717-4562-b3fc-2c963f66afa6 done", "job 11a85f64-5717-4562-b3fc-2c963f66afb7 done"),
        ("at 2026-11-29T10:00:00Z now", "at 2026-11-20T09:30:11+01:00 now"),
        ("at 1764412345 now", "at 1764400000 now"),
        ("see /tmp/pytest-of-me/pytest-12/x.txt please", "see /tmp/pytest-of-me/pytest-3/x.txt please"),
        ("for run-8f3ab2c1 only", "for run-77aa01b2 only"),
        ("digest 0a1b2c3d4e5f ok", "digest 9f8e7d6c5b4a ok"),
    ],
)
def test_the_pattern_named_for_a_text_makes_the_two_share_a_key(asked, stored):
    requests = [
        Request("POST", "https://api.example.com/v1/x", (("content-type", "application/json"),), body)
        for body in (b'{"prompt":"%s"}' % text.encode() for text in (asked, stored))
    ]
    plain = Keyer()
    assert plain.key(requests[0]) != plain.key(requests[1])
    found, explained = key_rules(differences(*map(plain.parts, requests)), RECORDED, TODAY)
    assert explained == 1
    (member,) = tomllib.loads(f"replace = [{', '.join(found['replace'])}]")["replace"]
    keyer = Keyer(KeyRules(replace=(Replace(member["pattern"], member["with"]),)))
    assert keyer.key(requests[0]) == keyer.key(requests[1])

from __future__ import annotations

import socket

import pytest

from onetake.contract.checking import Checker
from onetake.contract.tree import SchemaTree
from onetake.contract.words import FORMATS
from onetake.errors import UsageError


def check(schema, value):
    return [str(violation) for violation in Checker(SchemaTree(schema)).check(value)]


@pytest.mark.parametrize("schema", [{"type": "integer"}, {"enum": [1]}, {"const": 1}])
def test_br_123_one_point_nought_is_an_integer(schema):
    assert check(schema, 1.0) == []
    assert check(schema, 1.5) != []


@pytest.mark.parametrize(
    ("schema", "value"),
    [({"enum": [1]}, True), ({"const": 0}, False), ({"type": "integer"}, True), ({"const": {"a": [1]}}, {"a": [True]})],
)
def test_br_124_true_is_not_one(schema, value):
    assert check(schema, value) != []


def test_br_124_unique_items_tell_true_from_one_and_not_one_from_one_point_nought():
    assert check({"uniqueItems": True}, [1, True]) == []
    assert check({"uniqueItems": True}, [1, 1.0]) == ["$: expected no repeated item, found [1, 1.0]"]


WRONG = {
    "date": "2026-02-30",
    "date-time": "2026-01-01T00:00:00",
    "duration": "1 day",
    "email": "nobody",
    "hostname": "-a-",
    "idn-email": "nobody",
    "idn-hostname": "-a-",
    "ipv4": "1.2.3.256",
    "ipv6": "1::2::3",
    "iri": "no iri",
    "iri-reference": "a b",
    "json-pointer": "a",
    "regex": "(",
    "relative-json-pointer": "/a",
    "time": "25:00:00Z",
    "uri": "no uri",
    "uri-reference": "a b",
    "uri-template": "{a",
    "uuid": "not-a-uuid",
}


def test_br_119_there_is_a_wrong_value_for_every_format_that_is_offered():
    assert WRONG.keys() == FORMATS


@pytest.mark.parametrize("name", WRONG)
def test_br_119_every_format_is_asserted(name):
    schema = {"type": "string", "format": name}
    assert [line.partition(",")[0] for line in check(schema, WRONG[name])] == [f"$: expected format {name}"]


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), float("inf")])
def test_br_031_numbers_that_json_does_not_have_are_refused(value):
    assert check({}, {"a": [value]}) == [f"$.a[0]: expected a JSON number, found {value}"]


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("\ud800", '$: expected text without lone surrogates, found "\\ud800"'),
        ({"a\udfff": 1}, '$: expected keys that are text without lone surrogates, found "a\\udfff"'),
        ({1: 2}, "$: expected keys that are text without lone surrogates, found 1"),
        ({"a": {1, 2}}, '$.a: expected a JSON value, found "<set>"'),
        (nested(100_000), "$: expected at most 255 levels of nesting, found <list>"),
        (nested(255), None),
        (nested(256), "$: expected at most 255 levels of nesting, found " + "[" * 79 + "…"),
    ],
)
def test_odd_values_are_violations_and_never_raise(value, told):
    assert check({}, value) == ([told] if told else [])


def test_huge_integers_are_judged():
    assert check({"type": "integer"}, 10**5000) == []
    assert check({"maximum": 10}, 10**30) == [f"$: expected at most 10, found {10**30}"]


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"properties": {"x": {"pattern": "("}}}, "wrong at $.properties.x.pattern"),
        ({"patternProperties": {"(": {}}}, 'wrong at $.patternProperties["("]'),
        ({"required": "a"}, "wrong at $.required"),
        ({"allOf": {}}, "wrong at $.allOf"),
        ({"exclusiveMinimum": True}, "wrong at $.exclusiveMinimum"),
    ],
)
def test_a_schema_that_cannot_be_compiled_is_refused(schema, told):
    with pytest.raises(UsageError) as refused:
        Checker(SchemaTree(schema))
    assert told in str(refused.value)


def test_patterns_are_ecma_and_see_the_whole_text():
    assert check({"pattern": "^\\d+$"}, "٣") != []
    assert check({"pattern": "^\\p{Letter}+$"}, "é") == []
    assert check({"pattern": "^a$"}, "a\n") != []
    assert check({"pattern": "(?<!a)b"}, "b") == []


def test_a_pattern_that_explodes_is_given_up():
    (told,) = check({"pattern": "^(?=a)(a|a?)+\\1b$"}, "a" * 60 + "!")
    assert told.startswith("$: expected text that the pattern decides within its limit of steps")
    assert check({"pattern": "(a+)+$"}, "a" * 5000 + "!") != []


def test_no_socket_is_ever_opened(monkeypatch):
    tree = SchemaTree({"$defs": {"a": {}}})
    tree.root["$ref"] = "http://127.0.0.1:9/s.json"
    monkeypatch.setattr(socket, "socket", None)
    with pytest.raises(UsageError, match="nothing is fetched"):
        Checker(tree)

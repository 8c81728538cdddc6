from __future__ import annotations

import pytest

from onetake.contract.checking import Checker
from onetake.contract.tree import SchemaTree
from onetake.contract.violations import excerpt, violations
from onetake.model import Violation


def check(schema, value):
    return [str(violation) for violation in Checker(SchemaTree(schema)).check(value)]


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        ({"type": "integer"}, "7", '$: expected integer, found "7"'),
        ({"type": ["string", "null"]}, 7, "$: expected null or string, found 7"),
        ({"enum": ["a", "b", None]}, "c", '$: expected one of "a", "b", null, found "c"'),
        ({"enum": list(range(12))}, "c", '$: expected one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … (12 in all), found "c"'),
        ({"const": {"a": 1}}, 1, '$: expected {"a": 1}, found 1'),
        ({"minimum": 3}, 2, "$: expected at least 3, found 2"),
        ({"maximum": 3.5}, 4, "$: expected at most 3.5, found 4"),
        ({"exclusiveMinimum": 3}, 3, "$: expected more than 3, found 3"),
        ({"exclusiveMaximum": 3}, 3, "$: expected less than 3, found 3"),
        ({"multipleOf": 5}, 3, "$: expected a multiple of 5, found 3"),
        ({"minLength": 2}, "a", '$: expected at least 2 characters, found "a"'),
        ({"maxLength": 2}, "abc", '$: expected at most 2 characters, found "abc"'),
        ({"minItems": 2}, [1], "$: expected at least 2 items, found [1]"),
        ({"maxItems": 1}, [1, 2], "$: expected at most 1 items, found [1, 2]"),
        ({"minProperties": 1}, {}, "$: expected at least 1 keys, found {}"),
        ({"maxProperties": 0}, {"a": 1}, '$: expected at most 0 keys, found {"a": 1}'),
        ({"pattern": "^a"}, "b", '$: expected text that matches ^a, found "b"'),
        ({"contains": {"type": "string"}}, [1], "$: expected items that fit `contains`, found [1]"),
        ({"contains": {}, "minContains": 2}, [1], "$: expected items that fit `minContains`, found [1]"),
        ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2], "$: expected no other item, found [1, 2]"),
        ({"items": False}, [2], "$[0]: expected nothing here, found 2"),
        ({"not": {"type": "integer"}}, 3, '$: expected anything but {"type": "integer"}, found 3'),
        (
            {"propertyNames": {"maxLength": 2}},
            {"abc": 1},
            '$.abc: expected key name: at most 2 characters, found "abc"',
        ),
        ({"required": ["a b"]}, {}, '$["a b"]: expected required key, found missing'),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "$.b: expected required key, found missing"),
        ({"additionalProperties": False}, {"a": [1]}, "$.a: expected no other key, found [1]"),
        ({"additionalProperties": False, "properties": {}}, {"a": 1}, "$.a: expected no other key, found 1"),
        ({"unevaluatedProperties": False}, {"a": 1}, "$.a: expected no other key, found 1"),
        ({"additionalProperties": {"not": {}}}, {"a": 1}, "$.a: expected anything but {}, found 1"),
        (
            {"properties": {"a": {"properties": {"additionalProperties": False}}}},
            {"a": {"additionalProperties": {}}},
            "$.a.additionalProperties: expected nothing here, found {}",
        ),
        ({"oneOf": [{}, {}, {"type": "null"}]}, 1, "$: expected exactly one alternative that fits, not 2, found 1"),
    ],
)
def test_the_words_of_each_keyword(schema, value, told):
    assert check(schema, value) == [told]


def test_violations_are_sorted_by_path_with_indexes_as_numbers_and_told_once():
    found = [(("b",), "x", "y"), (("a", 10), "x", "y"), (("a", 9), "x", "y"), ((), "x", "y"), (("b",), "x", "y")]
    assert [violation.path for violation in violations(found)] == ["$", "$.a[9]", "$.a[10]", "$.b"]
    assert violations(found)[0] == Violation("$", "x", "y")


def branch(kind, **properties):
    tag = {"enum": kind} if isinstance(kind, list) else {"const": kind}
    return {"type": "object", "properties": {"kind": tag} | properties, "required": ["kind", *properties]}


INT, TEXT = {"type": "integer"}, {"type": "string"}
TAGGED = {
    "oneOf": [branch("a", n=INT, m=INT, o={"enum": [1]}), branch(["b", "c"], n=TEXT)],
    "unevaluatedProperties": False,
}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"kind": "a", "n": 1, "m": 2, "o": 3}, ["$.o: expected 1, found 3"]),
        ({"kind": "b", "n": 1}, ["$.n: expected string, found 1"]),
        ({"kind": "c", "n": 1, "zz": 1}, ["$.n: expected string, found 1", "$.zz: expected no other key, found 1"]),
        ({"kind": "d", "n": 1}, ['$.kind: expected "a" or one of "b", "c", found "d"']),
        ({"n": 1}, ["$.kind: expected required key, found missing"]),
        ("text", ['$: expected object, found "text"']),
        ({"kind": "b", "n": "x", "zz": 1}, ["$.zz: expected no other key, found 1"]),
    ],
)
def test_the_discriminator_picks_the_branch(answer, told):
    schema = TAGGED | {"discriminator": {"propertyName": "kind"}}
    assert check(schema, answer) == told
    assert check({"items": schema}, [answer]) == [line.replace("$", "$[0]", 1) for line in told]


def test_the_discriminator_wins_over_the_fewest_errors():
    answer = {"kind": "a", "n": "x", "m": "x", "o": "x"}
    told = ['$.m: expected integer, found "x"', '$.n: expected integer, found "x"', '$.o: expected 1, found "x"']
    assert check(TAGGED | {"discriminator": {"propertyName": "kind"}}, answer) == told


def test_without_a_discriminator_the_nearest_branch_is_told():
    schema = {"anyOf": [branch("a", n=INT, m=INT), branch("b", o=INT), {"type": "null"}]}
    assert check(schema, {"kind": "a", "n": 1, "m": "x"}) == ['$.m: expected integer, found "x"']
    assert check(schema, {"kind": "z"}) == ['$.kind: expected "a" or "b", found "z"']
    assert check(schema, 5) == ["$: expected object or null, found 5"]


def test_plain_alternatives_are_joined():
    assert check({"anyOf": [INT, {"type": "null"}, {"const": "all"}]}, "x") == [
        '$: expected integer or null or "all", found "x"'
    ]
    assert check({"anyOf": [TEXT | {"maxLength": 2}, {"type": "null"}]}, "abc") == [
        '$: expected at most 2 characters, found "abc"'
    ]


def test_a_union_in_a_union():
    schema = {"anyOf": [{"anyOf": [branch("a", n=INT), branch("b", n=INT)]}, {"type": "null"}]}
    assert check(schema, {"kind": "b", "n": "x"}) == ['$.n: expected integer, found "x"']


def test_a_key_is_no_extra_one_because_the_schema_that_describes_it_failed():
    schema = {
        "allOf": [{"properties": {"a": TEXT}}, {"$ref": "#/$defs/B"}],
        "$defs": {"B": {"properties": {"b": INT}, "patternProperties": {"^x-": INT}}},
        "unevaluatedProperties": False,
    }
    assert check(schema, {"a": 1, "b": "x", "x-1": "x", "c": 1}) == [
        "$.a: expected string, found 1",
        '$.b: expected integer, found "x"',
        "$.c: expected no other key, found 1",
        '$.x-1: expected integer, found "x"',
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("é", '"é"'),
        ("\x1b]0;x\x07\x9b", '"\\u001b]0;x\\u0007\\u009b"'),
        ("\u202eabc", '"\\u202eabc"'),
        ("\ud800", '"\\ud800"'),
        ("a" * 100, '"' + "a" * 78 + "…"),
        ("a" * 78, '"' + "a" * 78 + '"'),
        pytest.param(10**5000, "<int>", id="huge"),
        ({1, 2}, '"<set>"'),
    ],
)
def test_an_excerpt_is_short_and_safe_to_print(value, shown):
    assert excerpt(value) == shown


@pytest.mark.parametrize("before", range(0, 90, 6))
def test_an_excerpt_holds_no_part_of_a_secret(before):
    secret = "sk-proj-" + "Ab3dEf6hIj" * 5
    assert secret[:12] not in excerpt({"a": "y" * before + " " + secret})
    own = "Qz7Wx9Rt5Lk3Vb1"  # known to the project alone, which looks for it in what is told
    told = excerpt("y" * before + " " + own)
    assert own in told or own[:4] not in told


def test_an_excerpt_is_never_longer_than_its_room():
    assert len(excerpt("\u202e" * 100)) == 80
    assert len(excerpt(list(range(100)), 20)) == 20

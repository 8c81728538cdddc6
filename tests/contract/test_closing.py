from __future__ import annotations

import json

import pytest

from onetake.contract.checking import Checker
from onetake.contract.closing import close, digest
from onetake.contract.tree import SchemaTree
from onetake.contract.words import modern


def accepts(schema, answer):
    tree = SchemaTree(modern(schema))
    close(tree)
    return Checker(tree).check(answer) == ()


def closed(schema):
    tree = SchemaTree(modern(schema))
    close(tree)
    return tree.root


def obj(**properties):
    return {"type": "object", "properties": properties}


INT = {"type": "integer"}
CASES = {
    "root": (obj(a=INT), {"a": 1}, [()]),
    "no type": ({"properties": {"a": INT}}, {"a": 1}, [()]),
    "property": (obj(o=obj(a=INT)), {"o": {"a": 1}}, [(), ("o",)]),
    "item": ({"items": obj(a=INT)}, [{"a": 1}], [(0,)]),
    "prefix item": ({"prefixItems": [INT, obj(a=INT)], "items": obj(b=INT)}, [1, {"a": 1}, {"b": 1}], [(1,), (2,)]),
    "draft-07 items": ({"items": [obj(a=INT)]}, [{"a": 1}], [(0,)]),
    "nested lists": ({"items": {"items": {"items": obj(a=INT)}}}, [[[{"a": 1}]]], [(0, 0, 0)]),
    "map values": ({"additionalProperties": obj(a=INT)}, {"k": {"a": 1}}, [("k",)]),
    "pattern": ({"patternProperties": {"^x-": obj(a=INT)}}, {"x-1": {"a": 1}}, [(), ("x-1",)]),
    "disjoint patterns": (
        {"patternProperties": {"^x-": obj(a=INT), "^y-": obj(b=INT)}},
        {"x-1": {"a": 1}, "y-1": {"b": 1}},
        [(), ("x-1",), ("y-1",)],
    ),
    "contains": ({"contains": obj(a=INT)}, [{"a": 1}], [(0,)]),
    "unevaluated items": ({"prefixItems": [INT], "unevaluatedItems": obj(a=INT)}, [1, {"a": 1}], [(1,)]),
    "$ref at the root": ({"$ref": "#/$defs/A", "$defs": {"A": obj(o=obj(a=INT))}}, {"o": {"a": 1}}, [(), ("o",)]),
    "$ref through definitions": (
        obj(o={"$ref": "#/definitions/A"}) | {"definitions": {"A": obj(a=INT)}},
        {"o": {"a": 1}},
        [(), ("o",)],
    ),
    "$ref to a place": (
        obj(one=obj(a=INT), two={"$ref": "#/properties/one"}),
        {"one": {"a": 1}, "two": {"a": 1}},
        [(), ("one",), ("two",)],
    ),
    "$ref by $id": (
        {"$id": "https://example.test/s", "$ref": "a.json", "$defs": {"A": obj(a=INT) | {"$id": "a.json"}}},
        {"a": 1},
        [()],
    ),
    "recursion": (
        {"$ref": "#/$defs/N", "$defs": {"N": obj(v=INT, next={"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]})}},
        {"v": 1, "next": {"v": 2, "next": {"next": None}}},
        [(), ("next",), ("next", "next")],
    ),
    "recursion to the root": (
        obj(kids={"items": {"anyOf": [{"$ref": "#"}, obj(leaf=INT)]}}),
        {"kids": [{"kids": []}, {"leaf": 1}]},
        [(), ("kids", 0), ("kids", 1)],
    ),
    "allOf": ({"allOf": [obj(a=INT), obj(b=obj(c=INT))]}, {"a": 1, "b": {"c": 1}}, [(), ("b",)]),
    "allOf extends a target": (
        obj(o={"allOf": [{"$ref": "#/$defs/A"}, obj(b=INT)]}, p={"$ref": "#/$defs/A"}) | {"$defs": {"A": obj(a=INT)}},
        {"o": {"a": 1, "b": 1}, "p": {"a": 1}},
        [(), ("o",), ("p",)],
    ),
    "allOf narrows an inner object": (
        {"allOf": [obj(o=obj(a=INT, b=INT)), obj(o={"required": ["a"]})]},
        {"o": {"a": 1, "b": 1}},
        [(), ("o",)],
    ),
    "anyOf": ({"anyOf": [obj(a=INT), obj(b=obj(c=INT)), {"type": "null"}]}, {"b": {"c": 1}}, [(), ("b",)]),
    "oneOf": ({"oneOf": [obj(k={"const": 1}, a=INT), obj(k={"const": 2}, b=INT)]}, {"k": 2, "b": 1}, [()]),
    "oneOf with an open branch": (
        {"oneOf": [obj(k={"const": 1}) | {"additionalProperties": True}, obj(k={"const": 2}, b=INT)]},
        {"k": 2, "b": 1},
        [()],
    ),
    "alternatives share a name": (
        {"oneOf": [obj(k={"const": 1}, o=obj(a=INT)), obj(k={"const": 2}, o=obj(b=INT))]},
        {"k": 2, "o": {"b": 1}},
        [(), ("o",)],
    ),
    "if then": (
        obj(k=INT) | {"if": obj(k={"const": 1}), "then": obj(a=obj(b=INT)), "else": obj(c=INT)},
        {"k": 1, "a": {"b": 1}},
        [(), ("a",)],
    ),
    "if names the key": (
        {"if": obj(k={"const": 1}), "then": obj(a=INT), "else": obj(b=INT)},
        {"k": 2, "b": 1},
        [()],
    ),
    "dependentSchemas": (
        obj(a=INT) | {"dependentSchemas": {"a": obj(b=obj(c=INT))}},
        {"a": 1, "b": {"c": 1}},
        [(), ("b",)],
    ),
    "not": (obj(a=INT) | {"not": obj(a={"const": 2})}, {"a": 1}, [()]),
    "required only": ({"type": "object", "required": ["a"]}, {"a": {"any": 1}}, [()]),
    "either required": ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"b": 1}, [()]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_valid_answer_is_accepted(name):
    schema, answer, _ = CASES[name]
    assert accepts(schema, answer)


@pytest.mark.parametrize(("name", "path"), [(name, path) for name, case in CASES.items() for path in case[2]])
def test_an_extra_key_is_refused_at_every_level(name, path):
    schema, answer, _ = CASES[name]
    answer = json.loads(json.dumps(answer))
    at = answer
    for step in path:
        at = at[step]
    at["extra"] = 1
    assert not accepts(schema, answer)


@pytest.mark.parametrize("name", CASES)
def test_closing_twice_changes_nothing(name):
    once = closed(CASES[name][0])
    assert closed(once) == once


STAYS_OPEN = {
    "said so": (obj(a=INT) | {"additionalProperties": True}, {"b": 1}),
    "a schema for other keys": (obj(a=INT) | {"additionalProperties": INT}, {"b": 1}),
    "a target said so": ({"$ref": "#/$defs/A", "$defs": {"A": obj() | {"additionalProperties": True}}}, {"b": 1}),
    "every branch said so": ({"anyOf": [obj() | {"additionalProperties": True}, {"type": "null"}]}, {"b": 1}),
    "names are ruled": ({"type": "object", "propertyNames": {"maxLength": 1}}, {"b": 1}),
    "whole values": ({"type": "object", "enum": [{"b": 1}]}, {"b": 1}),
    "anything": ({}, {"b": 1}),
    "two branches add to one inner object": (
        {"allOf": [obj(o=obj(a=INT)), obj(o=obj(b=INT))]},
        {"o": {"a": 1, "b": 1}},
    ),
    "items and contains": ({"items": obj(a=INT, b=INT), "contains": obj(a={"const": 1})}, [{"a": 1, "b": 2}]),
    "a name and a pattern": (
        {"properties": {"x-1": obj(a=INT)}, "patternProperties": {"^x": obj(b=INT)}},
        {"x-1": {"a": 1, "b": 1}},
    ),
    "a place that another extends": (
        obj(one=obj(a=INT), two={"allOf": [{"$ref": "#/properties/one"}, obj(b=INT)]}),
        {"two": {"a": 1, "b": 1}},
    ),
    "a branch leaves other keys free": (
        {"allOf": [obj(o=obj(a=INT)), obj(o={"additionalProperties": INT})]},
        {"o": {"a": 1, "b": 1}},
    ),
}


@pytest.mark.parametrize("name", STAYS_OPEN)
def test_what_a_closing_would_wrong_stays_open(name):
    schema, answer = STAYS_OPEN[name]
    assert accepts(schema, answer)


def test_conditions_keep_their_meaning():
    inner = {"properties": {"m": obj(a={"const": 1})}, "required": ["m"]}
    base = obj(m=obj(a=INT, b=INT), n=INT)
    assert accepts(base | {"if": inner, "then": {"required": ["n"]}}, {"m": {"a": 1, "b": 1}, "n": 1})
    assert not accepts(base | {"if": inner, "then": {"required": ["n"]}}, {"m": {"a": 1, "b": 1}})
    assert not accepts(base | {"not": inner}, {"m": {"a": 1, "b": 1}})
    by_ref = {"not": {"$ref": "#/$defs/bad"}, "$defs": {"bad": inner}}
    assert not accepts(base | by_ref, {"m": {"a": 1, "b": 1}})
    counted = {"items": {"additionalProperties": True}, "contains": obj(a=INT), "maxContains": 1}
    assert not accepts(counted, [{"a": 1, "b": 1}, {"a": 1, "b": 1}])


def test_the_word_lies_beside_a_reference_and_never_in_a_branch_or_target():
    schema = closed(
        obj(o={"$ref": "#/$defs/A"}, p={"allOf": [{"$ref": "#/$defs/A"}, obj(b=INT)]}) | {"$defs": {"A": obj(a=INT)}}
    )
    assert schema["properties"]["o"] == {"$ref": "#/$defs/A", "unevaluatedProperties": False}
    assert schema["properties"]["p"] == {
        "allOf": [{"$ref": "#/$defs/A"}, obj(b=INT)],
        "unevaluatedProperties": False,
    }
    assert schema["$defs"] == {"A": obj(a=INT)}
    assert schema["unevaluatedProperties"] is False


def test_close_says_what_stayed_open_and_why():
    tree = SchemaTree(
        {"allOf": [obj(o=obj(a=INT)), obj(o=obj(b=INT))], "properties": {"n": {"propertyNames": {}} | obj()}}
    )
    left = {tree.nodes[key].path: why for key, why in close(tree).items()}
    assert left == {
        ("allOf", 0, "properties", "o"): "another schema adds keys to the same object",
        ("allOf", 1, "properties", "o"): "another schema adds keys to the same object",
        ("properties", "n"): "whole values or the key names are given",
    }


TICKET = {
    "title": "Ticket",
    "type": "object",
    "properties": {
        "title": {"type": "string", "title": "Title", "description": "What it is about", "examples": ["x"]},
        "default": {"enum": [{"title": 1}], "$comment": "data below enum is no annotation"},
        "items": {"type": "array", "items": {"type": "number", "maximum": 10, "default": 1}},
    },
    "required": ["title"],
    "unevaluatedProperties": False,
}
GOLDEN = "485276897f15f9982c7e23f372be84db1141065f9565ac2c017188f4fec34101"


def test_the_digest_is_pinned():
    assert digest(TICKET) == GOLDEN


def test_annotations_move_nothing_and_properties_of_their_names_do():
    bare = json.loads(json.dumps(TICKET))
    del bare["title"], bare["properties"]["items"]["items"]["default"]
    bare["properties"]["title"] = {"type": "string"}
    bare["properties"]["items"]["items"]["maximum"] = 10.0
    assert digest(dict(reversed(bare.items()))) == GOLDEN
    without = json.loads(json.dumps(bare))
    del without["properties"]["default"]
    assert digest(without) != GOLDEN
    bare["properties"]["default"]["enum"] = [{"title": 2}]
    assert digest(bare) != GOLDEN

from __future__ import annotations

import pytest

from onetake.contract.regions import compatible, matches, survey
from onetake.contract.tree import SchemaTree
from onetake.errors import UsageError


def region(schema):
    return survey(SchemaTree(schema), schema)


def test_names_come_from_every_branch_and_target():
    here = region(
        {
            "properties": {"a": {}},
            "allOf": [{"$ref": "#/$defs/B"}],
            "anyOf": [{"properties": {"c": {}}}],
            "then": {"patternProperties": {"^x-": {}}},
            "dependentSchemas": {"a": {"required": ["d"]}},
            "if": {"properties": {"e": {}}},
            "not": {"properties": {"f": {}}},
            "$defs": {"B": {"properties": {"b": {}}}},
        }
    )
    assert here.names == {"a", "b", "c"}
    assert here.mentioned == {"d", "e"}
    assert (here.covers("a"), here.covers("x-1"), here.covers("d")) == (True, True, False)


@pytest.mark.parametrize(
    ("schema", "described"),
    [
        ({}, False),
        ({"type": "object"}, True),
        ({"type": ["null", "object"]}, True),
        ({"type": "string", "properties": {"a": {}}}, False),
        ({"required": ["a"]}, True),
        ({"anyOf": [{"type": "string"}, {"properties": {"a": {}}}]}, True),
        ({"items": {"type": "object"}}, False),
        ({"not": {"type": "object"}}, False),
    ],
)
def test_whether_an_object_is_described(schema, described):
    assert region(schema).describes is described


OPEN, SILENT = {"additionalProperties": True}, {"properties": {"a": {}}}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (OPEN, True),
        ({"unevaluatedProperties": False}, True),
        (SILENT, False),
        ({"allOf": [OPEN, SILENT]}, True),
        ({"$ref": "#/$defs/O", "$defs": {"O": OPEN}}, True),
        ({"anyOf": [OPEN, OPEN]}, True),
        ({"anyOf": [OPEN, SILENT]}, False),
        ({"oneOf": [OPEN, True]}, False),
        ({"if": {}, "then": OPEN, "else": OPEN}, True),
        ({"if": {}, "then": OPEN}, False),
        ({"dependentSchemas": {"a": OPEN}}, False),
        ({"properties": {"a": OPEN}}, False),
    ],
)
def test_whether_other_keys_are_spoken_of_on_every_way(schema, said):
    assert region(schema).said is said


@pytest.mark.parametrize(
    ("schema", "fixed"),
    [
        ({"const": {"a": 1}}, True),
        ({"enum": ["a", {}]}, True),
        ({"enum": ["a"]}, False),
        ({"anyOf": [{"const": {}}, SILENT]}, True),
        ({"propertyNames": {"maxLength": 3}}, True),
    ],
)
def test_whether_whole_values_or_names_are_given(schema, fixed):
    assert region(schema).fixed is fixed


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"anyOf": [{"type": "string"}, {"$ref": "#"}]},
        {"$ref": "#/$defs/A", "$defs": {"A": {"allOf": [{"$ref": "#/$defs/B"}]}, "B": {"$ref": "#/$defs/A"}}},
    ],
)
def test_a_reference_in_a_circle_is_refused(schema):
    with pytest.raises(UsageError, match="round in a circle"):
        region(schema)


def test_two_branches_of_one_alternative_never_apply_together():
    assert compatible(frozenset({(1, "anyOf", 0)}), frozenset({(1, "anyOf", 0), (2, "oneOf", 1)}))
    assert not compatible(frozenset({(1, "anyOf", 0)}), frozenset({(1, "anyOf", 1)}))


def test_a_pattern_that_python_cannot_compile_may_match_anything():
    assert matches(r"^\p{Letter}+$", "7")
    assert not matches("^a", "b")

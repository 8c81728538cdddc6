import pytest

from onetake.contract import violations_as_written
from onetake.dialects.gemini_schema import json_schema


@pytest.mark.parametrize(
    ("own", "meant"),
    [
        ({"type": "STRING"}, {"type": "string"}),
        ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a"]}),
        ({"type": "TYPE_UNSPECIFIED", "description": "x"}, {"description": "x"}),
        ({"type": "STRING", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": "STRING", "nullable": False}, {"type": "string"}),
        ({"type": "INTEGER", "format": "enum", "enum": ["101"]}, {"type": "integer", "format": "enum", "enum": [101]}),
        ({"type": ["STRING", "NULL"]}, {"type": ["string", "null"]}),
        ({"type": "ARRAY", "minItems": "2", "max_items": 3}, {"type": "array", "minItems": 2, "maxItems": 3}),
        ({"type": "STRING", "example": "x", "maxLength": "5"}, {"type": "string", "maxLength": 5}),
        (
            {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}], "nullable": True},
            {"anyOf": [{"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "null"}]},
        ),
        (
            {"type": "OBJECT", "properties": {"nullable": {"type": "BOOLEAN"}, "a_b": {"type": "NUMBER"}}},
            {"type": "object", "properties": {"nullable": {"type": "boolean"}, "a_b": {"type": "number"}}},
        ),
        (
            {"ref": "#/defs/Pet", "nullable": True, "defs": {"Pet": {"type": "OBJECT"}}},
            {
                "anyOf": [{"$ref": "#/$defs/Pet"}, {"type": "null"}],
                "$defs": {"Pet": {"type": "object"}},
            },
        ),
        (
            {"type": "OBJECT", "additionalProperties": {"type": "STRING"}, "propertyOrdering": ["b", "a"]},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        ({"type": "OBJECT", "additional_properties": False}, {"type": "object", "additionalProperties": False}),
        ({"items": 7, "properties": [], "anyOf": "x", "type": 3}, {"items": 7, "properties": [], "anyOf": "x"}),
    ],
)
def test_the_own_dialect_as_json_schema(own, meant):
    assert json_schema(own) == meant


def test_the_given_schema_stays_as_it_is():
    own = {"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "nullable": True, "enum": ["1"]}}}
    json_schema(own)
    assert own == {"type": "OBJECT", "properties": {"n": {"type": "INTEGER", "nullable": True, "enum": ["1"]}}}


def test_a_schema_that_is_too_deep_ends_somewhere():
    own = {"type": "STRING"}
    for _ in range(5_000):
        own = {"type": "ARRAY", "items": own}
    meant, depth = json_schema(own), 0
    while "items" in meant:
        meant, depth = meant["items"], depth + 1
    assert 100 < depth < 1_000


PET = {
    "type": "OBJECT",
    "properties": {
        "name": {"type": "STRING", "minLength": "1"},
        "owner": {"ref": "#/defs/Owner", "nullable": True},
        "kind": {"type": "STRING", "format": "enum", "enum": ["cat", "dog"]},
        "legs": {"type": "INTEGER", "format": "int32"},
    },
    "required": ["name", "legs"],
    "defs": {"Owner": {"type": "OBJECT", "properties": {"id": {"type": "INTEGER"}}, "required": ["id"]}},
}


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ({"name": "Bo", "legs": 4, "owner": None, "kind": "dog"}, []),
        ({"name": "Bo", "legs": 4, "owner": {"id": 1}}, []),
        ({"name": "Bo", "legs": 4, "owner": {}}, ["$.owner.id"]),
        ({"name": "", "legs": "4", "kind": "cow"}, ["$.kind", "$.legs", "$.name"]),
        ({"name": "Bo", "legs": None}, ["$.legs"]),
    ],
)
def test_it_judges_what_the_provider_promised(value, paths):
    found = violations_as_written(json_schema(PET), value, is_text=False)
    assert sorted({violation.path for violation in found}) == paths

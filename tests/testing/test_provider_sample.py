from __future__ import annotations

import jsonschema_rs
import pytest

from onetake.testing.provider_sample import sample

TREE = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name", "next", "children"],
        }
    },
}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 12},
        {"type": "string", "maxLength": 3},
        {"type": "integer", "minimum": 5, "maximum": 6},
        {"type": "integer", "exclusiveMinimum": 5},
        {"type": "number", "maximum": -3},
        {"type": "number", "exclusiveMaximum": 0},
        {"type": "array", "items": {"type": "boolean"}, "minItems": 3},
        {"type": "array", "items": {"type": "boolean"}, "maxItems": 0},
        {"type": ["string", "null"]},
        {"anyOf": [{"const": 7}, {"type": "null"}]},
        {"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"]},
        TREE,
    ],
)
def test_a_sample_meets_its_schema(schema):
    assert jsonschema_rs.is_valid(schema, sample(schema, "the text"))


def test_the_text_is_in_every_string():
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "string"}}}}
    assert sample(schema, "seen") == {"a": "seen", "b": ["seen"]}

from __future__ import annotations

import pytest

from onetake.contract.tree import SchemaTree
from onetake.errors import UsageError

ITEM = {"type": "integer"}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/item", "$defs": {"item": ITEM}},
        {"$ref": "#/definitions/item", "definitions": {"item": ITEM}},
        {"$ref": "#it", "$defs": {"item": ITEM | {"$anchor": "it"}}},
        {"$dynamicRef": "#it", "$defs": {"item": ITEM | {"$dynamicAnchor": "it"}}},
        {"$ref": "#/$defs/a%25b~1c", "$defs": {"a%b/c": ITEM}},
        {"$ref": "#/properties/n/prefixItems/0", "properties": {"n": {"prefixItems": [ITEM]}}},
        {"$id": "https://example.test/s#", "$ref": "https://example.test/s#/$defs/item", "$defs": {"item": ITEM}},
        {"$id": "https://example.test/s", "$ref": "item.json", "$defs": {"i": ITEM | {"$id": "item.json"}}},
        {"$id": "urn:example:s", "$ref": "#/$defs/item", "$defs": {"item": ITEM}},
    ],
)
def test_a_reference_leads_to_its_target(schema):
    (target,) = SchemaTree(schema).targets(schema)
    assert target["type"] == "integer"


def test_a_reference_to_the_root_and_to_true():
    schema = {"properties": {"again": {"$ref": "#"}, "any": {"$ref": "#/$defs/any"}}, "$defs": {"any": True}}
    tree = SchemaTree(schema)
    assert tree.targets(schema["properties"]["again"]) == [schema]
    assert tree.targets(schema["properties"]["any"]) == []


def test_br_121_a_reference_that_leads_nowhere_is_refused_with_the_nearest():
    with pytest.raises(UsageError) as refused:
        SchemaTree({"properties": {"owner": {"$ref": "#/$defs/Persn"}}, "$defs": {"Person": {}}})
    assert "'#/$defs/Persn' at $.properties.owner leads to no schema; did you mean '#/$defs/Person'?" in str(
        refused.value
    )


@pytest.mark.parametrize("ref", ["#nowhere", "#/type", "#/$defs/Person/title", "#/x-own/a", "#/$defs/Person/enum/9"])
def test_a_reference_to_what_is_no_schema_is_refused(ref):
    with pytest.raises(UsageError, match="leads to no schema"):
        SchemaTree(
            {"type": "object", "not": {"$ref": ref}, "$defs": {"Person": {"title": "P", "enum": [1]}}, "x-own": {}}
        )


@pytest.mark.parametrize("ref", ["http://127.0.0.1:9/s.json", "other.json", "file:///etc/hosts"])
def test_nothing_outside_the_document_is_fetched(ref):
    with pytest.raises(UsageError, match="nothing is fetched"):
        SchemaTree({"$ref": ref})


def test_metaschemas_are_known():
    schema = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    assert SchemaTree(schema).targets(schema) == []


def test_a_wrong_word_is_refused_at_any_depth_and_let_pass_on_demand():
    schema = {"$defs": {"D": {"items": {"anyOf": [{"minimun": 1}]}}}}
    with pytest.raises(
        UsageError, match=r"'minimun' at \$\[\"\$defs\"\]\.D\.items\.anyOf\[0\]; did you mean 'minimum'"
    ):
        SchemaTree(schema)
    assert SchemaTree(schema, words=False).root is schema


def test_follow_goes_through_keywords_and_references():
    schema = {
        "properties": {"items": {"items": {"oneOf": [{"$ref": "#/$defs/A"}]}}},
        "$defs": {"A": {"properties": {"v": ITEM}}},
    }
    tree = SchemaTree(schema)
    path = ["properties", "items", "items", "oneOf", 0, "$ref", "properties", "v"]
    assert tree.follow(path) is schema["$defs"]["A"]["properties"]["v"]
    assert tree.follow([*path, "type"]) is None
    assert tree.follow(["properties", "absent", "items"]) is None

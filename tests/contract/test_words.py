from __future__ import annotations

import pytest

from onetake.contract.words import FORMATS, KEYWORDS, Role, check_words, children, modern
from onetake.errors import UsageError


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"requried": ["a"]}, "'requried' at $.here; did you mean 'required'?"),
        ({"minlenght": 3}, "'minlenght' at $.here; did you mean 'minLength'?"),
        ({"addtionalProperties": False}, "'addtionalProperties' at $.here; did you mean 'additionalProperties'?"),
        ({"additional_properties": False}, "did you mean 'additionalProperties'?"),
        ({"one_of": []}, "did you mean 'oneOf'?"),
        ({"id": "x"}, "did you mean '$id'?"),
        ({"label": {}}, "'label' at $.here (words of your own: x-…)"),
        ({"nullable": True}, "'nullable' at $.here is OpenAPI's: add \"null\" to its `type`"),
        ({"type": "strng"}, "unknown type 'strng' at $.here; did you mean 'string'?"),
        ({"type": ["null", "int"]}, "unknown type 'int' at $.here; did you mean 'integer'?"),
        ({"format": "datetime"}, "format 'datetime' at $.here cannot be checked; did you mean 'date-time'?"),
        ({"format": "zzz"}, "format 'zzz' at $.here cannot be checked (use pattern)"),
    ],
)
def test_a_wrong_word_is_refused_with_the_nearest_and_the_path(schema, told):
    assert told in refused(schema)


def refused(schema, *, formats=True):
    """Return what is said of a schema's words, None where they pass."""
    try:
        return check_words(schema, ("here",), formats=formats)
    except UsageError as error:
        return str(error)


def test_own_words_annotations_and_right_words_pass():
    schema = dict.fromkeys([*KEYWORDS, "x-owner"], 1) | {"type": ["string", "null"], "format": "uuid"}
    assert refused(schema) is None
    assert "'y-owner'" in refused(schema | {"y-owner": 1})
    assert all(refused({"format": name}) is None for name in FORMATS)


def test_formats_are_left_to_a_type_where_asked():
    assert "'file-path'" in refused({"format": "file-path"})
    assert refused({"format": "file-path"}, formats=False) is None
    assert "'strng'" in refused({"format": "file-path", "type": "strng"}, formats=False)


def test_array_items_become_prefix_items():
    assert modern({"items": [{"type": "string"}, True], "additionalItems": False}) == {
        "prefixItems": [{"type": "string"}, True],
        "items": False,
    }
    assert modern({"items": [True]}) == {"prefixItems": [True]}


def test_additional_items_that_meant_nothing_go():
    assert modern({"properties": {"a": {"items": {}, "additionalItems": False}}}) == {
        "properties": {"a": {"items": {}}}
    }


def test_dependencies_become_their_two_words():
    assert modern({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}) == {
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"c": {"required": ["d"]}},
    }


def test_words_inside_data_stay():
    schema = {"const": {"$schema": 1, "items": [1]}, "default": {"dependencies": {"a": []}}}
    assert modern({"$schema": "http://json-schema.org/draft-07/schema#"} | schema) == schema


def test_the_copy_shares_nothing_with_what_was_given():
    inner = {"type": "string"}
    copied = modern({"properties": {"a": inner, "b": inner}})
    assert copied["properties"]["a"] is not copied["properties"]["b"]
    assert copied["properties"]["a"] is not inner


def test_array_items_beside_prefix_items_are_refused():
    with pytest.raises(UsageError, match="prefixItems"):
        modern({"items": [{}], "prefixItems": [{}]})


def test_what_is_no_json_is_refused():
    circle = {}
    circle["not"] = circle
    for schema in ({"maximum": float("nan")}, {"enum": {1, 2}}, {"title": "\ud800"}, circle):
        with pytest.raises(UsageError, match="no JSON"):
            modern(schema)


def test_children_say_where_they_apply():
    schema = {
        "properties": {"a": {"x-n": 1}},
        "items": {"x-n": 2},
        "anyOf": [{"x-n": 3}, True],
        "not": {"x-n": 4},
        "$defs": {"D": {"x-n": 5}},
        "allOf": "wrong",
        "then": 7,
    }
    found = {(child.steps, child.role) for child in children(schema)}
    assert found == {
        (("properties", "a"), Role.PLACE),
        (("items",), Role.PLACE),
        (("anyOf", 0), Role.BRANCH),
        (("anyOf", 1), Role.BRANCH),
        (("not",), Role.TEST),
        (("$defs", "D"), Role.TARGET),
    }


def test_contains_that_counts_upwards_only_asks():
    assert [child.role for child in children({"contains": {}})] == [Role.PLACE]
    assert [child.role for child in children({"contains": {}, "maxContains": 1})] == [Role.TEST]

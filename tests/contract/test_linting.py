from __future__ import annotations

import pytest

from onetake.contract.closing import close
from onetake.contract.linting import lint
from onetake.contract.tree import SchemaTree


def lines(schema):
    tree = SchemaTree(schema)
    return list(lint(tree, close(tree)))


def obj(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


INT, TEXT = {"type": "integer"}, {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        (obj(a=INT), []),
        (obj(a=INT) | {"additionalProperties": True}, ["$: other keys pass, with any value"]),
        (obj(a=INT) | {"additionalProperties": INT}, []),
        (obj(a=INT) | {"patternProperties": {".*": INT}}, ['$: every key passes: pattern ".*" matches all of them']),
        (obj(a={"description": "anything"}), ["$.properties.a: any value passes"]),
        (obj(a=True), ["$.properties.a: any value passes"]),
        ({"type": "object", "required": ["a"]}, ["$.properties.a: any value passes"]),
        ({"type": "object"}, ["$: only the empty object passes: no `properties`"]),
        ({"type": "object", "properties": {"a": INT}}, ["$: `{}` passes: no key is required"]),
        (obj(a={"type": "array"}), ["$.properties.a: items may be anything: no `items`"]),
        (
            obj(a={"type": "array", "prefixItems": [INT]}),
            ["$.properties.a: more items of any kind may follow: no `items` after `prefixItems`"],
        ),
        (
            {"type": "array", "items": True, "contains": obj(a=INT), "maxContains": 1},
            [
                "$.contains: other keys pass, because `maxContains` would count fewer items",
                "$.items: any value passes",
            ],
        ),
        ({"type": "array", "items": obj(a=INT), "contains": obj(a=INT), "maxContains": 1}, []),
        (obj(a={"minLength": 2}), ["$.properties.a: no `type`: values of other types pass"]),
        (obj(a={"enum": [1, "1", None]}), ["$.properties.a: `enum` holds values of several types"]),
        (obj(a={"enum": [1, 2.5, None]}), []),
        (obj(a=TEXT | {"pattern": r"^\d+$"}), ["$.properties.a: a number is asked for as text"]),
        (obj(a=TEXT | {"contentEncoding": "base64"}), ["$.properties.a: `contentEncoding` is not checked"]),
        (
            {"type": "object", "propertyNames": {"maxLength": 3}},
            ["$: other keys pass, because whole values or the key names are given"],
        ),
        (
            obj(a=INT) | {"allOf": [{"properties": {"o": obj(x=INT)}}, {"properties": {"o": obj(y=INT)}}]},
            [
                "$.allOf[0].properties.o: other keys pass, because another schema adds keys to the same object",
                "$.allOf[1].properties.o: other keys pass, because another schema adds keys to the same object",
            ],
        ),
    ],
)
def test_what_is_loose_is_named_with_its_path(schema, told):
    assert lines(schema) == told


def test_targets_are_looked_at_and_conditions_are_not():
    schema = obj(a={"$ref": "#/$defs/A"}) | {"$defs": {"A": obj(b={})}, "not": {"properties": {"c": {}}}}
    assert lines(schema) == ['$["$defs"].A.properties.b: any value passes']


def test_formats_that_only_a_type_judges():
    tree = SchemaTree({"type": "string", "format": "file-path"}, formats=False)
    assert lint(tree, close(tree)) == ("$: format 'file-path' is not checked by the schema",)

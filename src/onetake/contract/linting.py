"""What a closed schema still lets pass that its author may not mean."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from onetake import jsonpath
from onetake.contract.regions import Region, survey
from onetake.contract.tree import Node, SchemaTree
from onetake.contract.words import ANNOTATIONS, FORMATS, Role, Schema, Steps, children

_CATCH_ALL = frozenset({"", "^", "$", ".", ".*", ".+", "^.*", "^.+", ".*$", ".+$", "^.*$", "^.+$"})
_DIGITS = frozenset({r"^\d+$", r"^\d*$", "^[0-9]+$", "^[0-9]*$", r"^-?\d+$", r"^[+-]?\d+$", "^-?[0-9]+$"})
_NOT_CHECKED = ("contentEncoding", "contentMediaType", "contentSchema")


def lint(tree: SchemaTree, left: Mapping[int, str]) -> tuple[str, ...]:
    """Name what is still loose, one line each, by the JSON path into the schema.

    Args:
        tree: The closed schema.
        left: Why a described place stayed open, as `closing.close` returned it.
    """
    found = []
    for key, node in tree.nodes.items():
        where = jsonpath.show(node.path)
        if node.role is Role.TEST:
            continue
        if key in left:
            found.append(f"{where}: other keys pass, because {left[key]}")
        found += [f"{where}: {line}" for line in _own(node.schema)]
        if _counts_open_objects(tree, node.schema):
            found.append(f"{where}.contains: other keys pass, because `maxContains` would count fewer items")
        if node.role is Role.PLACE:
            found += [f"{where}: {line}" for line in _place(tree, node)]
        found += [f"{jsonpath.show(path)}: any value passes" for path in _any_values(node)]
    return tuple(sorted(dict.fromkeys(found)))


def _own(schema: Schema) -> Iterator[str]:
    if any(_says_nothing(schema.get(word)) for word in ("additionalProperties", "unevaluatedProperties")):
        yield "other keys pass, with any value"
    for pattern in schema.get("patternProperties", ()):
        if pattern in _CATCH_ALL:
            yield f"every key passes: pattern {json.dumps(pattern)} matches all of them"
    if schema.get("pattern") in _DIGITS:
        yield "a number is asked for as text"
    if len({_kind(value) for value in schema.get("enum", ())} - {"null"}) > 1:
        yield "`enum` holds values of several types"
    if isinstance(name := schema.get("format"), str) and name not in FORMATS:
        yield f"format {name!r} is not checked by the schema"
    for word in _NOT_CHECKED:
        if word in schema:
            yield f"`{word}` is not checked"


def _counts_open_objects(tree: SchemaTree, schema: Schema) -> bool:
    """Tell whether only a `contains` that had to stay open describes the objects of an array."""
    if not {"contains", "maxContains"} <= schema.keys():
        return False
    each, counted = (
        survey(tree, held) if isinstance(held := schema.get(word), dict) else Region() for word in ("items", "contains")
    )
    return counted.describes and not (counted.said or each.describes)


def _place(tree: SchemaTree, node: Node) -> Iterator[str]:
    here = survey(tree, node.schema)
    words = {word for schema, _, _ in here.members for word in schema}
    if not words - ANNOTATIONS:
        yield "any value passes"
    elif words.isdisjoint({"type", "const", "enum", "$ref", "$dynamicRef"}):
        yield "no `type`: values of other types pass"
    if here.describes and not here.fixed:
        if node.schema.get("unevaluatedProperties") is False and not here.names and not here.patterns:
            yield "only the empty object passes: no `properties`"
        elif here.names and not here.mentioned and "minProperties" not in words:
            yield "`{}` passes: no key is required"
    types = {name for schema, _, _ in here.members for name in _types(schema)}
    if "array" in types and words.isdisjoint({"items", "prefixItems", "unevaluatedItems"}):
        yield "items may be anything: no `items`"
    if "prefixItems" in words and words.isdisjoint({"items", "unevaluatedItems", "maxItems"}):
        yield "more items of any kind may follow: no `items` after `prefixItems`"


def _any_values(node: Node) -> Iterator[Steps]:
    """Find the values inside that are `true`; for other keys and items there are lines of their own."""
    for child in children(node.schema):
        if child.schema is True and child.keyword in ("properties", "patternProperties", "items", "prefixItems"):
            yield (*node.path, *child.steps)


def _says_nothing(held: Any) -> bool:
    return held is True or (isinstance(held, dict) and not held.keys() - ANNOTATIONS)


def _types(schema: Schema) -> list[str]:
    types = schema.get("type", [])
    return types if isinstance(types, list) else [types]


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return type(value).__name__

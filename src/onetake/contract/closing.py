"""Close a schema: where an object is described and nothing is said of other keys, other keys are refused.

`unevaluatedProperties: false` goes once to each *place* of the instance (the root, a property, an item, a map's value),
beside whatever describes the object there. Put into the branches of an `allOf`, or into a `$defs` target that several
places extend, it would refuse answers that are right.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from onetake.contract.regions import Region, Trail, compatible, matches, survey
from onetake.contract.tree import SchemaTree
from onetake.contract.words import ANNOTATIONS, Child, Role, Schema, children

_Value = tuple[Schema, Child, Trail]


def close(tree: SchemaTree) -> dict[int, str]:
    """Close every place of a tree's schema, in the schema itself. Closing twice changes nothing.

    Returns:
        Why a described place stays open, by the `id` of its schema.
    """
    regions = {key: survey(tree, node.schema) for key, node in tree.nodes.items()}
    opened = _extended(regions) | dict.fromkeys(_tested(tree), "a condition asks about it")
    left = {}
    for key, node in tree.nodes.items():
        here = regions[key]
        if node.role is not Role.PLACE or not here.describes or here.said:
            continue
        if here.fixed or key in opened:
            left[key] = "whole values or the key names are given" if here.fixed else opened[key]
            continue
        for name in sorted(here.mentioned - here.names):
            node.schema.setdefault("properties", {})[name] = True
        node.schema["unevaluatedProperties"] = False
    return left


def _tested(tree: SchemaTree) -> set[int]:
    """Find what a condition asks about, through references too: closing it would turn the condition's answer."""
    waiting = [
        child.schema
        for node in tree.nodes.values()
        for child in children(node.schema)
        if child.role is Role.TEST and isinstance(child.schema, dict)
    ]
    found: set[int] = set()
    while waiting:
        schema = waiting.pop()
        if id(schema) not in found:
            found.add(id(schema))
            waiting += tree.targets(schema)
            waiting += [child.schema for child in children(schema) if isinstance(child.schema, dict)]
    return found


def _extended(regions: dict[int, Region]) -> dict[int, str]:
    """Find the places whose keys another schema adds to from outside, where their own closing could not see it."""
    found = set()
    for here in regions.values():
        for schema, _, trail in here.members:
            together = set().union(*(own for _, own, other in here.members if compatible(trail, other)))
            if not together <= regions[id(schema)].keys():
                found.add(id(schema))
        found |= {id(first[1].schema) for first, second in _meetings(here) if _adds(second, first, regions)}
    return dict.fromkeys(found, "another schema adds keys to the same object")


def _meetings(here: Region) -> Iterator[tuple[_Value, _Value]]:
    """Yield each two subschemas that may apply to one value inside, both ways round."""
    named: dict[Any, list[_Value]] = {}
    for value in here.values:
        named.setdefault(value[1].step if value[1].keyword == "properties" else None, []).append(value)
    others = named.pop(None, [])
    pairs = [(one, two) for same in named.values() for one in same for two in same if one is not two]
    pairs += [pair for one in others for two in here.values if one is not two for pair in ((one, two), (two, one))]
    return (pair for pair in pairs if _meet(*pair))


def _adds(other: _Value, value: _Value, regions: dict[int, Region]) -> bool:
    if not isinstance(other[1].schema, dict) or not isinstance(value[1].schema, dict):
        return False
    theirs, ours = regions[id(other[1].schema)], regions[id(value[1].schema)]
    return theirs.said or theirs.fixed or not theirs.keys() <= ours.keys()


def _meet(first: _Value, second: _Value) -> bool:
    (holder, one, trail), (other_holder, two, other_trail) = first, second
    of_objects = one.keyword.endswith("roperties")
    if of_objects != two.keyword.endswith("roperties") or not compatible(trail, other_trail):
        return False
    return (_keys_meet if of_objects else _items_meet)(one, two, holder is other_holder)


def _keys_meet(one: Child, two: Child, same_holder: bool) -> bool:
    words = {one.keyword, two.keyword}
    if words == {"properties"}:
        return one.step == two.step
    if words == {"properties", "patternProperties"}:
        name, pattern = (one, two) if one.keyword == "properties" else (two, one)
        return matches(str(pattern.step), str(name.step))
    if words == {"patternProperties"}:
        start, other = _prefix(str(one.step)), _prefix(str(two.step))
        return start.startswith(other) or other.startswith(start)
    return not same_holder


def _items_meet(one: Child, two: Child, same_holder: bool) -> bool:
    if one.keyword == two.keyword == "prefixItems":
        return one.step == two.step
    return not same_holder or "contains" in (one.keyword, two.keyword)


def _prefix(pattern: str) -> str:
    """Return the text that every match starts with, as far as it is plain."""
    found = re.match(r"\^([\w-]*)(.?)", pattern)
    if found is None or "|" in pattern:
        return ""
    return found[1][:-1] if found[2] in ("?", "*", "{") else found[1]


def digest(schema: Schema) -> str:
    """Return the SHA-256 of a schema without its annotations: 64 lower-case hex digits, stable for ever.

    Only keywords are left out, never properties of those names; keys are sorted, `1.0` counts as `1`.
    """
    text = json.dumps(_whole(_bare(schema)), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _bare(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    kept = {word: value for word, value in schema.items() if word not in ANNOTATIONS}
    for child in children(schema):
        if child.step is None:
            kept[child.keyword] = _bare(child.schema)
            continue
        if kept[child.keyword] is schema[child.keyword]:
            kept[child.keyword] = schema[child.keyword].copy()
        kept[child.keyword][child.step] = _bare(child.schema)
    return kept


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    return value

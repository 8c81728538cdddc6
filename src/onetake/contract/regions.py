"""What all the schemas that apply in place, through branches and references, say of one object."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from onetake import jsonpath
from onetake.contract.tree import SchemaTree
from onetake.contract.words import Child, Role, Schema, children
from onetake.errors import UsageError

_OBJECT_WORDS = """
properties patternProperties additionalProperties unevaluatedProperties required dependentRequired
minProperties maxProperties
"""
_CHOICES = ("anyOf", "oneOf")

Trail = frozenset[tuple[int, str, str | int | None]]
"""The alternatives that lead to a subschema: (`id` of the holder, keyword, branch) of each `anyOf`, `oneOf`, `if`."""


@dataclass(slots=True)
class Region:
    """What is said at one place; `names` and `patterns` are those of `properties` and `patternProperties`."""

    names: set[str] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)
    mentioned: set[str] = field(default_factory=set)
    """Keys that are required or asked about; they may be there though no `properties` has them."""
    describes: bool = False
    """Something says that an object may be here."""
    said: bool = False
    """Other keys are spoken of on every way through the alternatives."""
    fixed: bool = False
    """Whole values (`const`, `enum`) or the names themselves (`propertyNames`) are given, which evaluate no key."""
    values: list[tuple[Schema, Child, Trail]] = field(default_factory=list)
    """(holder, child, trail) of the subschemas that apply to values inside."""
    members: list[tuple[Schema, set[str], Trail]] = field(default_factory=list)
    """(schema, its own keys, trail) of every schema that takes part."""

    def keys(self) -> set[str]:
        """Return every key that is named here, patterns in slashes."""
        return self.names | self.mentioned | {f"/{pattern}/" for pattern in self.patterns}

    def covers(self, key: str) -> bool:
        """Tell whether a key is one that these schemas describe."""
        return key in self.names or any(matches(pattern, key) for pattern in self.patterns)


def survey(tree: SchemaTree, schema: Schema) -> Region:
    """Survey the place at a schema.

    Raises:
        UsageError: A reference leads back to where it started without entering the value: it could never be checked.
    """
    found = Region()
    found.said = _add(tree, schema, found, frozenset(), ())
    return found


def compatible(trail: Trail, other: Trail) -> bool:
    """Tell whether two subschemas may apply together: no alternative's two branches are needed for it."""
    taken = {(holder, keyword): branch for holder, keyword, branch in trail}
    return all(taken.get((holder, keyword), branch) == branch for holder, keyword, branch in other)


def matches(pattern: str, key: str) -> bool:
    """Tell whether a pattern may match a key; one that Python cannot compile may match any."""
    try:
        return re.search(pattern, key) is not None
    except re.error:
        return True


def _add(tree: SchemaTree, schema: Schema, found: Region, trail: Trail, above: tuple[int, ...]) -> bool:
    """Add a schema to a region; return whether it speaks of other keys."""
    if id(schema) in above:
        raise UsageError(f"the reference at {jsonpath.show(tree.nodes[above[-1]].path)} goes round in a circle")
    above = (*above, id(schema))
    own = _note_own(schema, found)
    found.members.append((schema, own, trail))
    said = "additionalProperties" in schema or "unevaluatedProperties" in schema
    for target in tree.targets(schema):
        said |= _add(tree, target, found, trail, above)
    ways: dict[str, list[bool]] = {}
    for child in children(schema):
        if child.role is Role.PLACE:
            found.values.append((schema, child, trail))
        elif child.role is Role.BRANCH:
            spoken = isinstance(child.schema, dict) and _add(
                tree, child.schema, found, trail | _way(schema, child), above
            )
            ways.setdefault(child.keyword, []).append(spoken)
        elif child.keyword == "if" and isinstance(child.schema, dict):
            asked = Region()
            _add(tree, child.schema, asked, frozenset(), above)
            found.mentioned |= asked.keys()
            own |= asked.keys()
    return said or _on_every_way(ways)


def _on_every_way(ways: dict[str, list[bool]]) -> bool:
    chosen = any(all(ways[word]) for word in _CHOICES if word in ways)
    return chosen or any(ways.get("allOf", ())) or (any(ways.get("then", ())) and any(ways.get("else", ())))


def _way(holder: Schema, child: Child) -> Trail:
    if child.keyword in _CHOICES:
        return frozenset({(id(holder), child.keyword, child.step)})
    if child.keyword in ("then", "else"):
        return frozenset({(id(holder), "if", child.keyword)})
    return frozenset()


def _note_own(schema: Schema, found: Region) -> set[str]:
    """Note what a schema says itself; return the keys that it names."""
    own = Region(_names(schema, "properties"), _names(schema, "patternProperties"), _names(schema, "required"))
    found.names |= own.names
    found.patterns |= own.patterns
    found.mentioned |= own.mentioned
    types = schema.get("type")
    if types is None:
        found.describes |= not schema.keys().isdisjoint(_OBJECT_WORDS.split())
    else:
        found.describes |= "object" in (types if isinstance(types, list) else [types])
    whole = [schema["const"]] if "const" in schema else schema.get("enum", [])
    found.fixed |= "propertyNames" in schema
    found.fixed |= isinstance(whole, list) and any(isinstance(value, dict) for value in whole)
    return own.keys()


def _names(schema: Schema, word: str) -> set[str]:
    held: Any = schema.get(word)
    return {name for name in held if isinstance(name, str)} if isinstance(held, dict | list) else set()

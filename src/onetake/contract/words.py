"""The words of JSON Schema 2020-12: where each one's subschemas apply, and a no to words that it does not have."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from onetake import jsonpath, strictjson
from onetake.errors import UsageError
from onetake.settings_values import nearest

Schema = dict[str, Any]
Steps = tuple[str | int | None, ...]


class Role(StrEnum):
    """Where a subschema applies, seen from the schema that holds it."""

    PLACE = "place"
    """To a value inside the instance: a property, an item."""
    BRANCH = "branch"
    """To the same instance, beside its neighbours."""
    TEST = "test"
    """It only asks; what it refuses may still be right."""
    TARGET = "target"
    """Nowhere, until a `$ref` leads to it."""


_ROLES: Mapping[str, Role] = {
    **dict.fromkeys(("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"), Role.PLACE),
    **dict.fromkeys(("items", "prefixItems", "unevaluatedItems", "contains"), Role.PLACE),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"), Role.BRANCH),
    **dict.fromkeys(("if", "not", "propertyNames", "contentSchema"), Role.TEST),
    **dict.fromkeys(("$defs", "definitions"), Role.TARGET),
}
_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_IN_LISTS = frozenset({"prefixItems", "allOf", "anyOf", "oneOf"})

ANNOTATIONS = frozenset({"title", "description", "default", "examples", "$comment"})
"""What the digest leaves out."""

_OTHER_WORDS = """
$id $anchor $dynamicAnchor $ref $dynamicRef $vocabulary type enum const multipleOf maximum exclusiveMaximum
minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems maxContains minContains
maxProperties minProperties required dependentRequired format contentEncoding contentMediaType deprecated
readOnly writeOnly discriminator example externalDocs xml markdownDescription propertyOrdering
"""
KEYWORDS = frozenset(_ROLES) | ANNOTATIONS | frozenset(_OTHER_WORDS.split())

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")

_FORMATS = """
date date-time duration email hostname idn-email idn-hostname ipv4 ipv6 iri iri-reference json-pointer regex
relative-json-pointer time uri uri-reference uri-template uuid
"""
FORMATS = frozenset(_FORMATS.split())
"""Every format of JSON Schema 2020-12; the validator asserts all of them."""


@dataclass(frozen=True, slots=True)
class Child:
    """One subschema of a schema: the keyword and step under which it lies, and where it applies."""

    keyword: str
    step: str | int | None
    role: Role
    schema: Any

    @property
    def steps(self) -> Steps:
        """The steps from the holding schema to this one."""
        return (self.keyword,) if self.step is None else (self.keyword, self.step)


def children(schema: Schema) -> Iterator[Child]:
    """Yield the subschemas of a schema, true and false among them; what has the wrong shape is passed over."""
    for keyword, role in _ROLES.items():
        if keyword not in schema:
            continue
        held = schema[keyword]
        if keyword == "contains" and "maxContains" in schema:
            role = Role.TEST  # closed, it would count fewer items and so let more arrays pass
        if keyword in _BY_NAME:
            named: Iterable[tuple[Any, Any]] = held.items() if isinstance(held, dict) else ()
        elif keyword in _IN_LISTS:
            named = enumerate(held) if isinstance(held, list) else ()
        else:
            named = ((None, held),)
        for step, subschema in named:
            if isinstance(subschema, dict | bool):
                yield Child(keyword, step, role, subschema)


def modern(schema: Mapping[str, Any]) -> Schema:
    """Copy a schema and say in 2020-12's words what older drafts said otherwise.

    `$schema` goes (2020-12 counts whatever it says), array-form `items` become `prefixItems`, `additionalItems` become
    `items` or, where they meant nothing, go; `dependencies` become `dependentRequired` and `dependentSchemas`.

    Raises:
        UsageError: It is no JSON, holds a lone surrogate, or refers to itself as a Python object.
    """
    try:
        copied: Schema = strictjson.loads(json.dumps(dict(schema), allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the schema is no JSON: {error}") from None
    _modernise(copied)
    return copied


def _modernise(schema: Schema) -> None:
    schema.pop("$schema", None)
    rest = schema.pop("additionalItems", None)
    if isinstance(schema.get("items"), list):
        if "prefixItems" in schema:
            raise UsageError("`items` is an array beside `prefixItems`: keep one of them")
        schema["prefixItems"] = schema.pop("items")
        if rest is not None:
            schema["items"] = rest
    if isinstance(dependencies := schema.get("dependencies"), dict):
        del schema["dependencies"]
        for name, needs in dependencies.items():
            word = "dependentRequired" if isinstance(needs, list) else "dependentSchemas"
            schema.setdefault(word, {})[name] = needs
    for child in children(schema):
        if isinstance(child.schema, dict):
            _modernise(child.schema)


def check_words(schema: Schema, path: Steps, *, formats: bool) -> None:
    """Refuse unknown keywords, types and formats of one schema, naming the nearest right word and the path.

    Args:
        schema: The schema; its subschemas are not looked at.
        path: Where it lies, for the message.
        formats: False where somebody else judges the formats that the validator does not know.
    """
    where = jsonpath.show(path)
    for word in schema:
        if word == "nullable":
            raise UsageError(f"keyword 'nullable' at {where} is OpenAPI's: add \"null\" to its `type`")
        if word not in KEYWORDS and not word.startswith("x-"):
            raise UsageError(f"unknown keyword {word!r} at {where}{nearest(word, KEYWORDS, 'words of your own: x-…')}")
    given = schema.get("type", [])
    for word in given if isinstance(given, list) else [given]:
        if isinstance(word, str) and word not in TYPES:
            raise UsageError(f"unknown type {word!r} at {where}{nearest(word, TYPES, 'there are ' + ', '.join(TYPES))}")
    name = schema.get("format")
    if formats and isinstance(name, str) and name not in FORMATS:
        raise UsageError(f"format {name!r} at {where} cannot be checked{nearest(name, FORMATS, 'use pattern')}")

"""Gemini's own schema dialect, told as JSON Schema.

Source: the `Schema` message of the Gemini and Vertex APIs, as typed in google-genai 3.6.
"""

from __future__ import annotations

from typing import Any

from onetake.picking import value_or_text

_NAMES = {"$ref": "$ref", "$defs": "$defs", "ref": "$ref", "defs": "$defs"}
_MAPS = frozenset({"properties", "$defs"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLES = frozenset({"items", "additionalProperties"})
_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_DROPPED = frozenset({"propertyOrdering", "example", "nullable", "type", "enum"})
_WHOLE = frozenset({"$ref", "anyOf", "oneOf", "allOf", "const"})
"""Keywords that no null fits beside, unless the whole schema is one of two."""
_DEEPEST = 200
"""Levels of nesting that are read; the validator reads few more."""


def json_schema(schema: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return the JSON Schema that a schema of Gemini's dialect means.

    Types are in upper case there, `nullable` adds null, counts are texts (they are 64-bit integers), names may be in
    snake case, and a definition is referred to as `#/defs/Name`. What JSON Schema says in the same words stays as it
    is.
    """
    told: dict[str, Any] = {}
    for name, value in schema.items() if depth < _DEEPEST else ():
        name = _NAMES.get(name) or _camel(name)
        if name in _MAPS and isinstance(value, dict):
            told[name] = {key: _inner(item, depth) for key, item in value.items()}
        elif name in _LISTS and isinstance(value, list):
            told[name] = [_inner(item, depth) for item in value]
        elif name in _SINGLES:
            told[name] = _inner(value, depth)
        elif name == "$ref" and isinstance(value, str):
            told[name] = value.replace("#/defs/", "#/$defs/", 1)
        elif name in _COUNTS and isinstance(value, str):
            told[name] = value_or_text(value)
        elif name not in _DROPPED:
            told[name] = value
    told |= _typed(schema)
    return _or_null(told) if schema.get("nullable") is True else told


def _inner(schema: Any, depth: int) -> Any:
    return json_schema(schema, depth + 1) if isinstance(schema, dict) else schema


def _typed(schema: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    given = schema.get("type")
    kinds = [kind.lower() for kind in (given if isinstance(given, list) else [given]) if isinstance(kind, str)]
    if kinds := [kind for kind in kinds if kind != "type_unspecified"]:
        told["type"] = kinds if isinstance(given, list) else kinds[0]
    if isinstance(choices := schema.get("enum"), list):
        # They are texts there, whatever the type.
        texts = not kinds or "string" in kinds
        told["enum"] = [one if texts or not isinstance(one, str) else value_or_text(one) for one in choices]
    return told


def _or_null(told: dict[str, Any]) -> dict[str, Any]:
    if told.keys() & _WHOLE:
        outside = {"$defs": told.pop("$defs")} if "$defs" in told else {}
        return {"anyOf": [told, {"type": "null"}], **outside}
    if (kind := told.get("type")) is not None:
        told["type"] = [*(kind if isinstance(kind, list) else [kind]), "null"]
    if "enum" in told:
        told["enum"] = [*told["enum"], None]
    return told


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest) if first else name

"""A value that a JSON Schema admits, so that an answer nobody scripted still keeps its contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SHALLOW = 8
"""Below this depth a schema that contains itself is brought to an end."""


def sample(schema: Mapping[str, Any] | bool, text: str) -> Any:
    """Return a small value for a schema: every named property, one item an array, *text* in every string.

    Knows `$ref` within the schema, `const`, `enum`, `anyOf`, `oneOf` and `allOf` (one branch), `type` and the
    bounds of length and number; what is bound by `pattern` or `format` must be scripted.
    """
    return _sample(schema, text, schema if isinstance(schema, Mapping) else {}, 0)


def _sample(schema: Any, text: str, root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > 4 * _SHALLOW:
        return None
    if "$ref" in schema:
        return _sample(_target(root, schema["$ref"]), text, root, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            branch = schema[union][0 if depth < _SHALLOW else -1]
            return _sample(branch, text, root, depth + 1)
    return _of_type(schema, text, root, depth)


def _target(root: Mapping[str, Any], ref: str) -> Any:
    found: Any = root
    for name in ref.removeprefix("#").split("/")[1:]:
        found = found[name.replace("~1", "/").replace("~0", "~")]
    return found


def _of_type(schema: Mapping[str, Any], text: str, root: Mapping[str, Any], depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "null")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            properties = schema.get("properties", {})
            return {name: _sample(value, text, root, depth + 1) for name, value in properties.items()}
        case "array":
            usual = 1 if depth < _SHALLOW else 0
            count = max(schema.get("minItems", 0), min(usual, schema.get("maxItems", 1)))
            return [_sample(schema.get("items", {}), text, root, depth + 1) for _ in range(count)]
        case "string":
            return text[: schema.get("maxLength", len(text))].ljust(schema.get("minLength", 0), ".")
        case "integer":
            return _number(schema, 1)
        case "number":
            return _number(schema, 0.5)
        case "boolean":
            return True
        case _:
            return None


def _number(schema: Mapping[str, Any], step: float) -> float:
    low: float = schema.get("minimum", schema.get("exclusiveMinimum", -step) + step)
    high: float = schema.get("maximum", schema.get("exclusiveMaximum", low + step) - step)
    return low if low <= high else high

"""What a validator found, in words: JSON path, what was expected, what was found."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onetake import jsonpath
from onetake.contract.regions import survey
from onetake.contract.tree import SchemaTree
from onetake.model import Violation

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, ValidationErrorKind

Steps = tuple[str | int, ...]

EXCERPT = 80
"""The longest excerpt of a value in a violation, in characters."""

_HELD = 8192
"""Characters behind an excerpt in which a secret that begins in it has its end."""
_MAY_BE_SECRET = re.compile(r"[!#-\[\]-~]{8,}")
_DISTINCT = 4
"""Characters that a secret has at least; a word with fewer is a filler."""
_UNSAFE = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_OPTIONS = 10


@dataclass(frozen=True, slots=True)
class Fault:
    """One error of a validator; `error` is there where a decision needs the place that raised it."""

    steps: Steps
    keyword: str
    expected: str
    error: ValidationError


def excerpt(value: Any, room: int = EXCERPT) -> str:
    """Return a value as JSON on one line, cut to *room* characters; control and bidi characters are escaped.

    The list's secrets are scrubbed before it is cut; and no cut goes through a word that may be one of somebody's own,
    as a part of a secret is known to no scrub.
    """
    from onetake.scrub import shown  # most answers are as they should be, and it is slow to load

    try:
        text = json.dumps(value, ensure_ascii=False, default=lambda odd: f"<{type(odd).__name__}>")
    except (ValueError, TypeError, RecursionError):
        text = f"<{type(value).__name__}>"
    text = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", shown(text[: room + _HELD]))
    return text if len(text) <= room else _begun(text, room - 1) + "…"


def _begun(text: str, length: int) -> str:
    behind = next((word for word in _MAY_BE_SECRET.finditer(text) if word.end() > length), None)
    is_cut = behind is not None and behind.start() < length and len(set(behind[0])) >= _DISTINCT
    return text[: behind.start()] if behind and is_cut else text[:length]


def no_json(text: str, why: str, room: int = EXCERPT) -> str:
    """Say what a text is that is no JSON.

    Args:
        text: The text.
        why: What its parser said.
        room: Longest result, in characters; for the text at least a quarter of what a violation has.
    """
    begun = text.lstrip(" \t\n\r")
    if not begun:
        return "an empty text"
    if begun.startswith("```"):
        why = "a Markdown fence: "
    elif why.startswith("Expecting value") and why.endswith(f"(char {len(text) - len(begun)})"):
        why = "text that begins "
    elif why.startswith("Extra data"):
        why = "JSON with more text behind it: "
    else:
        why = f"{excerpt(why)[1:-1]}: "
    return why + excerpt(begun, max(room - len(why), EXCERPT // 4))


def violations(found: Iterable[tuple[Sequence[str | int], str, str]]) -> tuple[Violation, ...]:
    """Return violations of (path steps, expected, found), sorted by path, each once."""
    told = {
        (tuple((isinstance(at, str), at) for at in steps), expected, what): Violation(
            jsonpath.show(tuple(steps)), expected, what
        )
        for steps, expected, what in found
    }
    return tuple(told[key] for key in sorted(told))


def explain(errors: Iterable[ValidationError], tree: SchemaTree, value: Any) -> tuple[Violation, ...]:
    """Turn a validator's errors into violations, sorted by path.

    In a failed `anyOf` or `oneOf` the errors of one branch are told: the one that the discriminator picks, else the one
    nearest to fitting. A key that is refused only because the schema that describes it failed is left out.
    """
    faults = _faults(errors, tree)
    told = [fault for fault in faults if not _is_echo(fault, faults, tree)]
    return violations((fault.steps, fault.expected, _found(value, fault)) for fault in told)


def _found(value: Any, fault: Fault) -> str:
    if fault.keyword == "required":
        return "missing"
    if fault.keyword == "propertyNames":
        return excerpt(fault.steps[-1])
    for step in fault.steps:
        value = value[step]
    return excerpt(value)


def _is_echo(fault: Fault, faults: list[Fault], tree: SchemaTree) -> bool:
    if fault.keyword != "unevaluatedProperties":
        return False
    place = fault.steps[:-1]
    below = (other for other in faults if other.steps[: len(place)] == place)
    others = any(other.keyword != fault.keyword or other.steps[:-1] != place for other in below)
    holder = tree.follow(fault.error.evaluation_path[:-1]) if others else None
    return holder is not None and survey(tree, holder).covers(str(fault.steps[-1]))


def _faults(errors: Iterable[ValidationError], tree: SchemaTree) -> list[Fault]:
    found: list[Fault] = []
    for error in errors:
        place, kind = tuple(error.instance_path), error.kind
        branches = getattr(kind, "context", None)
        if branches and all(branches):
            found += _of_union(place, [_faults(branch, tree) for branch in branches], _tag(error, tree))
        elif kind.name in ("additionalProperties", "unevaluatedProperties"):
            found += [Fault((*place, key), kind.name, "no other key", error) for key in kind.as_dict()["unexpected"]]
        elif kind.name == "falseSchema" and isinstance(error.instance, dict) and _refuses_all_keys(error, tree):
            found += [Fault((*place, key), kind.name, "no other key", error) for key in error.instance]
        elif kind.name == "required":
            found.append(Fault((*place, kind.as_dict()["property"]), "required", "required key", error))
        elif kind.name == "propertyNames":
            inner = kind.as_dict()["error"]
            found.append(Fault((*place, inner.instance), kind.name, f"key name: {_words(inner)}", error))
        else:
            found.append(Fault(place, kind.name, _words(error), error))
    return found


def _refuses_all_keys(error: ValidationError, tree: SchemaTree) -> bool:
    """Tell the keyword from a property of its name: only a keyword lies in a schema."""
    *holder, word = error.evaluation_path or [""]
    return word == "additionalProperties" and tree.follow(holder) is not None


def _tag(error: ValidationError, tree: SchemaTree) -> str | None:
    holder = tree.follow(error.evaluation_path[:-1]) or {}
    named = holder.get("discriminator")
    return named.get("propertyName") if isinstance(named, dict) else None


def _of_union(place: Steps, branches: list[list[Fault]], tag: str | None) -> list[Fault]:
    """Pick the branch that was meant; where none was, join what each expected at the point that tells them apart."""

    def decides(fault: Fault) -> bool:
        if fault.steps == place:
            return fault.keyword in ("type", "const", "enum")
        return fault.steps == (*place, tag) if tag else fault.keyword == "const" and fault.steps[:-1] == place

    def misfit(branch: list[Fault]) -> tuple[bool, int, int]:
        wrong = [fault for fault in branch if decides(fault)]
        return any(fault.steps == place for fault in wrong), len(wrong), len(branch)

    best = min(branches, key=misfit)
    wrong = next((fault for fault in best if decides(fault)), None)
    if wrong is None:
        return best
    expected = [fault.expected for branch in branches for fault in branch if fault.steps == wrong.steps]
    return [Fault(wrong.steps, wrong.keyword, " or ".join(dict.fromkeys(expected)), wrong.error)]


def _words(error: ValidationError) -> str:
    kind = error.kind
    if kind.name == "contains":
        return f"items that fit `{error.schema_path[-1]}`"
    if kind.name in ("anyOf", "oneOf"):
        fitting = sum(not branch for branch in kind.as_dict()["context"])
        return f"exactly one alternative that fits, not {fitting}"
    if kind.name == "pattern" and "pattern" not in kind.as_dict():
        return "text that the pattern decides within its limit of steps"
    return _WORDS[kind.name](kind) if kind.name in _WORDS else f"what `{kind.name}` asks for"


def _options(kind: ValidationErrorKind) -> str:
    options: list[Any] = kind.as_dict()["options"]
    shown = ", ".join(excerpt(option) for option in options[:_OPTIONS])
    more = f", … ({len(options)} in all)" if len(options) > _OPTIONS else ""
    return ("one of " if len(options) > 1 else "") + shown + more


def _limit(form: str) -> Callable[[ValidationErrorKind], str]:
    return lambda kind: form.format(next(iter(kind.as_dict().values())))


_WORDS: dict[str, Callable[[ValidationErrorKind], str]] = {
    "type": lambda kind: " or ".join(kind.as_dict()["types"]),
    "enum": _options,
    "const": lambda kind: excerpt(kind.as_dict()["expected_value"]),
    "minimum": _limit("at least {}"),
    "maximum": _limit("at most {}"),
    "exclusiveMinimum": _limit("more than {}"),
    "exclusiveMaximum": _limit("less than {}"),
    "multipleOf": _limit("a multiple of {}"),
    "minLength": _limit("at least {} characters"),
    "maxLength": _limit("at most {} characters"),
    "minItems": _limit("at least {} items"),
    "maxItems": _limit("at most {} items"),
    "minProperties": _limit("at least {} keys"),
    "maxProperties": _limit("at most {} keys"),
    "pattern": _limit("text that matches {}"),
    "format": _limit("format {}"),
    "uniqueItems": lambda kind: "no repeated item",
    "unevaluatedItems": lambda kind: "no other item",
    "not": lambda kind: f"anything but {excerpt(kind.as_dict()['schema'])}",
    "falseSchema": lambda kind: "nothing here",
}

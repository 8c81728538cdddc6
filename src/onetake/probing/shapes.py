"""The shape of JSON: which names there are and of which types their values, never the values themselves.

Lists have the union of their items' shapes, so that their length and order do not count; so have several values that
are taken in together, as the events of a stream.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from onetake.compare.likeness import same

FORM_WORDS = ("type", "object")
"""Names under which JSON APIs say, in a word of their own, what an object is; the first that is there counts."""
WORDS = (*FORM_WORDS, "role")
"""Names whose values are words of the API, and not data."""

_DEEPEST = 64
"""Levels that are walked; what lies deeper is of a type and has no shape."""
_NAME = re.compile(r"[A-Za-z_$@][\w$@.:/-]*")
_LONGEST_WORD = 64
_NUMBERS = {int, float}
"""Of a vector one number says what all do."""


@dataclass(slots=True)
class Shape:
    """What stands at one place, in all the values that were taken in.

    Args:
        types: JSON types: `null`, `boolean`, `number`, `string`, `array`, `object`.
        words: The words that stand there, where the name says that it holds one.
        forms: The fields of the objects, by the word that says what each is; empty for those that say none.
        items: The items of the arrays, or the values of objects whose names are data.
        spoken: How many characters of what the model said stand there; arguments of its tool calls count as enough.
        enough: How many make sure that it was said there: an API's own short word may be in a long text by chance.
        own: Whether anything else stands there, that is not empty.
    """

    types: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    forms: dict[str, dict[str, Shape]] = field(default_factory=dict)
    items: Shape | None = None
    spoken: int = 0
    enough: int = 1
    own: bool = False

    @property
    def said(self) -> bool:
        """Whether only what the model said stands there, which may be absent from another answer."""
        return self.spoken >= self.enough and not self.own


class Shaper:
    """Takes in values, each of which adds to one shape.

    Args:
        is_envelope: Whether they are of an API, whose objects say what they are; not of a model, for which `type` is
            a name like others.
        said: The texts of the answer in it, and the arguments of its tool calls: their inside is not the API's.
    """

    def __init__(self, *, is_envelope: bool = False, said: Collection[Any] = ()) -> None:
        self._is_envelope = is_envelope
        self._texts = [one for one in said if isinstance(one, str)]
        self._found: dict[str, bool] = {}
        self._arguments = [one for one in said if isinstance(one, (dict, list)) and one]
        self._enough = 1 + min(map(len, self._texts), default=0) // 2
        self.shape = Shape(enough=self._enough)

    def add(self, value: Any) -> None:
        """Take in a JSON value."""
        self._add(self.shape, value, "", 0)

    def _add(self, shape: Shape, value: Any, name: str, depth: int) -> None:
        kind = type_of(value)
        shape.types.add(kind)
        is_said = self._is_said(value)
        if is_said:
            shape.spoken += len(value) if kind == "string" else self._enough
        shape.own |= not is_said and value is not None and value != ""
        if self._is_envelope and name in WORDS and kind == "string" and len(value) <= _LONGEST_WORD:
            shape.words.add(value)
        if depth < _DEEPEST and not is_said:
            self._descend(shape, value, kind, depth + 1)

    def _descend(self, shape: Shape, value: Any, kind: str, depth: int) -> None:
        if value and (kind == "array" or (kind == "object" and self._is_map(value))):
            shape.items = shape.items or Shape(enough=self._enough)
            items = value if kind == "array" else list(value.values())
            for item in items[:1] if set(map(type, items)) <= _NUMBERS else items:
                self._add(shape.items, item, "", depth)
        elif kind == "object":
            fields = shape.forms.setdefault(self._form(value), {})
            for name, item in value.items():
                self._add(fields.setdefault(name, Shape(enough=self._enough)), item, name, depth)

    def _is_said(self, value: Any) -> bool:
        if isinstance(value, str):
            if value not in self._found:  # the ids of a stream stand in each of its events
                self._found[value] = bool(value) and any(value in text for text in self._texts)
            return self._found[value]
        return isinstance(value, (dict, list)) and any(same(value, one) for one in self._arguments)

    def _form(self, value: dict[str, Any]) -> str:
        words = (value.get(name) for name in FORM_WORDS) if self._is_envelope else ()
        return next((word for word in words if isinstance(word, str) and len(word) <= _LONGEST_WORD), "")

    def _is_map(self, value: Any) -> bool:
        """Tell whether an object's names are data (the tokens of log probabilities): no API has such fields."""
        return self._is_envelope and not all(map(_NAME.fullmatch, value))


def type_of(value: Any) -> str:
    """Return the JSON type of a value; there is one for all numbers, as `1` and `1.0` are the same."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, (list, tuple)) else "object"


def shape_of(*values: Any) -> Shape:
    """Return the one shape of values that a model said."""
    shaper = Shaper()
    for value in values:
        shaper.add(value)
    return shaper.shape

"""The known fields of the objects in an entry file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onetake.errors import FormatError
from onetake.format.sidecar import REMEDY


class _Absent:
    """Stands for a field that an object must have and has not."""


NEEDED = _Absent()
"""For `Fields`: an object without the field is damaged."""
_NOTHING: Mapping[str, Any] = {}
"""What all objects share that lack a field of this type: entries are read for every replay, and most lack several."""


class Fields:
    """The fields that this version knows of one object.

    Args:
        fields: Name, type, and what stands for a missing one: `NEEDED`, None, or a type for an empty value of it.
    """

    def __init__(self, *fields: tuple[str, type, Any]) -> None:
        self._names = tuple(name for name, _, _ in fields)
        self._kinds = tuple(kind for _, kind, _ in fields)
        self._missing = tuple(_EMPTY.get(missing, missing) for _, _, missing in fields)
        self._right: set[tuple[type, ...]] = set()

    def take(self, tree: dict[str, Any]) -> list[Any]:
        """Take the fields out of their object, so that what is left is what this version does not know.

        Args:
            tree: The object, as parsed; the caller's own.

        Returns:
            The values in order. A missing list is `()`.

        Raises:
            FormatError: A field is missing that must be there, or is of another type.
        """
        values = list(map(tree.pop, self._names, self._missing))
        types = tuple(map(type, values))
        if types not in self._right:
            self._check(values)
            self._right.add(types)
        return values

    def _check(self, values: list[Any]) -> None:
        for name, kind, missing, value in zip(self._names, self._kinds, self._missing, values, strict=True):
            if value is NEEDED:
                raise FormatError(f"the field {name} is missing: {REMEDY}")
            if type(value) is not kind and value is not missing:
                raise FormatError(f"the field {name} must be {_KINDS[kind]}: {REMEDY}")


_EMPTY: Mapping[Any, Any] = {str: "", list: (), dict: _NOTHING}
_KINDS: Mapping[type, str] = {str: "a string", int: "an integer", dict: "an object", list: "a list"}

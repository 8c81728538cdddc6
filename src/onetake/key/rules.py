"""The rules of the key spec that change a body before it is keyed: ignore, ids, volatile, replace, in this order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from onetake import jsonpath
from onetake.errors import UsageError
from onetake.jsonpath import Path
from onetake.key import volatile
from onetake.key.canonical import Number, dumps
from onetake.settings import KeyRules

ID_NAME = "$onetake:id"
"""An id that a rule numbers becomes `{"$onetake:id": 1}` in the keyed request."""


@dataclass(frozen=True, slots=True)
class BodyRules:
    """The checked rules. One that finds nothing in a body changes nothing in it."""

    ignore: tuple[Path, ...] = ()
    ids: tuple[Path, ...] = ()
    days: tuple[date, ...] = ()
    """The days whose spellings count as one; empty without `volatile`."""
    replaced: tuple[tuple[re.Pattern[str], str], ...] = ()

    @property
    def touch_text(self) -> bool:
        """True where a rule for strings is in force."""
        return bool(self.days or self.replaced)

    def text(self, text: str) -> str:
        """Apply volatile and replace to one string."""
        if self.days:
            text = volatile.replace(text, self.days)
        for pattern, to in self.replaced:
            text = pattern.sub(to, text)
        return text

    def json(self, value: Any) -> Any:
        """Apply all rules to a parsed JSON body, in place, and return it."""
        if self.ignore:
            for holder, name in reversed(list(places(value, self.ignore))):
                del holder[name]
        if self.ids:
            self._number_ids(value)
        return self._replaced_strings(value) if self.touch_text else value

    def _number_ids(self, value: Any) -> None:
        numbers: dict[str, int] = {}
        for holder, name in list(places(value, self.ids)):
            found = holder[name]
            if isinstance(found, (str, int, float, Number)) and not isinstance(found, bool):
                holder[name] = {ID_NAME: numbers.setdefault(dumps(found), len(numbers) + 1)}

    def _replaced_strings(self, value: Any) -> Any:
        root = [value]
        waiting: list[Any] = [root]
        while waiting:  # a loop, so that the depth of the caller's stack does not matter
            holder = waiting.pop()
            for name, found in holder.items() if isinstance(holder, dict) else enumerate(holder):
                if isinstance(found, str):
                    holder[name] = self.text(found)
                elif isinstance(found, (dict, list)):
                    waiting.append(found)
        return root[0]


NO_RULES = BodyRules()


def places(value: Any, paths: tuple[Path, ...]) -> Iterator[tuple[Any, Any]]:
    """Yield each place that a path names once, as (the dict or list that holds it, its name or index).

    The order is that of the canonical document, whatever the order of the paths: names sorted, an outer place before
    those in it.
    """
    for name in _names(value, paths):
        rests = tuple(path[1:] for path in paths if path[0] == name or (path[0] is None and isinstance(value, list)))
        if () in rests:
            yield value, name
        yield from places(value[name], tuple(rest for rest in rests if rest))


def _names(value: Any, paths: tuple[Path, ...]) -> list[Any]:
    steps = {path[0] for path in paths}
    if isinstance(value, dict):
        return sorted(step for step in steps if isinstance(step, str) and step in value)
    if not isinstance(value, list):
        return []
    if None in steps:
        return list(range(len(value)))
    return sorted(step for step in steps if isinstance(step, int) and step < len(value))


def compile_rules(rules: KeyRules) -> BodyRules:
    """Check the rules for bodies; without any, that is `NO_RULES`. `days` stays empty: they are of the moment.

    Raises:
        UsageError: A path, a pattern, a replacement or a volatile word is wrong; the message names it and says why.
    """
    for word in rules.volatile:
        if word != "today":
            raise UsageError(f"key.volatile: {word!r} is unknown; did you mean 'today'? It is the only one")
    found = BodyRules(
        ignore=tuple(_path("ignore", text) for text in rules.ignore),
        ids=tuple(_path("ids", text) for text in rules.ids),
        replaced=tuple(_replacement(rule.pattern, rule.to) for rule in rules.replace),
    )
    return NO_RULES if found == NO_RULES else found


def _path(rule: str, text: str) -> Path:
    try:
        path = jsonpath.parse(text)
    except UsageError as error:
        raise UsageError(f"key.{rule}: {error}") from None
    if not path:
        raise UsageError(
            f"key.{rule}: $ names the whole body; name what in it does not count, as in $.metadata.trace_id"
        )
    return path


def _replacement(pattern: str, to: str) -> tuple[re.Pattern[str], str]:
    try:
        compiled = re.compile(pattern)
        compiled.sub(to, "")
    except (re.error, IndexError) as error:
        raise UsageError(f"key.replace: pattern {pattern!r} with {to!r}: {error}") from None
    if compiled.search(""):
        raise UsageError(f"key.replace: pattern {pattern!r} matches the empty text, so it would touch every string")
    return compiled, to

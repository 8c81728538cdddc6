"""The request key: what makes two requests the same one. Recipe `k1`, written down in `docs/reference/key.md`.

The whole request counts: method, origin, path, query, the headers that change answers, and every field of the body,
known or not. Only a named rule of the key spec takes something away.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from functools import lru_cache
from typing import Any

from onetake.errors import FormatError, NewerFormatError, UsageError
from onetake.key import canonical, volatile
from onetake.key.body import body_text
from onetake.key.rules import BodyRules, compile_rules
from onetake.key.url import KEY_HEADERS, HeaderRule, OriginRule, url_text
from onetake.model import Request
from onetake.settings import KeyRules, Replace

__all__ = ["KEY_HEADERS", "RECIPES", "Keyer", "stored_days"]

RECIPES = ("k1",)
"""Newest first. One is added when any request gets another key without a rule; entries name theirs."""

_LISTS = ("ignore", "ids", "volatile", "headers")


class Keyer:
    """Keys requests under one key spec. Immutable; may be shared by threads.

    Args:
        rules: The rules of the key spec; without any, the whole request counts.

    Raises:
        UsageError: A rule is wrong; the message names it and says what would be right.
    """

    def __init__(self, rules: KeyRules = KeyRules()) -> None:  # noqa: B008 (frozen)
        self._rules = rules
        self._body_rules = compile_rules(rules)
        self._headers = HeaderRule(rules.headers)
        self._origins = OriginRule(rules.origins)

    def key(self, request: Request, days: tuple[date, ...] | None = None) -> str:
        """Return the key of a request.

        Args:
            request: As it leaves the client; for an entry, as stored.
            days: The days that `volatile = ["today"]` replaces; None for today's, here and in UTC.

        Returns:
            64 lower-case hex digits (SHA-256); stable for ever: stored entries are named by it.
        """
        return hashlib.sha256(canonical.encode(self.text(request, days))).hexdigest()

    def today(self) -> tuple[date, ...] | None:
        """Return today's days, here and in UTC, to give to `key`; None where no rule asks for them."""
        return volatile.today() if "today" in self._rules.volatile else None

    def headers(self, request: Request) -> tuple[str, str, str]:
        """Return all that the key takes from a request's headers, to compare: see `HeaderRule.read`."""
        return self._headers.read(request.headers)

    def parts(self, request: Request, days: tuple[date, ...] | None = None) -> dict[str, Any]:
        """Return the keyed request as plain data, after all rules, for messages and file names.

        Args:
            request: As for `key`.
            days: As for `key`.

        Returns:
            `method`, `origin`, `path`, `query`, `headers` and `body` {`kind`, …}; exactly what is hashed, read back. A
            number that no Python number holds is an `ExactNumber`, which is a str.
        """
        found: dict[str, Any] = canonical.read_back(self.text(request, days))
        return found

    def spec(self, days: tuple[date, ...] | None = None) -> dict[str, Any]:
        """Return the rules in force as an entry stores them: plain JSON data, empty without rules.

        Args:
            days: As given to `key`; stored as ISO dates under `today` where `volatile` is in force.
        """
        rules = self._rules
        found: dict[str, Any] = {
            "ignore": list(rules.ignore),
            "ids": list(rules.ids),
            "volatile": list(rules.volatile),
            "today": [day.isoformat() for day in self._rules_of(days).days],
            "replace": [{"pattern": rule.pattern, "with": rule.to} for rule in rules.replace],
            "headers": list(rules.headers),
            "origins": dict(rules.origins),
        }
        return {name: value for name, value in found.items() if value}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> tuple[Keyer, tuple[date, ...] | None]:
        """Build the keyer of an entry from the rules that it stores.

        Args:
            spec: What `spec` gave, as read from the entry.

        Returns:
            The keyer, and the days to give to it (None without `volatile`): with both, the stored request has the
            stored key again, on any later day.

        Raises:
            FormatError: The rules are damaged, or of a version that this onetake does not know.
        """
        if not spec:  # most entries; a keyer is dear to make
            return _WITHOUT_RULES, None
        if unknown := spec.keys() - {*_LISTS, "today", "replace", "origins"}:
            raise NewerFormatError(f"key rule {min(unknown)!r} is unknown: a newer onetake wrote it; update onetake")
        try:
            keyer = cls(_rules_from(spec))
            days = stored_days(spec)
        except (UsageError, TypeError, ValueError, KeyError, AttributeError) as error:
            raise FormatError(f"the key rules of an entry are damaged: {error}") from None
        if bool(days) != ("today" in keyer._rules.volatile):
            raise FormatError("the key rules of an entry are damaged: volatile and today go together")
        return keyer, days or None

    def has_patterns_of(self, other: Keyer) -> bool:
        """Tell whether all patterns that another one replaces by are this one's too."""
        return set(other._rules.replace) <= set(self._rules.replace)

    def _rules_of(self, days: tuple[date, ...] | None) -> BodyRules:
        if "today" not in self._rules.volatile:
            return self._body_rules
        return replace(self._body_rules, days=volatile.today() if days is None else days)

    def text(self, request: Request, days: tuple[date, ...] | None = None) -> str:
        """Return what is hashed: the canonical JSON of the keyed request, members in sorted order.

        Args:
            request: As for `key`.
            days: As for `key`.
        """
        content_type, encoding, headers = self._headers.read(request.headers)
        body = body_text(request.body, content_type, encoding, self._rules_of(days))
        method = _method_text(request.method)
        return f'{{"body":{body},"headers":{headers},"method":{method},{url_text(request.url, self._origins)}}}'


@lru_cache(maxsize=64)  # a handful of words, asked for at every call
def _method_text(method: str) -> str:
    return canonical.dumps(method.upper())


_WITHOUT_RULES = Keyer()


def stored_days(spec: Mapping[str, Any]) -> tuple[date, ...]:
    """Return the days that counted as today when an entry was keyed; none where its rules did not ask for them.

    Args:
        spec: The rules that the entry stores.

    Raises:
        TypeError, ValueError: They are damaged.
    """
    return tuple(date.fromisoformat(day) for day in spec.get("today", ()))


def _rules_from(spec: Mapping[str, Any]) -> KeyRules:
    for name in (*_LISTS, "today", "replace"):
        if not isinstance(spec.get(name, []), list):
            raise TypeError(f"{name} is no list")
    if any(rule.keys() != {"pattern", "with"} for rule in spec.get("replace", ())):
        raise ValueError("a rule of replace has pattern and with, and nothing else")
    return KeyRules(
        **{name: tuple(spec.get(name, ())) for name in _LISTS},
        replace=tuple(Replace(rule["pattern"], rule["with"]) for rule in spec.get("replace", ())),
        origins=dict(spec.get("origins", {})),
    )

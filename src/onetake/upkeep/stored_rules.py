"""Key rules as entries store them, and what is left of one set of rules without another."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from onetake.model import Entry
from onetake.settings import KeyRules, key_rules
from onetake.validity import moment

NO_RULES = KeyRules()


def read_rules(spec: Mapping[str, Any]) -> KeyRules:
    """Return the rules that an entry stores, without the days that counted as today.

    Raises:
        UsageError: They are damaged.
    """
    return key_rules({name: rule for name, rule in spec.items() if name != "today"})


def without(rules: KeyRules, other: KeyRules) -> KeyRules:
    """Return rules without those that others hold, too.

    Args:
        rules: Those that something is taken from.
        other: What is taken from them; of `origins` only what says the same word of the same origin.
    """
    return KeyRules(
        ignore=tuple(rule for rule in rules.ignore if rule not in other.ignore),
        ids=tuple(rule for rule in rules.ids if rule not in other.ids),
        volatile=tuple(rule for rule in rules.volatile if rule not in other.volatile),
        replace=tuple(rule for rule in rules.replace if rule not in other.replace),
        headers=tuple(rule for rule in rules.headers if rule not in other.headers),
        origins={origin: word for origin, word in rules.origins.items() if other.origins.get(origin) != word},
    )


def days_of(entry: Entry) -> tuple[Any, ...]:
    """Return the days that were today when an entry was recorded, in UTC and here; none where it says no time."""
    recorded = moment(entry.provenance.get("recorded_at"))
    if recorded is None:
        return ()
    try:
        return tuple(sorted({recorded.astimezone(UTC).date(), recorded.astimezone().date()}))
    except (OverflowError, OSError):  # at an end of time
        return (recorded.date(),)

"""The key spec of an entry: its recipe and scrub list are today's, older ones, or such as this one does not know."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

from onetake import key, scrub
from onetake.model import KeySpec
from onetake.printable import one_line

_VERSION = re.compile(r"([a-z])([1-9][0-9]{0,8})")


class Age(IntEnum):
    """How old a format is; of two the greater counts."""

    CURRENT = 0
    OLDER = 1
    """`onetake rekey` keys the entry anew, from its stored request."""
    NEWER = 2
    UNKNOWN = 3
    """No onetake ever names one so."""


def current(rules: Mapping[str, Any]) -> KeySpec:
    """Return the key spec of what is keyed and scrubbed now, under these rules."""
    return KeySpec(key.RECIPES[0], scrub.SCRUBS[0], rules)


def format_age(spec: KeySpec) -> Age:
    """Say how old the recipe and the scrub list of an entry are."""
    if spec.recipe == key.RECIPES[0] and spec.scrub == scrub.SCRUBS[0]:
        return Age.CURRENT
    return max(_age(spec.recipe, key.RECIPES), _age(spec.scrub, scrub.SCRUBS))


def is_own_recipe(spec: KeySpec) -> bool:
    """Tell whether an entry's key can be computed again: by its recipe, which the scrub list has no part in."""
    return spec.recipe == key.RECIPES[0]


def fault(spec: KeySpec) -> str:
    """Say why an entry's key means nothing to this onetake; empty where it does, and where it is only older."""
    age = format_age(spec)
    if age is Age.NEWER:
        return f"{told(spec)}: a newer onetake wrote it, and this one cannot verify its key: upgrade"
    return f"{told(spec)}: no onetake ever wrote that" if age is Age.UNKNOWN else ""


def told(spec: KeySpec) -> str:
    """Return recipe and scrub list in words."""
    return one_line(f"keyed under recipe {spec.recipe!r}, scrubbed under {spec.scrub!r}", 120)


def _age(version: str, known: Sequence[str]) -> Age:
    """Compare a version with those that are known, newest first; one that is no longer known by its number."""
    if version in known:
        return Age.CURRENT if version == known[0] else Age.OLDER
    today, own = _VERSION.fullmatch(known[0]), _VERSION.fullmatch(version)
    if today is None or own is None or own[1] != today[1]:
        return Age.UNKNOWN
    return Age.OLDER if int(own[2]) < int(today[2]) else Age.NEWER

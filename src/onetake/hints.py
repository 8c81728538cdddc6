"""Name the key rules that would make a request match, where what differs evidently changes by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from onetake import jsonpath
from onetake.compare import Difference
from onetake.errors import UsageError
from onetake.key import volatile

_MIXED = "(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]"
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"
_EPOCH = r"\b1[6-9]\d{8}(\d{3}|\.\d+)?\b"

# Plain spellings and words are never hinted at: a rule that takes too much out of the key gives false hits.
_IN_TEXT = (
    ("UUID", _UUID),
    ("TIME", _TIME),
    ("EPOCH", _EPOCH),
    ("PATH", r"/(tmp|var/folders|private/var)/[\w./+-]+"),
    ("ID", r"\b[A-Za-z]+[-_]" + _MIXED + r"{8,}\b"),
    ("HEX", r"\b(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{8,}\b"),
)
_OPAQUE = r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[\w.+=~…-]{30,}"
_WHOLE = re.compile(f"{_UUID}|{_TIME}|{_EPOCH}|([A-Za-z]+[-_])+{_MIXED}{{8,}}|{_MIXED}{{16,}}|{_OPAQUE}")
_DAY = timedelta(days=1)
_LOOPBACK = re.compile(r"(https?://(?:localhost|127(?:\.\d+){3}|\[::1\])):\d+")


def key_rules(
    differences: Sequence[Difference], recorded_at: str, days: tuple[date, ...]
) -> tuple[dict[str, list[str]], int]:
    """Name the key rules that would take differences out of the key.

    Args:
        differences: What `differences` found.
        recorded_at: When the stored request was recorded, RFC 3339; anything else gives no `volatile`.
        days: The days that count as today for the request that is asked.

    Returns:
        Setting of `[tool.onetake.key]` to its members as TOML, and how many of the differences they explain.
    """
    rules: dict[str, list[str]] = {}
    explained = 0
    for difference in differences:
        rule = None
        if difference.path == "url.origin":
            rule = _other_port(difference)
        elif difference.kind == "changed" and difference.path.startswith("body") and difference.path != "body$.model":
            rule = _today(difference, recorded_at, days) or _whole_value(difference) or _in_text(difference)
        if rule is None:
            continue
        explained += 1
        setting, member = rule
        if member not in rules.setdefault(setting, []):
            rules[setting].append(member)
    return rules, explained


def written(rules: Mapping[str, Sequence[str]], most: int = 3) -> list[str]:
    """Write key rules as they stand in `[tool.onetake.key]`.

    Args:
        rules: What `key_rules` returned.
        most: Longest list of members of one setting.

    Returns:
        One line for each setting.
    """
    around = {"origins": "{{ {} }}"}
    return [f"{name} = {around.get(name, '[{}]').format(', '.join(found[:most]))}" for name, found in rules.items()]


def is_id_like(value: str) -> bool:
    """Tell whether a value as a whole is an id, a moment or an opaque token."""
    return _WHOLE.fullmatch(value) is not None


def ignored(path: str) -> str:
    """Return the member of `ignore` that takes one place of a JSON body out of the key; empty where none reaches it."""
    try:
        steps = jsonpath.parse(path.removeprefix("body"))
    except UsageError:  # not in a JSON body, or in JSON inside a string
        return ""
    return json.dumps(jsonpath.show(tuple(step if isinstance(step, str) else None for step in steps)))


def _other_port(difference: Difference) -> tuple[str, str] | None:
    """Name the rule for a server on loopback that gets another port in every run."""
    hosts = {_LOOPBACK.sub(r"\1", text.strip('"')) for text in (difference.asked, difference.stored)}
    if len(hosts) > 1 or not _LOOPBACK.fullmatch(difference.asked.strip('"')):
        return None
    return "origins", f'{json.dumps(f"{hosts.pop()}:*")} = "local"'


def _today(difference: Difference, recorded_at: str, days: tuple[date, ...]) -> tuple[str, str] | None:
    """Look for the day of the recording where today stands in what is asked."""
    try:
        recorded = date.fromisoformat(recorded_at[:10])
        around = (recorded - _DAY, recorded, recorded + _DAY)  # the recorder's own day may have been another than UTC's
    except (ValueError, OverflowError):
        return None
    asked, stored = volatile.replace(difference.asked, days), volatile.replace(difference.stored, around)
    return ("volatile", '"today"') if asked == stored else None


def _whole_value(difference: Difference) -> tuple[str, str] | None:
    """Name the JSON path of a value that is an id, a moment or an opaque token on both sides."""
    if not all(_WHOLE.fullmatch(text.strip('"')) for text in (difference.asked, difference.stored)):
        return None
    path = ignored(difference.path)
    if not path:
        return None
    steps = jsonpath.parse(json.loads(path))
    name = next((step for step in reversed(steps) if isinstance(step, str)), "")
    return "ids" if re.fullmatch("id|.*(_id|Id|ID)", name) else "ignore", path


def _in_text(difference: Difference) -> tuple[str, str] | None:
    """Name the pattern that is all that differs inside a text of a JSON body."""
    for word, pattern in _IN_TEXT:
        if re.sub(pattern, word, difference.asked) == re.sub(pattern, word, difference.stored):
            return "replace", f"{{ pattern = '{pattern}', with = \"{word}\" }}"
    return None

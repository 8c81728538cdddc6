"""Why a test asks anew in every run although its cassette has entries: what in its requests changes by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from onetake import explain, hints, misses
from onetake.cassette import Cassette
from onetake.compare import Difference
from onetake.explain import Candidate
from onetake.key import volatile
from onetake.model import Entry
from onetake.printable import one_line
from onetake.steps import Policy

_NEW = 8
_OLD = 50
"""New and old entries that are compared: what changes by itself shows in the first few."""
_PLACES = 3
_WHAT_IS_ASKED = re.compile(
    r"body\$\.(model|messages|contents|content|input|inputs|prompt|system|systemInstruction|system_instruction"
    r"|instructions|tools|tool_choice|functions|query|documents|texts|text|arguments|response_format|format"
    r"|temperature|top_p|top_k|max_(completion_|output_)?tokens|seed|stop|n|stream|reasoning|reasoning_effort|thinking"
    r"|generationConfig|generation_config|inferenceConfig|options)\b.*"
)
"""What an answer hangs on: no rule is offered that would take it out of the key."""
_PROMPT = re.compile(
    r"body\$\.(messages|contents|content|input|inputs|prompt|system|systemInstruction|system_instruction|instructions"
    r"|query|documents|texts|text)\b.*"
)
"""What people edit: where only that differs, an edit is likelier than a value that changes by itself."""


@dataclass(frozen=True, slots=True)
class Anew:
    """That a test, or several, asked anew although their cassettes have entries.

    Args:
        new: How many entries were recorded.
        played: How many of the old ones were replayed.
        places: Where the requests differ from those that lay there.
        in_all: True where every request differs there.
        mend: What ends it, or what it likely is; one line.
    """

    new: int
    played: int
    places: str
    in_all: bool
    mend: str

    def __str__(self) -> str:
        who = "it differs" if self.new == 1 else "all differ" if self.in_all else "they differ"
        return f"{self.new} new, {self.played} played: {who} at {self.places}; {self.mend}"


@dataclass(frozen=True, slots=True)
class _Change:
    """One new request beside the stored one that is nearest."""

    differences: Sequence[Difference]
    recorded_at: str


def anew(new: Sequence[Entry], played: int, cassette: Cassette, policy: Policy, *, owned: bool) -> Anew | None:
    """Say where the requests of a test differ from those that lay there, where hardly one of these was asked.

    Reads the cassette; only worth it where something was recorded.

    Args:
        new: The entries that were recorded beside the old ones; they may be in the cassette by now.
        played: How many of the old ones were replayed.
        cassette: The session's.
        policy: What the session went by.
        owned: True where the cassette is this test's alone; else only what this test recorded counts as its own.

    Returns:
        How many, where they differ, and the key rule for the settings that ends it, if one may. None where
        nothing is wrong.
    """
    if cassette.was_empty or not new or played * 10 > len(new):
        return None
    old = list(islice(_old(new, cassette, policy, owned=owned), _OLD))
    if not old:
        return None
    changes = [change for entry in new[:_NEW] if (change := _change(entry, old, policy)) is not None]
    if not changes:
        return None
    return Anew(len(new), played, *_where(changes), _mend(changes, f"[{policy.prefix}key]", owned=owned))


def _old(new: Sequence[Entry], cassette: Cassette, policy: Policy, *, owned: bool) -> Iterator[Candidate]:
    written = {(entry.key, entry.ordinal) for entry in new}
    for _, _, entry in cassette.all():
        if not isinstance(entry, Entry) or (entry.key, entry.ordinal) in written:
            continue
        is_own = owned or entry.provenance.get("test") == policy.test
        if is_own and (candidate := misses.candidate(entry, cassette, set(), policy.keyer)) is not None:
            yield candidate


def _change(entry: Entry, old: list[Candidate], policy: Policy) -> _Change | None:
    found = explain.nearest(policy.keyer.parts(entry.request, policy.keyer.today()), old)
    return _Change(found[1], found[0].recorded_at) if found and found[1] else None


def _where(changes: list[_Change]) -> tuple[str, bool]:
    """Name the places in which all differ, and say so; where there is none, the first few."""
    places = [list(dict.fromkeys(_place(one.path) for one in change.differences)) for change in changes]
    common = [place for place in places[0] if all(place in other for other in places)]
    named = common or list(dict.fromkeys(place for found in places for place in found))
    more = f" and {len(named) - _PLACES} more places" if len(named) > _PLACES else ""
    return ", ".join(named[:_PLACES]) + more, bool(common)


def _mend(changes: list[_Change], table: str, *, owned: bool) -> str:
    rules: dict[str, list[str]] = {}
    unruled: list[str] = []
    for change in changes:
        for difference in change.differences:
            setting, member = _rule(difference, change.recorded_at)
            if not setting:
                unruled.append(difference.path)
            elif member not in rules.setdefault(setting, []):
                rules[setting].append(member)
    if unruled and all(map(_PROMPT.fullmatch, unruled)):
        end = "--record-mode=all replaces them" if owned else "a run of all tests names them"
        likely = f"likely an edited prompt, whose old entries are unused now: {end}"
        return f"{likely}; if nobody edited it, every run asks anew"
    if unruled:
        return (
            "if nobody changed that, it changes by itself, and every run asks anew:"
            f" make it the same in every run, or name it in {table}"
        )
    return f"if that does not count, add to {table}: {'; '.join(hints.written(rules))}, and run `onetake rekey`"


def _rule(difference: Difference, recorded_at: str) -> tuple[str, str]:
    """Return setting and member of the rule that takes a difference away, both empty where none should be offered."""
    rules, _ = hints.key_rules([difference], recorded_at, volatile.today())
    if rules:
        return next((setting, members[0]) for setting, members in rules.items())
    path = "" if _WHAT_IS_ASKED.fullmatch(difference.path) else hints.ignored(difference.path)
    return ("ignore", path) if path else ("", "")


def _place(path: str) -> str:
    return one_line(re.sub(r"\[\d+\]", "[*]", path.removeprefix("body")), 120)

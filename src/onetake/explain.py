"""The text of a miss, on one screen: what is nearest to what was asked, how it differs, and what mends it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from onetake import modes
from onetake.compare import Difference, differences, distance
from onetake.decide import Found, refuses
from onetake.dialects.fields import Field, field
from onetake.format.sidecar import REMEDY
from onetake.hints import key_rules, written
from onetake.key import volatile
from onetake.model import Mode
from onetake.printable import one_line, sides
from onetake.quoting import quoted_path

CANDIDATES = 200
"""Entries that are compared: more would make a miss slow, not clearer."""
_DIFFERENCES = 50
_LINES = 20
"""Longest description of the nearest entry."""
_SHORT = 60
"""Characters of both sides that still share a line."""
_RULES = 3
_ADDED = re.compile(r"body\$\.([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored interaction that a request may be compared with.

    Args:
        parts: What `Keyer.parts` makes of its request.
        place: Its file, or whatever names it in its store.
        ordinal: 0 or more.
        played: True where this session has already given it out.
        recorded_at: RFC 3339, empty where unknown.
        commit: Empty where unknown.
        test: The test that recorded it, empty where unknown.
        is_outdated: True where today's key rules give it the key of what is asked, and its own gave it another.
        is_passed: True where another one has taken its place, by the runs on record.
        lacks_headers_of: The file that it was imported from, where that is there, and the key has taken in a header
            since; else empty.
        is_under_another: True where another contract judged its answer than those in force: nothing else is given it.
    """

    parts: Mapping[str, Any]
    place: str
    ordinal: int
    played: bool
    recorded_at: str
    commit: str
    test: str
    is_outdated: bool = False
    is_passed: bool = False
    lacks_headers_of: str = ""
    is_under_another: bool = False


def nearest(
    asked_parts: Mapping[str, Any], candidates: Iterable[Candidate]
) -> tuple[Candidate, list[Difference]] | None:
    """Find the stored interaction that is most like a request.

    Args:
        asked_parts: What `Keyer.parts` makes of the request.
        candidates: The stored ones; the first 200 are taken, and no more are read.

    Returns:
        The nearest of those that are in use, as far as known, and how it differs, at most 50 differences; at equal
        distance one that has not been played, of played ones the last, and then the newest. None without candidates.
    """

    def rank(one: Candidate) -> tuple[bool, bool, float, bool, int]:
        ordinal = -one.ordinal if one.played else one.ordinal
        return not one.is_outdated, one.is_passed, distance(asked_parts, one.parts), one.played, ordinal

    newest = sorted(islice(candidates, CANDIDATES), key=lambda one: one.recorded_at, reverse=True)
    found = min(newest, key=rank, default=None)
    return None if found is None else (found, differences(asked_parts, found.parts, _DIFFERENCES))


def describe(candidate: Candidate, differences: Sequence[Difference], prefix: str = "tool.onetake.") -> str:
    """Say which stored interaction is nearest, who recorded it, how it differs, and which key rule would end that.

    Args:
        candidate: The nearest.
        differences: How it differs.
        prefix: What stands before the name of a table in the project's settings.

    Returns:
        Printable lines, at most 20.
    """
    state = "already played" if candidate.played else "not played yet"
    head = [f"{one_line(candidate.place)} ({state})", *_origin(candidate)]
    if candidate.is_outdated:
        return "\n".join([*head, "it is this request under today's key rules: `onetake rekey` gives it this key"])
    if not differences:
        return "\n".join([*head, "the request is the same"])
    hints = [*_hints(candidate, differences, prefix), *_adoption(candidate, differences)]
    shown: list[str] = []
    room = _LINES - len(head) - len(hints) - 1
    done = 0
    for difference in differences:
        lines = _difference(difference)
        if len(shown) + len(lines) > room:
            break
        shown += lines
        done += 1
    more = len(differences) - done
    if more:
        shown.append(f"and {more}{' or more' if len(differences) >= _DIFFERENCES else ''} further differences")
    return "\n".join([*head, *shown, *hints])


def identify(candidate: Candidate) -> str:
    """Say which stored interaction it is and who recorded it.

    Returns:
        One or two printable lines.
    """
    return "\n".join([one_line(candidate.place), *_origin(candidate)])


def remedy(
    mode: Mode,
    found: Found,
    *,
    pytest_node: str | None,
    cassette: str,
    empty: bool = False,
    sealed: bool = False,
    by_ci: bool = False,
    switch: str = "",
    fixed_in: str = "",
) -> str:
    """Say what mends a refusal in the present mode.

    Args:
        mode: The session's mode.
        found: What the cassette holds for the request.
        pytest_node: The running test's id, None outside pytest.
        cassette: The cassette's place.
        empty: True where the cassette holds no entry at all.
        sealed: True where the environment says `ONETAKE_MODE=none`, which no other setting overrides.
        by_ci: True where the mode is `none` because `CI` is set.
        switch: How another mode is said for this program, as `modes.switch` returns it; empty where its code says it.
        fixed_in: Where vcrpy's `record_mode` is said, one of `modes.VCR_PLACES`; empty where it is not.

    Returns:
        Printable lines, most of them to run or to write; empty where this mode refuses no such request.
    """
    if not refuses(mode, found):
        return ""
    first = sealed and not switch.startswith("ONETAKE_MODE")
    lines = ["unset ONETAKE_MODE first: its none wins over every other mode"] if first else []
    lines += freed(fixed_in)
    if by_ci and not sealed and not pytest_node:
        lines.append("CI is set, so the mode is none where nobody says another")
    if empty and found is Found.ABSENT:
        whose = "this test" if pytest_node else one_line(cassette)
        return "\n".join([*lines, f"no entry for {whose} yet: {command(Mode.ONCE, pytest_node, switch)}"])
    able = [other for other in _MENDING if not refuses(other, found)]
    for other in able if pytest_node or found is Found.STALE else able[:1]:
        lines.append(f"{command(other, pytest_node, switch)} ({_MENDING[other]})")
    return "\n".join(lines + ([_ADVICE[found]] if found in _ADVICE else []))


_MENDING = {
    Mode.NEW_EPISODES: "records what is missing or stale, replays the rest",
    Mode.ALL: "records every request anew, in the place of the old",
}
_ADVICE = {
    Found.EXHAUSTED: 'or set repeats = "same", where one answer is meant for every identical request',
    Found.UNREADABLE: f"or {REMEDY}",
    Found.UNKEPT: "or name the kind of that answer in keep",
    Found.EXPIRED: "or allow a greater max_age",
    Found.PENDING: "it waits for this test to pass: the run that recorded it failed",
}


def freed(fixed_in: str) -> list[str]:
    """Say what has to go before a command gives a test another mode.

    Args:
        fixed_in: As for `remedy`.

    Returns:
        One line, or none.
    """
    return [f"take record_mode out of {fixed_in} first: it goes before --record-mode"] if fixed_in else []


def import_anew(candidate: Candidate, differences: Sequence[Difference]) -> str:
    """Say how an imported entry comes by a header that the key has taken in since; it asks nobody.

    Args:
        candidate: The nearest.
        differences: How it differs.

    Returns:
        One line; empty where more than headers differ, so that it has to be recorded again anyway.
    """
    file = candidate.lacks_headers_of
    if not file or not differences or not all(one.path.startswith("headers.") for one in differences):
        return ""
    again = f"onetake import vcr {quoted_path(file, 400)}"
    return f"`{again}` once more: it was imported before `headers` in `key` named what differs"


def key_anew(candidate: Candidate) -> str:
    """Say how the nearest entry comes by the key that is asked, where today's key rules give it that; it asks nobody.

    Args:
        candidate: The nearest.
    """
    does = "asks nobody: it shows which entries get their keys of today, and --yes gives them these"
    return f"onetake rekey ({does})" if candidate.is_outdated else ""


def stored_in(others: Sequence[str]) -> str:
    """Say in which other cassettes the very request lies.

    Args:
        others: Their places, one or more.
    """
    return "the same request is stored in " + ", ".join(others)


def renamed(place: str) -> str:
    """Say what to do where a test was renamed, and its entries lie in the folder of its old name.

    Args:
        place: The cassette that is looked into now.
    """
    return f"if this test was renamed, rename that folder to {place}"


def command(mode: Mode, pytest_node: str | None, switch: str = "") -> str:
    """Say how to run the present test, or the program, in another mode; one line to run or to write.

    Args:
        mode: The other mode.
        pytest_node: The test's id, None outside pytest.
        switch: As `modes.switch` returns it.
    """
    if pytest_node is None and switch:
        return switch.replace("{mode}", mode, 1)
    if pytest_node is None:
        return f'mode="{mode}"'
    return f"{modes.pytest_command()} --record-mode={mode} {quoted_path(pytest_node, 400)}"


def _origin(candidate: Candidate) -> list[str]:
    known = (("", candidate.recorded_at), ("at commit ", candidate.commit[:12]), ("by ", candidate.test))
    facts = " ".join(title + one_line(text, 120) for title, text in known if text)
    return [f"recorded {facts}"] if facts else []


def _difference(difference: Difference) -> list[str]:
    path, asked, stored = one_line(difference.path, 160), difference.asked, difference.stored
    if not (asked and stored):
        return [sides(path, asked, stored)]
    if difference.kind == "order":
        name = re.sub(r"\[\d+\]$", "", path).replace("$", ".").rpartition(".")[2]
        path += f": only the order of {name} differs"
    if len(asked) + len(stored) <= _SHORT:
        return [f"{path}: asked {asked}, stored {stored}"]
    return [f"{path}:", f"  asked  {asked}", f"  stored {stored}"]


def _adoption(candidate: Candidate, differences: Sequence[Difference]) -> list[str]:
    """Offer the stored answer where all that differs is one member of the body that was added."""
    added = _ADDED.fullmatch(differences[0].path) if len(differences) == 1 and differences[0].kind == "added" else None
    if candidate.played or candidate.is_under_another or added is None or field((added[1],)) is not Field.OTHER:
        return []
    return ["if no answer hangs on that field, `onetake adopt` takes the stored one over, and asks nobody"]


def _hints(candidate: Candidate, differences: Sequence[Difference], prefix: str) -> list[str]:
    rules, explained = key_rules(differences, candidate.recorded_at, volatile.today())
    if not rules:
        return []
    effect = "makes it match" if explained == len(differences) else f"takes away {explained} of these"
    lines = written(rules, _RULES)
    return [
        f"this {effect}, in [{prefix}key], once `onetake rekey` has keyed it anew:",
        *(f"  {line}" for line in lines),
    ]

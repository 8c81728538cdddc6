"""How what the model said differs: how it ended, which tools it called, the shape of its JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from onetake.jsonpath import show
from onetake.model import Choice, Violation
from onetake.probing.allowing import Expected, weighed
from onetake.probing.findings import Finding, Kind, Severity
from onetake.probing.heard import NOTHING, Heard
from onetake.probing.shape_changes import Change, changes
from onetake.probing.shapes import shape_of, type_of
from onetake.probing.texts import is_fenced, said_json

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


def answer_findings(recorded: Heard, live: Heard, expected: Expected) -> Iterator[Finding]:
    """Compare two answers choice by choice. Texts that are no JSON are not compared.

    Args:
        recorded: The stored answer.
        live: The fresh one; it says something.
        expected: What the project holds both to.
    """
    was, now = recorded.choices, live.choices
    if len(was) != len(now):
        yield Finding("", "choices", _ERROR, Kind.CHOICES, len(was), len(now))
    several = len(was) > 1
    for number, (one, other) in enumerate(zip(was, now, strict=False)):
        prefix = f"choices[{number}]." if several else ""
        for found in (*_ending(recorded, live, one, other), *_said(recorded, live, one, other, expected)):
            yield replace(found, path=prefix + found.path)


def _ending(recorded: Heard, live: Heard, one: Choice, other: Choice) -> Iterator[Finding]:
    """Say that a choice ended otherwise: refused, cut by a limit, or in another word."""
    refused, refuses = _is("is_refusal", recorded, one), _is("is_refusal", live, other)
    cut, cuts = _is("is_length", recorded, one), _is("is_length", live, other)
    if refused != refuses:
        yield Finding("", "refusal", _ERROR, Kind.REFUSAL, _refusal(one, refused), _refusal(other, refuses))
    elif cut != cuts:
        # A stored answer that was cut may fit the limit today: only its words are fewer.
        yield Finding("", "finish", _ERROR if cuts else _INFO, Kind.LENGTH, one.finish, other.finish)
    elif one.finish and one.finish != other.finish:
        yield Finding("", "finish", _ERROR if other.finish else _WARNING, Kind.FINISH, one.finish, other.finish)
    elif other.finish and not one.finish:
        yield Finding("", "finish", _INFO, Kind.FINISH, None, other.finish)


def _is(test: str, heard: Heard, choice: Choice) -> bool:
    return bool(heard.dialect and getattr(heard.dialect, test)(choice))


def _refusal(choice: Choice, refuses: bool) -> object:
    return (choice.refusal or choice.finish or "refused") if refuses else None


def _said(recorded: Heard, live: Heard, one: Choice, other: Choice, expected: Expected) -> Iterator[Finding]:
    if any(_is(test, *pair) for test in ("is_refusal", "is_length") for pair in ((recorded, one), (live, other))):
        return  # half an answer has no shape
    yield from _tools(one, other, expected)
    fits = expected.of_text()
    was, now = (said_json(choice.text, is_held=fits is not None) for choice in (one, other))
    if was is not NOTHING and now is not NOTHING:
        if is_fenced(one.text) != is_fenced(other.text):
            # Most who read it out of a fence read it without one; not the other way round.
            yield _retyped(_ERROR if is_fenced(other.text) else _WARNING, one, was, other, now)
        yield from _values("answer", "text", [was], [now], expected)
    elif (was is not NOTHING or now is not NOTHING) and not _goes_with_calls(one, other):
        # Prose that turns into JSON breaks no reader of prose.
        yield _retyped(_ERROR if now is NOTHING else _WARNING, one, was, other, now)


def _goes_with_calls(one: Choice, other: Choice) -> bool:
    """Tell whether one of two texts is not there because of a tool call, which is a finding of its own or none."""
    return bool(one.tool_calls or other.tool_calls) and not (one.text and other.text)


def _retyped(grade: Severity, one: Choice, was: Any, other: Choice, now: Any) -> Finding:
    return Finding("", "answer$", grade, Kind.TYPE, _sort(one, was), _sort(other, now))


def _sort(choice: Choice, value: Any) -> str:
    if value is NOTHING:
        return "text"
    return f"{type_of(value)} in a Markdown fence" if is_fenced(choice.text) else type_of(value)


def _values(name: str, on: str, was: list[Any], now: list[Any], expected: Expected) -> Iterator[Finding]:
    """Compare the JSON values of one part: what its schema lets pass is told, what breaks it now counts."""
    fits = expected.of_text() if on == "text" else expected.of_tool(on.partition(":")[2])
    found = list(changes(shape_of(*was), shape_of(*now)))
    yield from (finding_of(name, change) for change in weighed(found, fits, was, now))
    known = {place_of(one) for value in was for one in expected.unpromised(on, value)}
    broken = {place_of(one): one for value in now for one in reversed(expected.unpromised(on, value))}
    for place, one in broken.items():
        if place not in known:
            yield Finding("", name + place[0], _ERROR, Kind.CONTRACT, one.expected, one.found)


def place_of(violation: Violation) -> tuple[str, str]:
    """Return where and what, whichever item of a list it is."""
    return re.sub(r"\[\d+\]", "[*]", violation.path), violation.expected


def finding_of(name: str, change: Change) -> Finding:
    """Return the finding of a change of shape."""
    return Finding("", name + show(change.path), change.severity, change.kind, change.recorded, change.live)


def _tools(one: Choice, other: Choice, expected: Expected) -> Iterator[Finding]:
    was, now = _calls(one), _calls(other)
    for name in sorted(was.keys() - now.keys()):
        yield Finding("", "tools", _ERROR, Kind.TOOL, name, None)
    for name in sorted(now.keys() - was.keys()):
        # Besides the stored ones it is one more; in the place of text it is another path through the program.
        yield Finding("", "tools", _WARNING if was else _ERROR, Kind.TOOL, None, name)
    for name in sorted(was.keys() & now.keys()):
        yield from _values(f"tools.{name}", f"tool:{name}", was[name], now[name], expected)


def _calls(choice: Choice) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for call in choice.tool_calls:
        found.setdefault(call.name, []).append(call.arguments)
    return found

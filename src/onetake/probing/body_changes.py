"""What an API puts around an answer: the shape of the body, of a stream the kinds of its events and their shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from onetake import picking, strictjson
from onetake.events import Event
from onetake.probing.findings import Finding, Kind, Severity
from onetake.probing.heard import NOTHING, Heard
from onetake.probing.shape_changes import Change, changes
from onetake.probing.shapes import Shape, Shaper

_KINDS = ("type", "event_type", "object")
"""Names under which APIs say in an event of what kind it is, where the stream's own framing does not."""
_SHORT = 40


def body_changes(recorded: Heard, live: Heard) -> Iterator[tuple[str, Change]]:
    """Yield (where, change) of the shapes of two bodies: `""` for a body, `events.message_start` for events of a kind.

    What goes where the answer is of another make went with what was said, and is `info`. Nothing where one of them is a
    stream and the other is none: that is for `container_finding`.
    """
    was, now = _shapes(recorded), _shapes(live)
    is_same_make = recorded.make() == live.make()
    for name in sorted(was.keys() & now.keys()):
        for change in changes(was[name], now[name]):
            follows = not is_same_make and not change.replaced and change.kind in (Kind.REMOVED, Kind.NULL)
            yield name, replace(change, severity=Severity.INFO) if follows else change


def container_finding(recorded: Heard, live: Heard) -> Iterator[Finding]:
    """Say that a stream came as one body, one body as a stream, or either as something else."""
    was, now = recorded.container(), live.container()
    if was != now:
        yield Finding("", "body", Severity.ERROR, Kind.TYPE, was, now)


def event_findings(recorded: Heard, live: Heard) -> Iterator[Finding]:
    """Say which kinds of events came and went, and whether they come in another order.

    How many there are of a kind does not count. What goes where the answer is of another make went with what was said.
    """
    was, now = (list(dict.fromkeys(kind for kind, _ in _kinds(heard))) for heard in (recorded, live))
    if not was or not now:
        return
    grade = Severity.WARNING if recorded.make() == live.make() else Severity.INFO
    for kind in was:
        if kind not in now:
            yield Finding("", "events", grade, Kind.EVENTS, kind, None)
    for kind in now:
        if kind not in was:
            yield Finding("", "events", Severity.INFO, Kind.EVENTS, None, kind)
    first, second = [kind for kind in was if kind in now], [kind for kind in now if kind in was]
    if first != second:
        yield Finding("", "events", grade, Kind.EVENTS, ", ".join(first), ", ".join(second))


def _shapes(heard: Heard) -> dict[str, Shape]:
    said = heard.said()
    shapers: dict[str, Shaper] = {}
    for name, value in _values(heard):
        shapers.setdefault(name, Shaper(is_envelope=True, said=said)).add(value)
    return {name: shaper.shape for name, shaper in shapers.items()}


def _values(heard: Heard) -> Iterator[tuple[str, Any]]:
    if heard.events():
        yield from ((f"events.{kind}", value) for kind, value in _kinds(heard) if value is not NOTHING)
    elif (value := heard.document()) is not NOTHING:
        yield "", value


def _kinds(heard: Heard) -> Iterator[tuple[str, Any]]:
    """Yield (kind, data) of the events; without those that say nothing but their kind and keep a connection open."""
    for event in heard.events():
        kind, value = _kind(event)
        is_empty = value in (NOTHING, "", None) or (isinstance(value, dict) and not value.keys() - set(_KINDS))
        is_mark = value is NOTHING and event.data.strip()
        if not is_empty or is_mark or (heard.dialect and heard.dialect.is_terminal(event)):
            yield kind, value


def _kind(event: Event) -> tuple[str, Any]:
    """Return what an event calls itself, and its data; what has no word for itself is `data`, or its own short text."""
    try:
        value = strictjson.loads(event.data)
    except strictjson.NotStrictError:
        return event.name or event.data.strip()[:_SHORT], NOTHING
    said = picking.mapping(value)
    return event.name or next(filter(None, (picking.text(said.get(name)) for name in _KINDS)), "data"), value

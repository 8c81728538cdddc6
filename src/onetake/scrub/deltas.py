"""Tells quickly that no secret is split over the events of a stream, whose events are nearly all built alike.

What `lanes` would join is joined here too, but only the first event of each build is parsed and walked; of the others
the strings are read off. False says only that `lanes` must look.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from onetake.scrub.finder import Finder
from onetake.scrub.lanes import broken_fields, starts_anew
from onetake.scrub.places import MARKS, TOKEN, Lane, Role, names_a_secret, places
from onetake.strictjson import one_value_reader

# One that does not end reaches to the end of the text, or every quote in it would be tried anew.
_STRING = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+(?:"(?:\s*+:)?+|\\?\Z))', re.DOTALL)
# A number of the JSON grammar without its sign, and nothing that only looks like one. It begins with a digit and looks
# back from there, because a search for one of ten characters is fast.
_NUMBER = re.compile(r"[0-9](?<![\w.+][0-9])(?:(?<!0)[0-9]+)?(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.+-])")
_MOST_KEPT = 64
_LONGEST_KEPT = 4096
"""Characters of an event whose build is kept in mind for other streams."""

_read = one_value_reader(json.JSONDecoder(strict=False))


class _MayHoldOneError(Exception):
    """Something that only `lanes` can judge."""


@dataclass(slots=True)
class _Run:
    """What goes on at one place. The dictionary of lanes would hash a lane with every event; this is held instead."""

    texts: list[str] = field(default_factory=list)
    ended: list[list[str]] = field(default_factory=list)
    again: str = ""
    """A string that, if it comes next, changes nothing: it would end a run of itself alone and begin the same."""

    def add(self, text: str, string: str = "") -> None:
        if self.texts and starts_anew(self.texts[-1], text):
            self.ended.append(self.texts)
            self.texts = []
        self.texts.append(text)
        self.again = string if len(self.texts) == 1 and starts_anew(text, text) else ""


@dataclass(frozen=True, slots=True, eq=False)
class _Build:
    """Events that differ in their values alone."""

    marks: tuple[int, ...]
    """The parts that tell apart texts whose deltas take turns in one stream."""
    searched: dict[tuple[str, ...], list[tuple[int, Lane]]] = field(default_factory=dict)
    """By what those parts say: each part that is searched, and where it goes on."""


_known: dict[tuple[str, str], _Build] = {}
"""Builds that streams had before: those of one API are built alike."""


def holds_none(events: Iterable[tuple[str, bool]], finder: Finder) -> bool:
    """Tell quickly whether a stream holds no secret; True is certain.

    Args:
        events: The text of each, and whether a plain text goes on in the next one. No secret lies in one piece in them.
        finder: What is a secret.
    """
    stream = _Stream()
    try:
        for text, joins in events:
            if not (text.lstrip()[:1] in ("{", "[", '"') and stream.add_json(text)) and joins:
                stream.run(()).add(text)
    except _MayHoldOneError:
        return False
    runs = (texts for run in stream.runs.values() for texts in (*run.ended, run.texts) if len(texts) > 1)
    # No word goes over the end of a line, so all runs are looked through at the cost of one.
    return not finder.suspects("\n".join(["".join(texts) for texts in runs]))


class _Stream:
    """A stream as far as it was read."""

    def __init__(self) -> None:
        self.runs: dict[Lane, _Run] = {}
        self._builds: dict[tuple[str, str], _Build] = {}
        self._strings: dict[tuple[_Build, tuple[str, ...]], list[tuple[int, _Run]]] = {}

    def run(self, lane: Lane) -> _Run:
        """Return what goes on in a lane."""
        return self.runs.setdefault(lane, _Run())

    def add_json(self, text: str) -> bool:
        """Take the strings of one event; False where it is no JSON."""
        parts = _STRING.split(text)  # what is between, a string, what is between, …
        build = self._build(text, parts)
        marks = tuple([parts[at] for at in build.marks])
        strings = self._strings.get((build, marks))
        if strings is None:
            try:
                searched = _searched(text, build, marks)
            except ValueError:
                if next(broken_fields(text), None):
                    raise _MayHoldOneError from None
                return False
            strings = self._strings[build, marks] = [(at, self.run(lane)) for at, lane in searched]
        for at, run in strings:
            string = parts[at]
            if string != run.again and (value := _decoded(string) if "\\" in string else string[1:-1]):
                run.add(value, string)
        return True

    def _build(self, text: str, parts: list[str]) -> _Build:
        names = "\0".join([string if string[-1] == ":" else "" for string in parts[1::2]])
        between = "\0".join(parts[::2])
        found = self._builds.get((between, names))
        if found is None:
            alike = (_NUMBER.sub("0", between), names)
            found = self._builds.get(alike) or _known.get(alike) or _Build(_marks(text, parts))
            self._builds[between, names] = self._builds[alike] = found
            if len(text) <= _LONGEST_KEPT and len(_known) < _MOST_KEPT:
                _known[alike] = found
        return found


def _searched(text: str, build: _Build, marks: tuple[str, ...]) -> list[tuple[int, Lane]]:
    """Return which parts of a JSON text are searched, and where they go on.

    Raises:
        ValueError: It is no JSON.
    """
    if marks in build.searched:
        return build.searched[marks]
    places_found = places(text, fields=False)  # first, as only in JSON does every quote have its other one
    strings = 0
    parts: list[int] = []
    for token in TOKEN.finditer(text):
        parts.append(2 * strings + 1)
        strings += text[token.start()] == '"'
    found = [(parts[place.token], place.lane) for place in places_found if place.role is not Role.OPAQUE]
    if len(build.searched) < _MOST_KEPT:
        build.searched[marks] = found
    return found


def _marks(text: str, parts: list[str]) -> tuple[int, ...]:
    """Return the parts that the value of a mark is in: a number lies between strings, a text is the next string."""
    names = {at: parts[at] for at in range(1, len(parts), 2) if parts[at][-1] == ":"}
    if names_a_secret(text) or any("\\" in name for name in names.values()):
        raise _MayHoldOneError
    marked = [at for at, name in names.items() if name[1:].partition('"')[0] in MARKS]
    return tuple(at + step for at in marked for step in (1, 2) if at + step < len(parts))


def _decoded(string: str) -> str:
    try:
        return str(_read(string))
    except ValueError:
        raise _MayHoldOneError from None

"""Secrets in the documents of a body (the one of a JSON body, one an event of a stream), also split over several.

A *lane* is what goes on from event to event at one place: the deltas of one choice's text. Its strings are searched
one by one and joined; a secret that is found is cut back into the strings it came from.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from onetake.jsonpath import Path
from onetake.scrub.finder import PLACEHOLDER, Finder, Hit, merged
from onetake.scrub.places import Lane, Number, Place, Role, offsets, places, token_spans
from onetake.scrub.shapes import SCHEME, is_secret_name

_BROKEN_FIELD = re.compile(r'"([\w-]{3,40})"\s*:\s*"([^"\\\r\n]+)')
_WHOLE = re.compile("[a-z][a-z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class Edit:
    """One piece of a body's text, at `[start, end)`, that must go.

    `hit` is the secret whose placeholder takes its place; None where the placeholder stands in an earlier event.
    """

    start: int
    end: int
    where: str
    """After `request.body` or `response.body`: `$.messages[0].content`, `?client_secret`, or empty."""
    hit: Hit | None
    style: str = "text"
    """How the placeholder is spelled: `text`, `number` (a string instead of a JSON number) or `form`."""


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for in bodies."""

    finder: Finder
    declared: Sequence[Path] = ()
    arguments_are_envelope: bool = False
    """True for a decorated function's request: there names count in `$.arguments`."""


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON or plain text; `origin[i]` is where its character *i* is in the body, with one more for the end."""

    text: str
    origin: Sequence[int]
    places: Sequence[Place]
    is_json: bool


@dataclass(frozen=True, slots=True)
class _Cut:
    document: int
    place: Place
    start: int
    end: int
    hit: Hit | None


def document(text: str, origin: Sequence[int], search: Search, *, clean: bool = False, joins: bool = True) -> Document:
    """Make a document: JSON where it is one, else plain text.

    Args:
        text: The document.
        origin: Where it is in the body.
        search: What is looked for.
        clean: True where the body is known to hold no secret in one piece.
        joins: Whether a plain text goes on in the next one; JSON does, by its paths.
    """
    if text.lstrip()[:1] in ("{", "[", '"'):
        try:
            return Document(
                text,
                origin,
                places(text, search.declared, arguments_are_envelope=search.arguments_are_envelope, fields=not clean),
                True,
            )
        except ValueError:
            pass
    lane: Lane = () if joins else (("", str(origin[0])),)
    return Document(text, origin, [Place(0, lane, text, Role.SEARCHED)], False)


def edits(documents: Sequence[Document], finder: Finder, *, clean: bool = False) -> list[Edit]:
    """List what must go, in order.

    Args:
        documents: Of one body, in its order.
        finder: What is a secret.
        clean: True where the body as it came is known to hold no secret in one piece: only joined lanes are searched.
    """
    cuts: dict[int, list[_Cut]] = {}
    for lane in _lanes(documents):
        for cut in _cuts(documents, lane, finder, clean):
            cuts.setdefault(cut.document, []).append(cut)
    return [edit for index in sorted(cuts) for edit in _placed(documents[index], cuts[index], finder)]


def whole(text: str, finder: Finder, length: int | None = None) -> Hit:
    """Return a text that is secret by its name as one hit, of the kind of its shape if it has one.

    Args:
        text: The secret.
        finder: Knows the shapes.
        length: Of its spelling, where that is not its own.
    """
    kind = next((hit.kind for hit in finder.find(text) if (hit.start, hit.end) == (0, len(text))), "secret")
    return Hit(0, len(text) if length is None else length, kind, text)


def without_secrets(where: str, finder: Finder) -> str:
    """Return the name of a place with every secret in it cut out: a field's name may be one."""
    for hit in reversed(finder.find(where)):
        where = f"{where[: hit.start]}[{hit.kind}]{where[hit.end :]}"
    return where


def _lanes(documents: Sequence[Document]) -> Iterable[list[tuple[int, Place]]]:
    lanes: dict[object, list[tuple[int, Place]]] = {}
    runs: list[list[tuple[int, Place]]] = []
    for index, one in enumerate(documents):
        for place in one.places:
            if place.role is Role.OPAQUE or not place.text:
                continue
            lane = lanes.get(place.lane)
            if lane is None or starts_anew(lane[-1][1].text, place.text):
                lane = lanes[place.lane] = []
                runs.append(lane)
            lane.append((index, place))
    return runs


def starts_anew(before: str, text: str) -> bool:
    """Tell values that come whole with every event (ids, URLs) from deltas: joined, they would run together."""
    return (before == text and len(text) >= 8) or ("://" in text and bool(_WHOLE.match(text)))


def _cuts(documents: Sequence[Document], lane: list[tuple[int, Place]], finder: Finder, clean: bool) -> Iterator[_Cut]:
    if clean and len(lane) == 1 and lane[0][1].role is Role.SEARCHED and documents[lane[0][0]].is_json:
        return
    joined = "".join(place.text for _, place in lane)
    hits: list[Hit] = finder.find(joined) if len(lane) > 1 else []
    starts = []
    start = 0
    for index, place in lane:
        starts.append(start)
        alone = _alone(documents[index], place, finder, clean)
        hits += (Hit(start + hit.start, start + hit.end, hit.kind, hit.secret) for hit in alone)
        start += len(place.text)
    for hit in merged(joined, hits):
        shown: Hit | None = hit
        at = bisect_right(starts, hit.start) - 1
        while at < len(lane) and starts[at] < hit.end:
            index, place = lane[at]
            first, last = max(hit.start - starts[at], 0), min(hit.end - starts[at], len(place.text))
            if first < last:
                yield _Cut(index, place, first, last, shown)
                shown = None
            at += 1


def _alone(one: Document, place: Place, finder: Finder, clean: bool) -> list[Hit]:
    if place.role in (Role.SEARCHED, Role.FIELD):
        broken = [] if one.is_json else list(broken_fields(place.text))
        return broken if clean else [*finder.find(place.text), *broken]
    scheme = SCHEME.match(place.text)
    start, end = scheme.end() if scheme else 0, len(place.text)
    if start == end or PLACEHOLDER.fullmatch(place.text, start):
        return []
    hit = whole(place.text[start:], finder)
    return [Hit(start, end, hit.kind, hit.secret)]


def broken_fields(text: str) -> Iterator[Hit]:
    """Find named secrets in JSON that does not parse: a body that was cut off."""
    if text.lstrip()[:1] in ("{", "["):
        for found in _BROKEN_FIELD.finditer(text):
            if is_secret_name(found[1]) and not PLACEHOLDER.fullmatch(found[2]):
                yield Hit(found.start(2), found.end(2), "secret", found[2])


def _placed(one: Document, cuts: list[_Cut], finder: Finder) -> Iterator[Edit]:
    spans = token_spans(one.text) if one.is_json else []
    within: dict[int, Sequence[int]] = {}
    for cut in sorted(cuts, key=lambda cut: (cut.place.token, cut.start)):
        start, end, style = cut.start, cut.end, "text"
        if isinstance(cut.place.text, Number):
            (start, end), style = spans[cut.place.token], "number"
        elif one.is_json:
            token = cut.place.token
            if token not in within:
                within[token] = offsets(one.text, *spans[token])
            start, end = within[token][start], within[token][end]
        where = without_secrets(cut.place.where, finder) if one.is_json else ""
        yield Edit(one.origin[start], one.origin[end], where, cut.hit, style)
